package turns

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// GoTests are two Go test binaries with their arguments, which include -test.bench.
type GoTests struct {
	Old, New []string

	// OldText and NewText are the outputs of all runs of each side, one after the other.
	OldText, NewText bytes.Buffer
}

// Pair runs the benchmarks of both. It is an error if neither has a benchmark.
func (g *GoTests) Pair(ctx context.Context, oldFirst bool) error {
	old, new, err := inOrder(ctx, oldFirst,
		func(ctx context.Context) (string, error) { return benchmark(ctx, g.Old) },
		func(ctx context.Context) (string, error) { return benchmark(ctx, g.New) })
	if err != nil {
		return err
	}
	if !hasBenchmark(old) && !hasBenchmark(new) {
		return noBenchmark(ctx, g.New)
	}
	g.OldText.WriteString(old)
	g.NewText.WriteString(new)
	return nil
}

// Compare judges the benchmarks. A benchmark's i-th result on the old side and its i-th on the new
// side are a pair.
func (g *GoTests) Compare(o stat.CompareOptions) (*stat.Comparison, error) {
	old, err := readSide(g.Old[0], g.OldText.Bytes())
	if err != nil {
		return nil, err
	}
	new, err := readSide(g.New[0], g.NewText.Bytes())
	if err != nil {
		return nil, err
	}
	return stat.CompareTextPairs(old, new, o), nil
}

// readSide reads what a test binary printed, which may have none of the benchmarks of the other.
func readSide(name string, text []byte) (stat.Dataset, error) {
	side, err := stat.ReadDatasetFrom(name, bytes.NewReader(text))
	if errors.Is(err, results.ErrEmpty) {
		return stat.Dataset{Name: name}, nil
	}
	return side, err
}

// hasBenchmark reports whether a line of the text begins as the result of a benchmark does.
func hasBenchmark(text string) bool { return strings.Contains("\n"+text, "\nBenchmark") }

// benchmark runs the benchmarks of a test binary once, and no tests.
func benchmark(ctx context.Context, argv []string) (string, error) {
	p := proc.Command(argv[0], append(slices.Clone(argv[1:]), "-test.run=^$")...)
	defer p.Close()
	p.Stderr().Limit = 64 << 10 // the reason comes first, then a trace or the list of flags
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
		reason := reasonOf(text.String(), p.Stderr().String())
		if strings.Contains(reason, "no such file or directory") {
			reason += " (benchmarks run in the current folder: change to that of their package)"
		}
		return "", fmt.Errorf("%s: %s: %s", argv[0], p.Cmd.ProcessState, reason)
	}
	return text.String(), nil
}

// reasonOf finds in the output of a test binary why it failed: the first benchmark that failed and
// what it said, or the benchmark that began last, if it is named, and what the binary said first or
// on a panic.
func reasonOf(text, stderr string) string {
	_, failed, found := strings.Cut(text, "--- FAIL: ")
	if found {
		name, said, _ := strings.Cut(failed, "\n")
		return fmt.Sprintf("%s failed: %s", name, firstLine(said))
	}
	if !strings.Contains(stderr, "panic: ") {
		stderr = firstLine(stderr) // the list of flags follows
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	begun := lines[len(lines)-1]
	if strings.Contains(begun, " ns/op") { // it has ended, and the next one was not named yet
		begun = ""
	}
	return cmp.Or(strings.Trim(begun+": "+lastWords(stderr), ": "), "it gave no reason")
}

// lastWords returns the line of a Go program's panic, or else the first line on standard error and
// the last, which may be the reason or advice.
func lastWords(stderr string) string {
	_, panicked, found := strings.Cut(stderr, "panic: ")
	if found {
		return "panic: " + firstLine(panicked)
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if len(lines) > 1 {
		return lines[0] + " … " + lines[len(lines)-1]
	}
	return lines[0]
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// ErrNoBenchmark means that neither Go test binary has a benchmark that -test.bench matches.
var ErrNoBenchmark = errors.New("no benchmark matches")

// noBenchmark returns an error that names the benchmarks of a test binary.
func noBenchmark(ctx context.Context, argv []string) error {
	listed, _ := exec.CommandContext(ctx, argv[0], "-test.list=^Benchmark").Output()
	has := cmp.Or(strings.Join(strings.Fields(string(listed)), ", "), "none")
	return fmt.Errorf("%s %s: %w; it has %s", filepath.Base(argv[0]),
		strings.Join(argv[1:], " "), ErrNoBenchmark, has)
}
