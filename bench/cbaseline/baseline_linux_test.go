// Package cbaseline holds the engine's raw cells against the same work in C: what a pipe gives to a
// program that has nothing between it and the system calls. It has tests only, and needs Linux and
// a C compiler, named by CC or cc. The comparison itself, slice by slice, is a benchmark:
//
//	go test -run '^$' -bench AgainstC ./bench/cbaseline
package cbaseline

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/proc"
)

var forks = flag.Int("forks", 12, "starts of both programs in each comparison with C, of five slices each")

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

// A program is the compiled C baseline.
type program struct{ path string }

// A work is what one start of the program does.
type work struct {
	Size      int // of a message, in bytes
	Capacity  int // of the pipe, in bytes
	WriterCPU int // -1 leaves it to the scheduler
	ReaderCPU int
	Threads   bool // both ends in one process; streams alone
}

// build compiles the program into a folder of the test. Without a C compiler the test is skipped.
func build(tb testing.TB) *program {
	tb.Helper()
	compiler := cmp.Or(os.Getenv("CC"), "cc")
	if _, err := exec.LookPath(compiler); err != nil {
		tb.Skipf("no C compiler (set CC): %v", err)
	}
	path := filepath.Join(tb.TempDir(), "pipe_ref")
	out, err := exec.CommandContext(tb.Context(), compiler, "-O2", "-pthread", "-o", path, "testdata/pipe_ref.c").CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v: %s", compiler, err, out)
	}
	return &program{path}
}

// A running is a start of the program, which takes slices.
type running struct {
	*proc.Process
	jobs  *os.File
	times *os.File
	rate  float64 // messages a second, the best so far
}

func (p *program) start(ctx context.Context, pattern string, w work) (*running, error) {
	args := []string{
		pattern, "-s", strconv.Itoa(w.Size), "-c", strconv.Itoa(w.Capacity),
		"-w", strconv.Itoa(w.WriterCPU), "-r", strconv.Itoa(w.ReaderCPU),
	}
	if w.Threads {
		args = append(args, "-T")
	}
	r := &running{Process: proc.Command(p.path, args...)}
	var err error
	if r.jobs, err = r.Pipe(0); err == nil {
		r.times, err = r.Pipe(1)
	}
	if err == nil {
		err = r.Start(ctx)
	}
	return r, err
}

func (r *running) stop() {
	r.jobs.Close()
	r.Close()
	r.times.Close()
}

// slice has so many messages timed, after a quarter as many.
func (r *running) slice(messages int64) (took time.Duration, err error) {
	var seconds float64
	fmt.Fprintln(r.jobs, max(1, messages/4), messages) // one that left says so below
	if _, err := fmt.Fscanln(r.times, &seconds); err != nil {
		return 0, fmt.Errorf("the C baseline: %w: %w", err, r.Wait())
	}
	r.rate = max(r.rate, float64(messages)/seconds)
	return time.Duration(seconds * 1e9), nil
}

// fill returns how many messages take about d.
func (r *running) fill(d time.Duration) int64 { return max(1, int64(r.rate*d.Seconds())) }

const capacity = 64 << 10

// A match is a cell that both languages run.
type match struct {
	cell results.Cell
	work work
}

func matches(b *testing.B) []match {
	b.Helper()
	topology, err := placement.Read()
	if err != nil {
		b.Fatal(err)
	}
	var all []match
	add := func(pattern, place string, size int) {
		cpus, err := topology.Choose(place)
		if err != nil {
			return
		}
		all = append(all, match{
			results.Cell{
				Framing: "raw", Size: size, Pipe: "anonymous", Capacity: capacity, IO: "blocking",
				Placement: place, Pattern: pattern, Payload: "json",
				ReadBuffer: size, // as the C program reads
			},
			work{Size: size, Capacity: capacity, WriterCPU: cpus.Writer, ReaderCPU: cpus.Reader},
		})
	}
	for _, place := range []string{"same", "apart"} {
		for _, size := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
			add("stream", place, size)
		}
		for _, size := range []int{1, 1 << 10, 64 << 10} {
			add("roundtrip", place, size)
		}
	}
	return all
}

