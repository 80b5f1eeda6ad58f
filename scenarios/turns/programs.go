package turns

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Start is what one start of a command came to.
type Start struct {
	CPU  float64 // ns, or ns per message of a server; 0 where the system does not tell
	Wall float64 // ns, or ns per message

	Counted bool // the system tells of Counts
	Counts  proc.Counts
	Peak    int64  // bytes of memory; 0 where it is not known
	Exit    int    // exit code
	Output  string // a digest of what it printed; "" of a server
}

// A Starter starts a command and returns what that came to.
type Starter func(context.Context) (Start, error)

// Programs are two commands that are compared by their starts: first what is counted, in two starts
// each, then the time in pairs of starts.
type Programs struct {
	Old, New Starter
	Wall     bool          // decide by the clock, and not by CPU time
	Counts   bool          // count alone
	Servers  bool          // nothing is counted, and nothing printed: only time is compared
	Outputs  bool          // outputs may differ
	MaxTime  time.Duration // no pair begins that would end later; 0: ProgramsMaxTime
	Seed     int64         // of the order

	// Observe, if set, is called after each pair by the goroutine that called Compare.
	Observe func(pair int, took time.Duration)
}

const (
	// ProgramsMaxTime is for pairs of starts if no other time is given.
	ProgramsMaxTime = time.Minute

	// decidedWithin is the change, as a logarithm, that the interval has to exclude for the pairs
	// to end without a change.
	decidedWithin = 0.01

	countStarts    = 2 // of each side that decide what is counted
	moreStarts     = 2 // more of each, where it differs between the sides or between starts
	mostPairStarts = 10000
)

// Pairs are what the starts of two commands came to; Old[i] and New[i] ran one after the other.
type Pairs struct {
	Old, New []Start

	// CountedOld and CountedNew are the starts that counts and outputs are compared in. They are
	// made before the timed starts in Old and New, and are not among them.
	CountedOld, CountedNew []Start

	// Different says that the two do not do the same, and in what; "" if they do.
	Different string
}

// Compare measures the commands. If it ends early it returns what it has, and the error. Commands
// that do not do the same are counted and not timed, unless that is allowed.
func (p Programs) Compare(ctx context.Context) (Pairs, error) {
	if p.MaxTime == 0 {
		p.MaxTime = ProgramsMaxTime
	}
	var out Pairs
	began := time.Now()
	limited, cancel := timeUp(ctx, p.MaxTime)
	defer cancel()
	if !p.Servers {
		if err := p.countBoth(limited, &out); err != nil {
			return out, err
		}
		out.Different = difference(out.CountedOld, out.CountedNew)
		if p.Counts || out.Different != "" && !p.Outputs {
			return out, nil
		}
	}
	return out, p.time(ctx, limited, &out, began)
}

// timeUp returns a context that ends with what is too long.
func timeUp(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
	tooLong := fmt.Errorf("it did not end within %s, and was stopped", after)
	return context.WithTimeoutCause(ctx, after, tooLong)
}

// countBoth counts, more often where starts differ.
func (p Programs) countBoth(ctx context.Context, out *Pairs) error {
	if err := p.count(ctx, out, countStarts); err != nil {
		return err
	}
	if differs(out.CountedOld, out.CountedNew) {
		return p.count(ctx, out, moreStarts)
	}
	return nil
}

// count starts each command so many times.
func (p Programs) count(ctx context.Context, out *Pairs, starts int) error {
	for range starts {
		old, err := p.Old(ctx)
		if err != nil {
			return err
		}
		new, err := p.New(ctx)
		if err != nil {
			return err
		}
		out.CountedOld = append(out.CountedOld, old)
		out.CountedNew = append(out.CountedNew, new)
	}
	return nil
}

// time starts pairs until they are decided or the time is up.
func (p Programs) time(ctx, limited context.Context, out *Pairs, began time.Time) error {
	a := alternation{seed: p.Seed, until: began.Add(p.MaxTime), observe: p.Observe}
	a.decided = func() bool { return out.decided(p.Wall) }
	a.pair = func(oldFirst bool) error {
		old, new, err := p.pair(limited, oldFirst)
		if err == nil {
			out.Old = append(out.Old, old)
			out.New = append(out.New, new)
		}
		return err
	}
	return a.run(ctx, limited)
}

// An alternation runs pairs. In each, chance or the pair before decides which side is first.
type alternation struct {
	seed    int64
	until   time.Time
	pair    func(oldFirst bool) error
	decided func() bool
	observe func(pair int, took time.Duration)
}

// run runs pairs until they are decided, or the next would end too late. A pair that is cut off
// when the time of limited is up counts for nothing, and is no error if there are others.
func (a alternation) run(ctx, limited context.Context) error {
	random := rand.New(rand.NewPCG(uint64(a.seed), 0))
	oldFirst := false
	var longest time.Duration
	for n := 0; n < mostPairStarts; n++ {
		start := time.Now()
		if n > 0 && start.Add(longest).After(a.until) {
			return nil
		}
		oldFirst = nextOrder(random, n, oldFirst)
		err := a.pair(oldFirst)
		if err != nil && n > 0 && limited.Err() != nil && ctx.Err() == nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pair %d: %w", n+1, err)
		}
		took := time.Since(start)
		longest = max(longest, took)
		if a.observe != nil {
			a.observe(n+1, took)
		}
		if a.decided() {
			return nil
		}
	}
	return nil
}

