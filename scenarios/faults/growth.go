package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// ReaderGrowth is the evidence of growth for one reader.
type ReaderGrowth struct {
	Summarised
	Framing string `json:"framing"`

	PerByte []Sized        `json:"per_byte"` // ns for a byte, by message size
	Calls   float64        `json:"calls"`    // reader's system calls for a KiB, largest size
	Slope   stat.Growth    `json:"slope"`    // of the time a message over its size
	ToOurs  []Sized        `json:"to_ours"`  // time a message over that of our reader, round by round
	Beyond  []Sized        `json:"beyond,omitempty"`
	Curve   *results.Curve `json:"curve,omitempty"`
}

// A Sized is a figure for one message size. One that was not measured but follows from the slope
// says so.
type Sized struct {
	Size         int           `json:"size"` // bytes
	Figure       stat.Estimate `json:"figure"`
	Extrapolated bool          `json:"extrapolated,omitempty"`
}

// extrapolateTo is the largest size that the slope is followed to, in bytes.
const extrapolateTo = 64 << 20

const (
	// quadraticFrom is the slope from which growth is called out of proportion. A linear reader
	// that leaves the caches comes near 1.15.
	quadraticFrom = 1.3
	// slowFrom is how many times our reader's time counts as slow.
	slowFrom = 3
)

// judge calls growth out of proportion where the slope is above 1.3 and its interval above 1, and a
// reader slow where some size takes three times as long as with our reader.
func (e *ReaderGrowth) judge() (Verdict, string) {
	e.Summary = e.Slope.String()
	if n := len(e.PerByte); n > 0 {
		e.Summary += fmt.Sprintf(", %.3g ns/B at %s", e.PerByte[n-1].Figure.Median, Size(e.PerByte[n-1].Size))
	}
	if n := len(e.ToOurs); n > 0 && e.Framing != "ndjson" {
		e.Summary += fmt.Sprintf(", ×%.3g of our reader at %s", e.ToOurs[n-1].Figure.Median, Size(e.ToOurs[n-1].Size))
	}
	if e.Slope.Slope > quadraticFrom && (e.Slope.Interval == nil || e.Slope.Interval.Lo > 1) {
		return Grows, advise("growth, fast", e.Slope.Slope, math.Pow(2, e.Slope.Slope))
	}
	for _, s := range e.ToOurs {
		if s.Figure.Above(slowFrom) {
			return Slow, advise("growth, slow", e.Calls)
		}
	}
	return Sound, advise("growth, linear")
}

// Sizes of messages whose time says something about growth, in bytes: below the smallest, the fixed
// cost of a message flattens the curve.
var (
	growthFrom    = 256 << 10
	growthTo      = 4 << 20
	growthLargest = 16 << 20
)

func runGrowth(ctx context.Context, r *recorder) {
	records := r.Measure(ctx, GrowthPlan(growthFrom, growthTo), r.keep)
	// One pass over the largest takes a rescanning reader seconds: one sample, hence no interval
	// there.
	large := r.Measure(ctx, bench.Plan{Samples: 1, Duration: time.Millisecond,
		Cells: []results.Cell{streamCell("ndjson-rescan", growthLargest, "blocking"), streamCell("ndjson", growthLargest, "blocking")}}, r.keep)
	all := GrowthOf(append(records, large...), growthFrom)
	for i, e := range all {
		if i == 0 {
			e.Curve = curveOfGrowth(all) // of all readers, and so with the first, whatever is found
		}
		r.report(e.Framing, e)
	}
}

var growthFramings = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan"}

// GrowthPlan measures the three readers with messages of a quarter of from, to show what comes
// before, and of doubled sizes from there up to to; byte by byte up to 4 times from, which keeps
// that reader under a second for a message.
func GrowthPlan(from, to int) bench.Plan {
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 15 * time.Millisecond}
	for size := from / 4; size <= to; size *= 2 {
		for _, f := range growthFramings {
			if size != from/2 && (f != "ndjson-bytewise" || size <= 4*from) {
				p.Cells = append(p.Cells, streamCell(f, size, "blocking"))
			}
		}
	}
	return p
}

