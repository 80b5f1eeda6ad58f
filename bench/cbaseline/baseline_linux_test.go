// Package cbaseline compares the engine's cells with the same work in C: with what a pipe gives to
// a program that has nothing but its framing between itself and the system calls. It has tests
// only, and needs Linux and a C compiler, named by CC or cc. The comparison itself, slice by slice,
// is a benchmark:
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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/benchtext"
	"github.com/pipebench/pipebench/syspipe/proc"
)

var forks = flag.Int(
	"forks", 12, "starts of both programs in each comparison with C, of five slices each",
)

var oneID = flag.Bool(
	"one-id", false, "let the C program send all messages under one id, without drawing ids",
)

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

// A program is the compiled C baseline.
type program struct{ path string }

// A work says what one start of the program does.
type work struct {
	Framing   string
	Size      int // of a message, in bytes
	Capacity  int // of the pipe, in bytes
	WriteSize int // most bytes per write, 0 for no limit
	Offset    int // of the message within a page
	WriterCPU int // -1 leaves it to the scheduler
	ReaderCPU int
	OneID     bool // all messages have one id; else each draws a new one
}

// build compiles the program into a temporary folder of the test. Without a C compiler the test is
// skipped.
func build(tb testing.TB) *program {
	tb.Helper()
	compiler := cmp.Or(os.Getenv("CC"), "cc")
	if _, err := exec.LookPath(compiler); err != nil {
		tb.Skipf("no C compiler (set CC): %v", err)
	}
	path := filepath.Join(tb.TempDir(), "yardstick")
	cmd := exec.CommandContext(tb.Context(), compiler, "-O2", "-o", path, "testdata/yardstick.c")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s: %v: %s", compiler, err, out)
	}
	return &program{path}
}

// A running is the program after its start, when it takes slices.
type running struct {
	*proc.Process
	jobs  *os.File
	times *os.File
	rate  float64 // messages a second, the best so far
}