// BenchmarkAgainstC runs each cell in C and here, a slice of the one and a slice of the other, and
// reports the median of the ratios within rounds with its 95 % interval: of goodput for streams, of the
// time of a trip for round trips. It does the same amount of work whatever b.N is.
func BenchmarkAgainstC(b *testing.B) {
	c := build(b)
	for _, m := range matches(b) {
		b.Run(fmt.Sprintf("%s/size=%d/placement=%s", m.cell.Pattern, m.cell.Size, m.cell.Placement), func(b *testing.B) {
			e, err := m.ratio(b.Context(), c, *forks)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(0, "ns/op") // the time of the comparison says nothing
			b.ReportMetric(e.Median, "Go/C")
			if e.Interval != nil {
				b.ReportMetric(e.Interval.Lo, "low")
				b.ReportMetric(e.Interval.Hi, "high")
			}
		})
	}
}

// rounds of each start.
const rounds = 5

// ratio runs both: the C program takes its slice whenever it is the engine's turn, and is started anew
// with the engine's workers.
func (m match) ratio(ctx context.Context, c *program, forks int) (stat.Estimate, error) {
	var theirs, ours results.Record
	var r *running
	turns := 0
	turn := func(ctx context.Context) (err error) {
		turns++
		if turns%(rounds+1) == 1 {
			if r != nil {
				r.stop()
			}
			r, err = c.start(ctx, m.cell.Pattern, m.work)
			for n := int64(1); err == nil && n <= 4; n++ { // each tells better what the next can hold
				_, err = r.slice(max(n, r.fill(bench.SliceTime/2)))
			}
			return err
		}
		s := results.Sample{Fork: (turns-1)/(rounds+1) + 1, Round: len(theirs.Samples) + 1, Messages: r.fill(bench.SliceTime)}
		took, err := r.slice(s.Messages)
		s.ElapsedNS, s.PayloadBytes = took.Nanoseconds(), s.Messages*int64(m.work.Size)
		theirs.Samples = append(theirs.Samples, s)
		return err
	}
	plan := bench.Plan{
		Cells: []results.Cell{m.cell}, Samples: forks * rounds, Forks: forks, Duration: bench.SliceTime, Seed: 1, Turn: turn,
	}
	err := bench.Run(ctx, plan, func(r results.Record) error { ours = r; return nil })
	if r != nil {
		r.stop()
	}
	metric := "goodput"
	if m.cell.Pattern == "roundtrip" {
		metric = "time"
	}
	return stat.PairedRatio(stat.MustMetric(metric), []results.Record{ours}, []results.Record{theirs}), err
}

func TestTheCBaselineRuns(t *testing.T) {
	c := build(t)
	take := func(pattern string, w work) (took time.Duration, err error) {
		r, err := c.start(t.Context(), pattern, w)
		if err != nil {
			t.Fatal(err)
		}
		defer r.stop()
		for range 2 {
			if took, err = r.slice(100); err != nil {
				return took, err
			}
		}
		return took, err
	}
	w := work{Size: 4096, Capacity: capacity, WriterCPU: -1, ReaderCPU: -1}
	for _, threads := range []bool{false, true} {
		w.Threads = threads
		for _, pattern := range []string{"stream", "roundtrip"} {
			if took, err := take(pattern, w); err != nil || took <= 0 {
				t.Errorf("%s, threads %v: %v, %v", pattern, threads, took, err)
			}
		}
	}
	lost := w
	lost.Threads, lost.WriterCPU = false, 100_000 // the writing end dies of it
	if _, err := take("stream", lost); err == nil {
		t.Error("a CPU that is not there was taken")
	}
	w.Size = 0
	if _, err := take("stream", w); err == nil {
		t.Error("messages of no bytes were sent")
	}
}

// The slices of both sides are paired, fork by fork and round by round.
func TestSlicesOfBothAreHeldAgainstEachOther(t *testing.T) {
	c := build(t)
	cell := results.Cell{
		Framing: "raw", Size: 4096, Pipe: "anonymous", Capacity: capacity, IO: "blocking",
		Placement: "free", Pattern: "stream", Payload: "json",
	}
	e, err := match{cell, work{Size: 4096, Capacity: capacity, WriterCPU: -1, ReaderCPU: -1}}.ratio(t.Context(), c, 2)
	if err != nil || e.N+e.LeftOut != 2*rounds || e.Median <= 0 {
		t.Errorf("got %+v, %v", e, err)
	}
}
