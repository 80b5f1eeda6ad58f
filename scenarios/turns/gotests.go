package turns

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// GoTests are two Go test binaries that run their benchmarks in turns.
type GoTests struct {
	Old, New []string      // binary and arguments, -test.bench among them
	MaxTime  time.Duration // no pair begins that would end later; 0: ProgramsMaxTime
	Seed     int64         // of the order

	// Decided is asked after each pair whether the texts so far are enough.
	Decided func(old, new string) bool
	Observe func(pair int, took time.Duration)
}

// Run returns what each side printed, run after run: the i-th lines of a benchmark are a pair.
func (g GoTests) Run(ctx context.Context) (old, new string, err error) {
	if g.MaxTime == 0 {
		g.MaxTime = ProgramsMaxTime
	}
	limited, cancel := timeUp(ctx, g.MaxTime)
	defer cancel()
	a := alternation{seed: g.Seed, until: time.Now().Add(g.MaxTime), observe: g.Observe}
	a.decided = func() bool { return g.Decided(old, new) }
	a.pair = func(oldFirst bool) error {
		first, second := g.New, g.Old
		if oldFirst {
			first, second = g.Old, g.New
		}
		one, err := benchmark(limited, first)
		if err != nil {
			return err
		}
		other, err := benchmark(limited, second)
		if err != nil {
			return err
		}
		if oldFirst {
			one, other = other, one
		}
		new += one
		old += other
		return nil
	}
	err = a.run(ctx, limited)
	return old, new, err
}

// benchmark runs the benchmarks of a test binary once, and no tests.
func benchmark(ctx context.Context, argv []string) (string, error) {
	p := proc.Command(argv[0], append(slices.Clone(argv[1:]), "-test.run=^$")...)
	defer p.Close()
	var text bytes.Buffer
	p.Cmd.Stdout = &text
	if err := p.Start(ctx); err != nil {
		return "", err
	}
	err := p.Wait()
	if ctx.Err() != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), context.Cause(ctx))
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, lastLine(text.String()))
	}
	return text.String(), nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