// nextOrder decides whether the old side goes first: by chance in every odd pair, the other way
// round in the pair after it. So what being first costs or gains meets both sides equally often.
func nextOrder(random *rand.Rand, pairs int, oldFirst bool) bool {
	if pairs%2 == 0 {
		return random.IntN(2) == 0
	}
	return !oldFirst
}

func (p Programs) pair(ctx context.Context, oldFirst bool) (old, new Start, err error) {
	if oldFirst {
		old, err = p.Old(ctx)
		if err == nil {
			new, err = p.New(ctx)
		}
		return old, new, err
	}
	new, err = p.New(ctx)
	if err == nil {
		old, err = p.Old(ctx)
	}
	return old, new, err
}

// Logs returns the logarithms of the pairs' ratios, new over old, by CPU time or by the clock.
func (p Pairs) Logs(wall bool) []float64 {
	var logs []float64
	for i, old := range p.Old {
		from, to := old.CPU, p.New[i].CPU
		if wall {
			from, to = old.Wall, p.New[i].Wall
		}
		if from > 0 && to > 0 {
			logs = append(logs, math.Log(to/from))
		}
	}
	return logs
}

// decided reports whether the pairs show a change, or exclude one that matters.
func (p Pairs) decided(wall bool) bool {
	logs := p.Logs(wall)
	if len(logs) < stat.LeastPairs {
		return false
	}
	lo, hi, ok := stat.Sequence(logs, stat.DefaultAlpha)
	return ok && (lo > 0 || hi < 0 || lo > -decidedWithin && hi < decidedWithin)
}

// differs reports whether calls of any two starts differ.
func differs(old, new []Start) bool {
	first := old[0].Counts
	for _, s := range slices.Concat(old[1:], new) {
		if s.Counts.Reads != first.Reads || s.Counts.Writes != first.Writes ||
			s.Counts.ReadBytes != first.ReadBytes || s.Counts.WrittenBytes != first.WrittenBytes {
			return true
		}
	}
	return false
}

// difference says how two commands differ that should do the same work; "" if they do not.
func difference(old, new []Start) string {
	for i := range old {
		if old[i].Exit != new[i].Exit {
			return fmt.Sprintf("the old one exits with %d, the new one with %d",
				old[i].Exit, new[i].Exit)
		}
	}
	for i := range old {
		if old[i].Output != old[0].Output || new[i].Output != new[0].Output {
			return "a command prints something else at each start, so nobody can tell whether " +
				"both do the same"
		}
	}
	if old[0].Output != new[0].Output {
		return "the two do not print the same"
	}
	return ""
}

// NewFilter returns what starts a command that reads a file, or nothing if input is "", and prints
// into another file: one that reads /dev/null may skip its work. The folder holds the output.
func NewFilter(argv []string, input, folder string) Starter {
	return func(ctx context.Context) (Start, error) {
		p := proc.Command(argv[0], argv[1:]...)
		defer p.Close()
		if input != "" {
			in, err := os.Open(input)
			if err != nil {
				return Start{}, err
			}
			defer in.Close()
			p.Cmd.Stdin = in
		}
		out, err := os.CreateTemp(folder, "output-")
		if err != nil {
			return Start{}, fmt.Errorf("a file for the output: %w", err)
		}
		defer os.Remove(out.Name())
		defer out.Close()
		p.Cmd.Stdout = out
		began := time.Now()
		if err := p.Start(ctx); err != nil {
			return Start{}, err
		}
		ended := p.Wait()
		s := Start{Wall: float64(time.Since(began)), Exit: p.ExitCode()}
		if ctx.Err() != nil {
			return s, fmt.Errorf("%s: %w", strings.Join(argv, " "), context.Cause(ctx))
		}
		if _, signal, killed := proc.Signaled(p.Cmd.ProcessState); killed {
			return s, fmt.Errorf("%s was ended by %s: %w", argv[0], signal, ended)
		}
		if cpu, ok := p.CPU(); ok {
			s.CPU = float64(cpu)
		}
		s.Counts, s.Counted = p.Counts()
		s.Peak = peakOf(p)
		s.Output, err = digest(out)
		return s, err
	}
}

// peakOf returns the largest memory of a process, or 0 where it is not known: a process has what
// its parent had before it became another program.
func peakOf(p *proc.Process) int64 {
	peak, _ := p.PeakMemory()
	own, _ := proc.PeakMemory(os.Getpid())
	if peak <= own {
		return 0
	}
	return peak
}

// digest returns what tells the content of a file from others.
func digest(f *os.File) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read the output: %w", err)
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", fmt.Errorf("read the output: %w", err)
	}
	return fmt.Sprintf("%d %x", n, h.Sum(nil)), nil
}
