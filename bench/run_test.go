package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// cell is a small cell that every system can run.
func cell(change ...func(*results.Cell)) results.Cell {
	c := results.Cell{
		Framing: "ndjson", Size: 512, Pipe: "anonymous", IO: "blocking",
		Placement: "free", Pattern: "stream", Payload: "json",
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// small is a plan of one fork with few and short samples: enough to see what comes of it.
func small(cells ...results.Cell) Plan {
	return Plan{
		Run: "test", Cells: cells, Samples: 2, Duration: 2 * time.Millisecond, Forks: 1, Seed: 1,
	}
}

// collect runs a plan to its end.
func collect(t *testing.T, p Plan) []results.Record {
	t.Helper()
	var kept []results.Record
	err := Run(t.Context(), p, func(r results.Record) error {
		kept = append(kept, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// every makes a cell of each combination that this system can run.
func every(t *testing.T) []results.Cell {
	t.Helper()
	var cells []results.Cell
	for _, f := range framers.All() {
		for _, pattern := range []string{"stream", "roundtrip"} {
			cells = append(
				cells, cell(func(c *results.Cell) { c.Framing, c.Pattern = f.String(), pattern }),
			)
		}
	}
	cells = append(cells, cell(func(c *results.Cell) { c.Framing = "raw:512" }))
	for _, kind := range syspipe.Kinds() {
		for _, io := range syspipe.IOs() {
			for _, framing := range []string{"raw", "chunked:300"} {
				cells = append(cells, cell(func(c *results.Cell) {
					c.Framing, c.Pipe, c.IO = framing, string(kind), io.String()
				}))
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(cells, func(c results.Cell) bool {
		again := seen[c.Key()]
		seen[c.Key()] = true
		return again || Unsupported(c) != nil
	})
}

// Halves of them run at the same time: workers mostly start and wait.
func TestEveryCombinationDeliversEveryMessage(t *testing.T) {
	cells := every(t)
	for _, half := range [][]results.Cell{cells[:len(cells)/2], cells[len(cells)/2:]} {
		t.Run(results.CellName(half[0]), func(t *testing.T) {
			t.Parallel()
			kept := collect(t, small(half...))
			if len(kept) != len(half) {
				t.Errorf("%d records of %d cells", len(kept), len(half))
			}
			for _, r := range kept {
				if err := complete(r, hasLeftOut(kept)); err != nil {
					t.Errorf("%s: %v", r.Cell.Key(), err)
				}
			}
		})
	}
}

// refused reports how an end of a cell's kind can wait after all, in the way that was said to be
// unsupported.
func refused(c results.Cell) error {
	w, r, err := syspipe.Open(syspipe.Kind(c.Pipe), syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		return nil
	}
	defer w.Close()
	defer r.Close()
	writer, reader, err := parseIO(c.IO)
	if err == nil && w.SetIO(writer) == nil && r.SetIO(reader) == nil {
		err = errors.New("is said to be unsupported, and can be had")
	}
	return err
}

// hasLeftOut reports whether a slice was left out, as on a busy machine: the cells that had their
// turn before it take another round.
func hasLeftOut(kept []results.Record) bool {
	return slices.ContainsFunc(kept, func(r results.Record) bool {
		return strings.Contains(strings.Join(r.Warnings, "\n"), "was left out")
	})
}

// complete reports what a record of the small plan lacks. It has more samples than were asked for
// only where a slice was left out.
func complete(r results.Record, leftOut bool) error {
	if r.Unsupported != "" {
		return refused(r.Cell)
	}
	if len(r.Samples) < 2 || len(r.Samples) > 2 && !leftOut || r.Stopped != "samples" ||
		r.Failed != "" || r.Run != "test" || r.Time.IsZero() {
		return fmt.Errorf(
			"%d samples, stopped %q, failed %q, run %q at %s", len(r.Samples), r.Stopped, r.Failed,
			r.Run, r.Time,
		)
	}
	v := r.Verified
	if v == nil || v.Compared < minCompare || v.Bytes != v.Compared*int64(r.Cell.Size) {
		return fmt.Errorf("compared: %+v", r.Verified)
	}
	if raw := strings.HasPrefix(r.Cell.Framing, "raw"); raw != (r.Verified.Sequence == 0) {
		return fmt.Errorf(
			"%d messages are said to have been checked by number", r.Verified.Sequence,
		)
	}
	f, err := framers.Parse(r.Cell.Framing)
	if err != nil {
		return err
	}
	var frames bytes.Buffer
	err = f.NewWriter(&frames).WriteMessage(bytes.Repeat([]byte("x"), r.Cell.Size))
	if err != nil {
		return err
	}
	wire := int64(frames.Len())
	for _, s := range r.Samples {
		if s.Messages < 1 || s.ElapsedNS <= 0 || s.Warmup == nil || s.Warmup.Messages < 1 {
			return fmt.Errorf("sample: %+v", s)
		}
		if s.PayloadBytes != s.Messages*int64(r.Cell.Size) || s.WireBytes != s.Messages*wire {
			return fmt.Errorf("%d messages of %d bytes made %d bytes of payload and %d on the wire, "+
				"each should make %d",
				s.Messages, r.Cell.Size, s.PayloadBytes, s.WireBytes, wire)
		}
		if err := counted(r.Cell, s, wire); err != nil {
			return err
		}
	}
	return nil
}

// counted holds the counters of both ends against the bytes that passed.
func counted(c results.Cell, s results.Sample, wire int64) error {
	passed := s.Messages * wire
	if c.Pattern == "roundtrip" {
		passed *= 2 // there and back
	}
	for _, end := range []results.Counters{s.Writer, s.Reader} {
		if end.Bytes != passed || end.Calls < 1 {
			return fmt.Errorf(
				"an end moved %d bytes in %d calls; %d bytes passed", end.Bytes, end.Calls, passed,
			)
		}
	}
	l, has := s.Latency["roundtrip"]
	if has != (c.Pattern == "roundtrip") || has && (l.Count != s.Messages || l.MinNS <= 0 ||
		l.MaxNS < l.MinNS) {
		return fmt.Errorf("latency of %d trips: %+v", s.Messages, s.Latency)
	}
	return nil
}

func TestPlacedEndsRunWhereTheyWerePut(t *testing.T) {
	var cells []results.Cell
	for _, place := range []string{"same", "apart"} {
		c := cell(func(c *results.Cell) { c.Placement = place })
		if Unsupported(c) == nil {
			cells = append(cells, c)
		}
	}
	if len(cells) == 0 {
		t.Skipf("pipebench chooses no CPUs on %s", runtime.GOOS)
	}
	for _, r := range collect(t, small(cells...)) {
		for _, s := range r.Samples {
			w, rd := s.Writer.CPUs, s.Reader.CPUs
			if len(w) != 1 || len(rd) != 1 || (w[0] == rd[0]) != (r.Cell.Placement == "same") {
				t.Errorf("%s: writer on %v, reader on %v", r.Cell.Placement, w, rd)
			}
		}
	}
}

func TestCapacityIsReadBack(t *testing.T) {
	var cells []results.Cell
	for _, n := range []int{16 << 10, 64 << 10} {
		cells = append(cells, cell(func(c *results.Cell) { c.Capacity = n }))
	}
	for _, r := range collect(t, small(cells...)) {
		if r.Unsupported != "" {
			t.Log(r.Unsupported)
		} else if got := r.Samples[0].Capacity; got != r.Cell.Capacity {
			t.Errorf("asked for %d, read back %d", r.Cell.Capacity, got)
		}
	}
}

// The first large messages after a start of the workers are slow: the reader's buffer grows.
func TestNewWorkersWarmUpWithSeveralLargeMessages(t *testing.T) {
	p := small(cell(func(c *results.Cell) { c.Size = 1 << 20 }))
	p.Samples, p.Forks, p.Duration = 4, 2, time.Millisecond
	last := 0 // the start of the workers that made the sample before
	for _, s := range collect(t, p)[0].Samples {
		several := s.Warmup.Messages == firstWarmups
		if s.Fork == 2 && several != (last == 1) || s.Fork == last && several {
			t.Errorf("start %d after %d: warmed up with %d messages", s.Fork, last,
				s.Warmup.Messages)
		}
		last = s.Fork
	}
	if last < 2 {
		t.Error("no samples of a second start")
	}
}

func TestARecordingIsReplayed(t *testing.T) {
	path := filepath.Join("payload", "testdata", "mcp-session.ndjson")
	recording, err := payload.ReadRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	var cells []results.Cell
	for _, f := range []string{"raw", "ndjson", "chunked:1024", "content-length"} {
		cells = append(cells, cell(func(c *results.Cell) {
			c.Framing, c.Size, c.Payload, c.Messages = f, 0, payload.Recorded, recording.Hash
		}))
	}
	p := small(cells...)
	p.Recording = path
	for _, r := range collect(t, p) {
		for _, s := range r.Samples {
			want := recording.Source().Bytes(s.Warmup.Messages, s.Messages)
			if s.PayloadBytes != want {
				t.Errorf("%s: %d bytes of payload, not %d", r.Cell.Framing, s.PayloadBytes, want)
			}
		}
		if r.Verified.Compared < int64(len(recording.Messages)) {
			t.Errorf(
				"%s: only %d messages of %d compared", r.Cell.Framing, r.Verified.Compared,
				len(recording.Messages),
			)
		}
	}
}

func TestACellThatThisSystemLacksIsARecord(t *testing.T) {
	kinds := slices.DeleteFunc(
		syspipe.Kinds(), func(k syspipe.Kind) bool { return k.Supported() == nil },
	)
	if len(kinds) == 0 {
		t.Skip("this system has every kind of pipe")
	}
	lacking := cell(func(c *results.Cell) { c.Pipe = string(kinds[0]) })
	kept := collect(t, small(lacking, cell()))
	if len(kept) != 2 || !strings.Contains(kept[0].Unsupported, runtime.GOOS) ||
		len(kept[0].Samples) != 0 {
		t.Errorf("got %+v", kept)
	}
	err := Run(t.Context(), small(lacking), func(results.Record) error { return nil })
	if err == nil || !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("a run of nothing: %v", err)
	}
}

func TestWhatCannotBeIsRefusedBeforeAnythingIsMeasured(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*results.Cell)
		says   string
	}{
		{"an unknown framing", func(c *results.Cell) { c.Framing = "nope" }, "content-length"},
		{"an unknown pipe", func(c *results.Cell) { c.Pipe = "tube" }, "socketpair"},
		{"an unknown io", func(c *results.Cell) { c.IO = "poll/hope" }, "poller"},
		{"an unknown placement", func(c *results.Cell) { c.Placement = "near" }, "apart"},
		{"an unknown pattern", func(c *results.Cell) { c.Pattern = "zigzag" }, "roundtrip"},
		{"an unknown payload", func(c *results.Cell) { c.Payload = "xml" }, "utf8"},
		{"binary on lines", func(c *results.Cell) { c.Payload, c.Size = "random", 8192 }, "ndjson"},
		{"a negative size", func(c *results.Cell) { c.Size = -1 }, "size"},
	} {
		err := Run(t.Context(), small(cell(), cell(c.change)), func(results.Record) error {
			t.Errorf("%s: something was measured", c.name)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want something of %q", c.name, err, c.says)
		}
	}
}

func TestAPlanOfLessThanNothingIsRefused(t *testing.T) {
	for says, change := range map[string]func(*Plan){
		"-1 samples":      func(p *Plan) { p.Samples = -1 },
		"-1s":             func(p *Plan) { p.Duration = -time.Second },
		"a time of -1m0s": func(p *Plan) { p.MaxTime = -time.Minute },
	} {
		p := small(cell())
		change(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want something of %q", err, says)
		}
	}
}

func TestACapacityThatIsRefusedIsSaid(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lets a capacity be asked for")
	}
	_, _, err := syspipe.Open(
		syspipe.Anonymous, syspipe.Options{Capacity: 1 << 30, IO: syspipe.Blocking},
	)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err) // which is a record of the cell
	}
	err = small(cell(func(c *results.Cell) { c.Capacity = 1 << 30 })).Validate()
	var refused *syspipe.CapacityError
	if !errors.As(err, &refused) || !IsUnsupported(err) {
		t.Errorf("got %v", err)
	}
}

func TestAnInterruptedRunKeepsWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	unreached := cell(func(c *results.Cell) { c.Pattern = "roundtrip" })
	p := small(cell(), cell(func(c *results.Cell) { c.Framing = "raw" }), unreached)
	p.Samples = 1000
	p.Observe = func(now Progress) {
		if now.Step == Timed && now.Sample == 3 {
			cancel()
		}
	}
	var kept []results.Record
	err := Run(ctx, p, func(r results.Record) error {
		kept = append(kept, r)
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(kept) != 3 {
		t.Fatalf("%d records", len(kept))
	}
	last := kept[2]
	if last.Cell != unreached || last.Stopped != "interrupted" || len(last.Samples) > 0 {
		t.Errorf("the cell that was not reached: %+v", last)
	}
	for _, r := range kept[:2] {
		if len(r.Samples) < 2 || r.Stopped != "interrupted" || r.Failed != "" ||
			len(r.Warnings) == 0 {
			t.Errorf(
				"%s: %d samples, stopped %q, failed %q, warnings %q", r.Cell.Framing,
				len(r.Samples), r.Stopped, r.Failed, r.Warnings,
			)
		}
	}
}

func TestMaxTimeEndsARun(t *testing.T) {
	p := small(cell())
	p.Samples, p.MaxTime = 1_000_000, time.Hour
	var kept []results.Record
	r, err := newRunner(p, func(r results.Record) error {
		kept = append(kept, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Observe = func(now Progress) {
		if now.Step == Timed {
			r.started = r.started.Add(-p.MaxTime) // an hour goes by
		}
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || kept[0].Stopped != "max-time" || len(kept[0].Samples) != 1 ||
		len(kept[0].Warnings) == 0 {
		t.Errorf("got %+v", kept)
	}
}

func TestAMachineThatBecomesSlower(t *testing.T) {
	t.Parallel() // it mostly waits
	var kept []results.Record
	r, err := newRunner(
		small(cell()), func(rec results.Record) error { kept = append(kept, rec); return nil },
	)
	if err != nil {
		t.Fatal(err)
	}
	r.Observe = func(now Progress) {
		if now.Step == Calibrated && r.groups[0].forks == 1 {
			// far more messages than the grace is enough for
			r.groups[0].cells[0].rate = 3e7 / r.Duration.Seconds()
		}
	}
	// on most machines enough for a thousandth of them, to which the next fork comes down
	r.grace = 3 * time.Second
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || len(kept[0].Samples) != r.Samples || kept[0].Samples[0].Messages > 3e6 ||
		kept[0].Samples[0].Fork < 2 {
		t.Fatalf("got %+v", kept)
	}
	const says = "a sample of 30000000 messages did not finish within"
	if !strings.Contains(strings.Join(kept[0].Warnings, "\n"), says) {
		t.Errorf("warnings %q", kept[0].Warnings)
	}
}

func TestKeepingThatFailsEndsTheRun(t *testing.T) {
	full := errors.New("disk full")
	calls := 0
	err := Run(t.Context(), small(
		cell(), cell(func(c *results.Cell) { c.Framing = "raw" }),
	), func(results.Record) error {
		calls++
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// Workers that misbehave are this test binary, told so by its environment.
func TestAWorkerThatFailsIsNamed(t *testing.T) {
	for _, c := range []struct{ how, says string }{
		{"die", "exit status 7: these are my last words"},
		{"hang", "did not finish within"},
		{"babble", "ended before it began to work"},
		{"babble", "have to call bench.Worker first"},
	} {
		t.Setenv(misbehave, c.how)
		r, err := newRunner(small(cell()), func(results.Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if c.how == "hang" {
			r.grace = 0
		}
		err = r.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), "ndjson 512 B stream with the ends unpinned") {
			t.Errorf("%s: got %v, want something of %q", c.how, err, c.says)
		}
	}
}

// A worker that hangs is killed when the run's time is up, however long a slice may take otherwise;
// with more time it may have been slow, so that is what the run ended for.
func TestASliceThatHangsEndsWithTheRunsTime(t *testing.T) {
	t.Setenv(misbehave, "hang")
	r, err := newRunner(small(cell()), func(results.Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	r.MaxTime, r.grace = time.Hour, 20*time.Hour
	if got := r.limit(); got != 2*time.Hour {
		t.Errorf("at the end a slice may take %s", got)
	}
	r.grace = 5 * time.Hour
	if got := r.limit(); got > r.MaxTime || got < r.MaxTime/2 {
		t.Errorf("at the beginning a slice may take %s", got)
	}
	r.grace = time.Millisecond
	// an hour goes by
	r.Turn = func(context.Context) error { r.started = r.started.Add(-r.MaxTime); return nil }
	why := r.run(t.Context())
	if why == nil ||
		!strings.Contains(
			why.Error(),
			"ndjson 512 B stream with the ends unpinned: a sample did not finish within 100µs "+
				"and was killed",
		) {
		t.Errorf("got %v", why)
	}
}

// A program that forgot to call Main runs its main again as its own worker, and that one its own,
// until the machine has no processes left.
func TestAWorkerThatIsNoneStartsNone(t *testing.T) {
	t.Setenv("PIPEBENCH_WORK", "{}")
	const says = "this process was started to work and does not: call proc.Main first"
	err := Run(t.Context(), small(cell()), func(results.Record) error { return nil })
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("Run: %v", err)
	}
	if _, err := Measure(t.Context(), cell()); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("Measure: %v", err)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts what /proc lists")
	}
	t.Setenv("TMPDIR", t.TempDir()) // others leave things in the system's meanwhile
	collect(t, small(cell()))       // what the runtime opens once
	before, goroutines := listed(t, "/proc/self/fd"), runtime.NumGoroutine()
	collect(
		t,
		small(
			cell(func(c *results.Cell) { c.Pipe = "fifo" }),
			cell(func(c *results.Cell) { c.Pattern, c.Pipe = "roundtrip", "socketpair" }),
		),
	)
	t.Setenv(misbehave, "die")
	err := Run(t.Context(), small(cell()), func(results.Record) error { return nil })
	if err == nil {
		t.Error("a worker that dies was not noticed")
	}
	if after := listed(t, "/proc/self/fd"); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if left := temporary(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if n := children(t); n != 0 {
		t.Errorf("%d children are left", n)
	}
	// One that is just ending may still be counted.
	for began := time.Now(); runtime.NumGoroutine() > goroutines; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatalf("%d goroutines before, %d after", goroutines, runtime.NumGoroutine())
		}
	}
}

func listed(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func temporary(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func children(t *testing.T) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range lists {
		b, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended
		}
		n += len(strings.Fields(string(b)))
	}
	return n
}

// Round trips that are not timed one by one have a time, and no latency that nobody measured.
func TestALabelSaysWhatIsNotAsUsual(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*results.Cell)
		want   string
	}{
		{"the usual", func(*results.Cell) {}, "raw 64 KiB stream on one CPU"},
		{
			"pages that are lent", func(c *results.Cell) { c.Transfer = "vmsplice" },
			"raw 64 KiB stream on one CPU transfer=vmsplice",
		},
		{"another pipe, its capacity, and how ends wait", func(c *results.Cell) {
			c.Pipe, c.Capacity, c.IO = "fifo", 4096, "poll/spin"
		},
			"raw 64 KiB stream on one CPU capacity=4 KiB io=poll/spin pipe=fifo"},
		{"a rate", func(c *results.Cell) { c.Rate = 2e6 },
			"raw 64 KiB stream on one CPU rate=2000000"},
		{
			"a recording",
			func(c *results.Cell) { c.Size, c.Payload, c.Messages = 0, "recorded", "0123abcd" },
			"raw recorded stream on one CPU",
		},
	} {
		cell := results.Cell{
			Framing: "raw", Size: 64 << 10, Pipe: "anonymous", IO: "blocking", Placement: "same",
			Pattern: "stream", Payload: "json",
		}
		c.change(&cell)
		if got := results.CellName(cell); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// What stands first in the plan is measured first, however the later turns are shuffled.
func TestTheFirstTurnHasTheOrderOfThePlan(t *testing.T) {
	trip, stream := cell(), cell()
	trip.Pattern = results.PatternRoundtrip
	cells := []results.Cell{trip, stream}
	for seed := range int64(4) {
		p := small(cells...)
		p.Seed = seed
		var first []results.Cell
		p.Observe = func(now Progress) {
			if now.Step == Compared {
				first = append(first, now.Cell)
			}
		}
		collect(t, p)
		if !slices.Equal(first, cells) {
			t.Errorf("seed %d: got %v, want %v", seed, first, cells)
		}
	}
}
