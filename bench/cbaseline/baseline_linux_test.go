// Package cbaseline holds the engine's raw cells against the same work in C: what a pipe gives to a
// program that has nothing between it and the system calls. It has tests only, and needs Linux and
// a C compiler, named by CC or cc. The comparison itself, pair by pair, is a benchmark:
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
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

var pairs = flag.Int("pairs", 15, "how often each comparison with C is repeated")

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

// A program is the compiled C baseline.
type program struct{ path string }

// A work is one run of the program.
type work struct {
	Size      int // of a message, in bytes
	Capacity  int // of the pipe, in bytes
	Count     int64
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

// stream sends Count messages one way, and returns the seconds it took.
func (p *program) stream(ctx context.Context, w work) (seconds float64, err error) {
	args := append(w.args("stream"), "-t", strconv.FormatInt(w.Count*int64(w.Size), 10))
	if w.Threads {
		args = append(args, "-T")
	}
	return p.run(ctx, "seconds", args)
}

// roundtrip sends Count messages there and back between two processes, and returns the median
// microseconds of a trip.
func (p *program) roundtrip(ctx context.Context, w work) (us float64, err error) {
	return p.run(ctx, "p50_us", append(w.args("roundtrip"), "-n", strconv.FormatInt(w.Count, 10)))
}

func (w work) args(what string) []string {
	return []string{
		what, "-s", strconv.Itoa(w.Size), "-c", strconv.Itoa(w.Capacity),
		"-w", strconv.Itoa(w.WriterCPU), "-r", strconv.Itoa(w.ReaderCPU),
	}
}

// patience is how long the program may take: when one of its ends dies, the other waits for ever.
const patience = time.Minute

// run starts the program and takes one figure from its line of key=value.
func (p *program) run(ctx context.Context, figure string, args []string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a deadline ends both ends
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("C baseline %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	for _, field := range strings.Fields(string(out)) {
		if key, value, _ := strings.Cut(field, "="); key == figure {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("C baseline %s: no %s in %q", strings.Join(args, " "), figure, out)
}

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
	add := func(pattern, peer, place string, size int) {
		cpus, err := topology.Choose(place)
		if err != nil {
			return
		}
		all = append(all, match{
			results.Cell{
				Framing: "raw", Size: size, Pipe: "anonymous", Capacity: capacity, IO: "blocking",
				Placement: place, Peer: peer, Pattern: pattern, Payload: "json",
				ReadBuffer: size, // as the C program reads
			},
			work{Size: size, Capacity: capacity, WriterCPU: cpus.Writer, ReaderCPU: cpus.Reader, Threads: peer == "thread"},
		})
	}
	for _, place := range []string{"same", "apart"} {
		for _, peer := range []string{"process", "thread"} {
			for _, size := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
				add("stream", peer, place, size)
			}
		}
		for _, size := range []int{1, 1 << 10, 64 << 10} {
			add("roundtrip", "process", place, size)
		}
	}
	return all
}

// BenchmarkAgainstC runs each cell in C and here, in turn, and reports the median of the ratios of
// the pairs with its 95 % interval: of goodput for streams, of the median trip for round trips. It
// does the same amount of work whatever b.N is.
func BenchmarkAgainstC(b *testing.B) {
	c := build(b)
	for _, m := range matches(b) {
		b.Run(fmt.Sprintf("%s/size=%d/peer=%s/placement=%s", m.cell.Pattern, m.cell.Size, m.cell.Peer, m.cell.Placement), func(b *testing.B) {
			var ratios []float64
			for range *pairs {
				ratios = append(ratios, m.ratio(b, c))
			}
			report(b, "Go/C", ratios)
		})
	}
}

// report is the median of the pairs' ratios, and its interval.
func report(b *testing.B, unit string, ratios []float64) {
	e := stat.Median(ratios)
	b.ReportMetric(0, "ns/op") // the time of the comparison says nothing
	b.ReportMetric(e.Median, unit)
	if e.Interval != nil {
		b.ReportMetric(e.Interval.Lo, "low")
		b.ReportMetric(e.Interval.Hi, "high")
	}
}

// enough work for a sample of some tens of milliseconds.
const (
	streamBytes = 256 << 20
	trips       = 4000
)

// ratio is that of one pair, the C program first.
func (m match) ratio(b *testing.B, c *program) float64 {
	b.Helper()
	if m.cell.Pattern == "roundtrip" {
		m.work.Count = trips
		us, err := c.roundtrip(b.Context(), m.work)
		if err != nil {
			b.Fatal(err)
		}
		return float64(*m.measure(b).Latency["roundtrip"].P50NS) / 1000 / us
	}
	m.work.Count = max(64, min(streamBytes/int64(m.work.Size), 500_000))
	seconds, err := c.stream(b.Context(), m.work)
	if err != nil {
		b.Fatal(err)
	}
	return seconds / (float64(m.measure(b).ElapsedNS) / 1e9)
}

func (m match) measure(b *testing.B) results.Sample {
	b.Helper()
	s, err := bench.Plan{Seed: 1, Duration: time.Second}.Measure(b.Context(), m.cell, m.work.Count)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func TestTheCBaselineRuns(t *testing.T) {
	c := build(t)
	w := work{Size: 4096, Capacity: capacity, Count: 100, WriterCPU: -1, ReaderCPU: -1}
	if s, err := c.stream(t.Context(), w); err != nil || s <= 0 {
		t.Errorf("stream: %v s, %v", s, err)
	}
	if us, err := c.roundtrip(t.Context(), w); err != nil || us <= 0 {
		t.Errorf("round trip: %v µs, %v", us, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	lost := w
	lost.WriterCPU = 100_000 // the writing end dies of it, and the other waits
	if _, err := c.stream(short, lost); err == nil {
		t.Error("a CPU that is not there was taken")
	}
	w.Size = 0
	if _, err := c.stream(t.Context(), w); err == nil {
		t.Error("messages of no bytes were sent")
	}
}