func (p *program) start(ctx context.Context, pattern string, w work) (*running, error) {
	one := "0"
	if w.OneID {
		one = "1"
	}
	r := &running{Process: proc.Command(p.path, pattern,
		"-i", one, "-f", w.Framing, "-s", strconv.Itoa(w.Size), "-c", strconv.Itoa(w.Capacity),
		"-W", strconv.Itoa(w.WriteSize), "-a", strconv.Itoa(w.Offset),
		"-w", strconv.Itoa(w.WriterCPU), "-r", strconv.Itoa(w.ReaderCPU))}
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

// slice lets the program time this many messages, after a warm-up of a quarter as many.
func (r *running) slice(messages int64) (took time.Duration, err error) {
	var seconds float64
	fmt.Fprintln(r.jobs, max(1, messages/4), messages) // a program that is gone fails below
	if _, err := fmt.Fscanln(r.times, &seconds); err != nil {
		return 0, fmt.Errorf("the C baseline: %w: %w", err, r.Wait())
	}
	r.rate = max(r.rate, float64(messages)/seconds)
	return time.Duration(seconds * 1e9), nil
}

// fill returns how many messages take about d.
func (r *running) fill(d time.Duration) int64 { return max(1, int64(r.rate*d.Seconds())) }

const capacity = 64 << 10

// A match is a cell, and the work in C that is the same.
type match struct {
	cell results.Cell
	work work
}

func matches(b *testing.B) []match {
	b.Helper()
	var all []match
	for _, place := range []string{"same", "apart"} {
		for _, framing := range []string{
			"raw", "ndjson", "length-prefix", "content-length", "chunked:61440",
		} {
			for _, size := range []int{256, 4000, 65_000, 1_000_000} {
				for _, offset := range []string{"0", "1811"} {
					all = append(all, streamOf(framing, size, offset, place))
				}
			}
		}
		for _, size := range []int{1, 1 << 10, 64 << 10} {
			m := streamOf("raw", size, "0", place)
			m.cell.Pattern = "roundtrip"
			all = append(all, m)
		}
		for _, size := range []int{8 << 10, 64 << 10} {
			m := streamOf("ndjson", 1_000_000, "0", place)
			m.cell.WriteSize, m.work.WriteSize = size, size
			m.cell.Capacity, m.work.Capacity = 1<<20, 1<<20
			all = append(all, m)
		}
	}
	return slices.DeleteFunc(all, func(m match) bool { return bench.Unsupported(m.cell) != nil })
}

// streamOf is a stream of messages that lie at an offset within a page: "0" is as Go allocates,
// which from some KiB on is the beginning of a page.
func streamOf(framing string, size int, offset, place string) match {
	name, _, _ := strings.Cut(framing, ":")
	at, _ := results.ParseOffset(offset)
	cell := results.Cell{
		Framing: framing, Size: size, Pipe: "anonymous", Capacity: capacity, IO: "blocking",
		Placement: place, Pattern: "stream", Payload: "json", PayloadOffset: offset,
	}
	return match{cell, work{
		Framing: name, Size: size, Capacity: capacity, Offset: at, OneID: *oneID,
	}}
}

// BenchmarkAgainstC runs each cell in C and in the engine, one slice each in turn. It reports the
// median of the ratios within rounds, with its 95 % interval: the ratio of goodput for streams, of
// the time of a trip for round trips. It does the same amount of work whatever b.N is.
func BenchmarkAgainstC(b *testing.B) {
	c := build(b)
	for _, m := range matches(b) {
		b.Run(benchtext.CellName(m.cell), func(b *testing.B) {
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

// place sets the CPUs of the C program to those that the cell's ends will have.
func (m *match) place() error {
	topology, err := placement.Read()
	if err != nil {
		return err
	}
	cpus, err := topology.Choose(m.cell.Placement)
	m.work.WriterCPU, m.work.ReaderCPU = cpus.Writer, cpus.Reader
	return err
}

// rounds is how many slices each start takes.
const rounds = 5

// ratio runs both: the C program takes a slice whenever it is the engine's turn, and is started
// anew whenever the engine starts its workers.
func (m match) ratio(ctx context.Context, c *program, forks int) (stat.Estimate, error) {
	var theirs, ours results.Record
	var r *running
	if err := m.place(); err != nil {
		return stat.Estimate{}, err
	}
	turns := 0
	turn := func(ctx context.Context) (err error) {
		turns++
		if turns%(rounds+1) == 1 {
			if r != nil {
				r.stop()
			}
			r, err = c.start(ctx, m.cell.Pattern, m.work)
			for n := int64(1); err == nil &&
				n <= 4; n++ { // each finds a better size for the next
				_, err = r.slice(max(n, r.fill(bench.SliceTime/2)))
			}
			return err
		}
		s := results.Sample{
			Fork: (turns-1)/(rounds+1) + 1, Round: len(theirs.Samples) + 1,
			Messages: r.fill(bench.SliceTime),
		}
		took, err := r.slice(s.Messages)
		s.ElapsedNS, s.PayloadBytes = took.Nanoseconds(), s.Messages*int64(m.work.Size)
		theirs.Samples = append(theirs.Samples, s)
		return err
	}
	plan := bench.Plan{
		Cells: []results.Cell{m.cell}, Samples: forks * rounds, Forks: forks,
		Duration: bench.SliceTime, Seed: 1, Turn: turn,
	}
	err := bench.Run(ctx, plan, func(r results.Record) error { ours = r; return nil })
	theirs.Run = ours.Run
	if r != nil {
		r.stop()
	}
	metric := "goodput"
	if m.cell.Pattern == "roundtrip" {
		metric = "time"
	}
	return stat.PairedRatio(
		stat.MustMetric(metric), []results.Record{ours}, []results.Record{theirs},
	), err
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
	usual := work{Framing: "raw", Size: 4096, Capacity: capacity, WriterCPU: -1, ReaderCPU: -1}
	if took, err := take("roundtrip", usual); err != nil || took <= 0 {
		t.Errorf("round trips: %v, %v", took, err)
	}
	framings := []string{"raw", "ndjson", "length-prefix", "content-length", "chunked"}
	for _, framing := range framings {
		for _, size := range []int{2, 65_000, 1_000_000} {
			for _, writeSize := range []int{0, 8192} {
				w := usual
				w.Framing, w.Size, w.WriteSize, w.Offset = framing, size, writeSize, 5
				if took, err := take("stream", w); err != nil || took <= 0 {
					t.Errorf("%+v: %v, %v", w, took, err)
				}
			}
		}
	}
	lost := usual
	lost.WriterCPU = 100_000 // the writing end dies of it
	if _, err := take("stream", lost); err == nil {
		t.Error("a CPU that is not there was taken")
	}
	empty := usual
	empty.Size = 0
	if _, err := take("stream", empty); err == nil {
		t.Error("messages of no bytes were sent")
	}
}

// The slices of both sides are paired, fork by fork and round by round.
func TestSlicesOfBothAreHeldAgainstEachOther(t *testing.T) {
	c := build(t)
	for _, framing := range []string{"raw", "chunked:61440"} {
		m := streamOf(framing, 4096, "1811", "free")
		e, err := m.ratio(t.Context(), c, 2)
		if err != nil || e.N+e.LeftOut != 2*rounds || e.Median <= 0 {
			t.Errorf("%s: got %+v, %v", framing, e, err)
		}
	}
}