// GrowthOf makes the evidence of growth from the records of a [GrowthPlan]; sizes from the given
// one on make the slope.
func GrowthOf(records []results.Record, from int) []*ReaderGrowth {
	elapsed, calls := stat.MustMetric("time"), stat.MustMetric("reader-calls")
	all := stat.Distinct(records, func(r results.Record) int { return r.Cell.Size })
	slices.Sort(all)
	var out []*ReaderGrowth
	for _, framing := range growthFramings {
		e := &ReaderGrowth{Framing: framing}
		var sizes, times []float64
		for _, size := range all {
			mine := recordOf(records, framing, size, "blocking")
			if mine == nil {
				continue
			}
			t := elapsed.Estimate(mine[0])
			e.PerByte = append(e.PerByte, Sized{Size: size, Figure: scaled(t, 1/float64(size))})
			e.Calls = calls.Estimate(mine[0]).Median / float64(size) * 1024
			if size >= from {
				sizes, times = append(sizes, float64(size)), append(times, t.Median)
			}
			if ours := recordOf(records, "ndjson", size, "blocking"); ours != nil {
				e.ToOurs = append(e.ToOurs, Sized{Size: size, Figure: stat.PairedRatio(elapsed, mine, ours)})
			}
		}
		slope, err := stat.FitGrowth(sizes, times)
		if err != nil {
			continue // too few sizes to tell
		}
		e.Slope = slope
		last := e.PerByte[len(e.PerByte)-1]
		for size := last.Size * 4; size <= extrapolateTo; size *= 4 {
			perByte := last.Figure.Median * math.Pow(float64(size)/float64(last.Size), e.Slope.Slope-1)
			e.Beyond = append(e.Beyond, Sized{Size: size, Figure: stat.Estimate{Median: perByte}, Extrapolated: true})
		}
		out = append(out, e)
	}
	return out
}

// scaled multiplies an estimate by a constant.
func scaled(e stat.Estimate, by float64) stat.Estimate {
	e.Median *= by
	if e.Interval != nil {
		e.Interval = &stat.Interval{Lo: e.Interval.Lo * by, Hi: e.Interval.Hi * by, Confidence: e.Interval.Confidence}
	}
	return e
}

// curveOfGrowth shows ns for a byte by size, a line for each reader.
func curveOfGrowth(all []*ReaderGrowth) *results.Curve {
	c := &results.Curve{Title: "Readers of lines: time for a byte by message size", X: "message size, B", Y: "ns/B"}
	for _, e := range all {
		t := results.Trace{Name: e.Framing}
		for _, s := range append(e.PerByte, e.Beyond...) {
			p := pointOf(float64(s.Size), s.Figure)
			p.Extrapolated = s.Extrapolated
			t.Points = append(t.Points, p)
		}
		c.Series = append(c.Series, t)
	}
	return c
}

// UnboundedLine is the evidence of no-newline: what a reader held of a line that never ended.
type UnboundedLine struct {
	Summarised
	Reader   string         `json:"reader"`
	Limit    int            `json:"limit"`    // bytes of a message
	Sent     int64          `json:"sent"`     // bytes offered, no newline among them
	Read     int64          `json:"read"`     // bytes the reader had taken when it first spoke
	Held     int64          `json:"held"`     // memory that the reading process got from the system meanwhile, in bytes
	Detected bool           `json:"detected"` // an error came before all of the line had
	Error    string         `json:"error,omitempty"`
	Curve    *results.Curve `json:"curve,omitempty"`
}

// judge calls a reader sound when its error came while the line was still arriving and its memory
// stayed within three times the limit, which is the room that growing a buffer takes.
func (e *UnboundedLine) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%s held; %s of %s read when it spoke", Size(e.Held), Size(e.Read), Size(e.Sent))
	if e.Detected && e.Held <= 3*int64(e.Limit) {
		return Sound, advise("no-newline, held", Size(e.Held), Size(e.Sent))
	}
	return Grows, advise("no-newline, unbounded", Size(e.Read), Size(e.Limit))
}

// lineLimit is the limit that the document of the printed reader sets, in bytes.
const lineLimit = 10 << 20

// unboundedCases are sent to readers. The printed one searches its whole buffer after each 4096
// bytes, so its cost is quadratic: 16 MiB, beyond the limit by half, take seconds, and a GiB would
// take hours.
var unboundedCases = []struct {
	part, framing string
	policy        framers.Policy
	bytes         []int64
}{
	{"closes", "ndjson", framers.Close, []int64{4 << 20, 16 << 20, 64 << 20}},
	{"skips", "ndjson", framers.Resync, []int64{4 << 20, 16 << 20, 64 << 20, 1 << 30}},
	{"as-printed", "ndjson-rescan", framers.Close, []int64{4 << 20, 8 << 20, 16 << 20}},
}

func runNoNewline(ctx context.Context, r *recorder) {
	curve := &results.Curve{Title: "A line that never ends: memory held by the reader", X: "bytes sent", Y: "bytes held"}
	var all []*UnboundedLine
	for _, c := range unboundedCases {
		trace := results.Trace{Name: c.part}
		var e *UnboundedLine
		for _, n := range c.bytes {
			r.step("%s, %s", c.part, results.FormatSize(n))
			e = SendUnbounded(ctx, c.framing, c.policy, n)
			e.Reader = c.part
			trace.Points = append(trace.Points, pointOf(float64(n), stat.Estimate{Median: float64(e.Held)}))
		}
		curve.Series = append(curve.Series, trace)
		all = append(all, e)
	}
	all[len(all)-1].Curve = curve
	for _, e := range all {
		r.report(e.Reader, e)
	}
}

// SendUnbounded sends n bytes without a newline to a reader with a limit of 10 MiB, in a process of
// its own, and tells what that made of them.
func SendUnbounded(ctx context.Context, framing string, policy framers.Policy, n int64) *UnboundedLine {
	args := ReceiverArgs{Framing: framing, Policy: policy, Limit: lineLimit}
	got := Receive(ctx, args, func(w io.Writer) error {
		for p, left := letters(1<<20), n; left > 0; {
			k, err := w.Write(p[:min(left, int64(len(p)))])
			if left -= int64(k); err != nil {
				return err
			}
		}
		return nil
	})
	return &UnboundedLine{
		Reader: framing, Limit: lineLimit, Sent: n, Read: got.Read, Held: got.Held, Error: got.Error,
		Detected: got.Error != "" && got.Read < n, // an error that comes with the end holds nothing back
	}
}

// ReceiverArgs say how a process of its own receives messages.
type ReceiverArgs struct {
	Framing string // of the messages
	Policy  framers.Policy
	Limit   int // bytes of a message
	// WholeFirst has the receiver take a line whole before it looks at its length, as a program
	// does whose transport delivers frames.
	WholeFirst bool
	Drain      bool // receive to the end before the heap is measured
}

// Received is what a process took of what it was sent, in bytes.
type Received struct {
	Read      int64  // from the pipe, for the first message
	Delivered int64  // of the first message
	Held      int64  // memory that the process got from the system meanwhile
	AtOnce    int64  // on its heap more than before, when the first message was delivered
	AfterHeap int64  // the same at the end
	Error     string // that came in place of the first message
}

// Receive starts a process that receives messages, gives send the pipe to it, and returns what the
// process took. What the sender meets when the receiver leaves early is no error.
func Receive(ctx context.Context, args ReceiverArgs, send func(io.Writer) error) (got Received) {
	w, r, closeBoth := Open(syspipe.Anonymous)
	defer closeBoth()
	UsePoller(w)
	p := start(ctx, "faults/receiver", args, r)
	defer p.Close()
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	script.Check(p.Report(&got))
	if err := <-sent; !errors.Is(err, syscall.EPIPE) {
		script.Check(err)
	}
	return got
}

// receiveAndMeasure receives a message, and what is behind it where that is asked for, and reports
// what that took.
func receiveAndMeasure(w *proc.Work, args ReceiverArgs) {
	UsePoller(w.Ends...)
	in := w.Ends[0]
	read := args.reader(in)
	runtime.GC()
	before := memory()
	msg, err := read()
	got := Received{Read: int64(in.Counters().Bytes), Delivered: int64(len(msg)), Error: ErrorText(err)}
	for args.Policy == framers.Resync && err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		_, err = read() // skips the rest of the line
	}
	got.Held = int64(memory().Sys - before.Sys)
	msg = nil
	runtime.GC()
	got.AtOnce = max(0, int64(memory().HeapAlloc)-int64(before.HeapAlloc))
	for args.Drain && err == nil {
		_, err = read()
	}
	runtime.GC()
	got.AfterHeap = max(0, int64(memory().HeapAlloc)-int64(before.HeapAlloc))
	runtime.KeepAlive(read) // what the receiver holds on to counts
	in.Close()
	script.Check(w.Report(got))
}

func (a ReceiverArgs) reader(r io.Reader) func() ([]byte, error) {
	if a.WholeFirst {
		lines := bufio.NewReader(r)
		return func() ([]byte, error) { return lines.ReadBytes('\n') }
	}
	f := script.Must(framers.Parse(a.Framing))
	return f.NewReader(r, framers.WithMaxMessage(a.Limit), framers.WithPolicy(a.Policy)).ReadMessage
}

// MemoryFromSystem returns how much memory this process has got from the system, in bytes.
func MemoryFromSystem() int64 { return int64(memory().Sys) }

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}
