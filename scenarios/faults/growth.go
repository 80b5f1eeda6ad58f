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
)

// ReaderGrowth is the evidence of growth for one reader.
type ReaderGrowth struct {
	Summarised
	Framing string `json:"framing"`

	PerByte []Sized     `json:"per_byte"` // ns per byte, by message size
	Calls   float64     `json:"calls"`    // the reader's system calls per KiB, at the largest size
	Slope   stat.Growth `json:"slope"`    // of the time per message over its size

	// ToOurs is the time per message over that of our reader, round by round.
	ToOurs []Sized        `json:"to_ours"`
	Beyond []Sized        `json:"beyond,omitempty"` // larger sizes, by the slope
	Curve  *results.Curve `json:"curve,omitempty"`
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
		last := e.PerByte[n-1]
		e.Summary += fmt.Sprintf(", %.3g ns/B at %s", last.Figure.Median, Size(last.Size))
	}
	if n := len(e.ToOurs); n > 0 && e.Framing != "ndjson" {
		last := e.ToOurs[n-1]
		e.Summary += fmt.Sprintf(", ×%.3g of our reader at %s",
			last.Figure.Median, Size(last.Size))
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

func runGrowth(ctx context.Context, r *recorder) error {
	plan, err := PlanGrowth(growthFrom, growthTo)
	if err != nil {
		return err
	}
	records, err := r.MeasurePlan(ctx, plan, r.keep)
	if err != nil {
		return err
	}
	plan, err = planLargest()
	if err != nil {
		return err
	}
	large, err := r.MeasurePlan(ctx, plan, r.keep)
	if err != nil {
		return err
	}
	all := GrowthOf(append(records, large...), growthFrom)
	for i, e := range all {
		if i == 0 {
			e.Curve = curveOfGrowth(all) // of all readers, and so with the first, whatever is found
		}
		if err := r.record(e.Framing, e); err != nil {
			return err
		}
	}
	return nil
}

// planLargest measures the largest size. One pass over it takes a rescanning reader seconds, so
// there is one sample, hence no interval.
func planLargest() (bench.Plan, error) {
	place, err := steadyPlacement()
	if err != nil {
		return bench.Plan{}, err
	}
	return bench.Plan{
		Samples:  1,
		Duration: time.Millisecond,
		Cells: []results.Cell{
			streamCell(place, "ndjson-rescan", growthLargest, "blocking"),
			streamCell(place, "ndjson", growthLargest, "blocking"),
		},
	}, nil
}

var growthFramings = []string{"ndjson", "ndjson-bytewise", "ndjson-rescan"}

// PlanGrowth measures the three readers with messages of a quarter of from, to show what comes
// before, and of doubled sizes from there up to to; byte by byte up to 4 times from, which keeps
// that reader under a second for a message.
func PlanGrowth(from, to int) (bench.Plan, error) {
	place, err := steadyPlacement()
	if err != nil {
		return bench.Plan{}, err
	}
	p := bench.Plan{Samples: stat.LeastSamples, Duration: 15 * time.Millisecond}
	for size := from / 4; size <= to; size *= 2 {
		if size == from/2 {
			continue
		}
		for _, f := range growthFramings {
			if f == "ndjson-bytewise" && size > 4*from {
				continue
			}
			p.Cells = append(p.Cells, streamCell(place, f, size, "blocking"))
		}
	}
	return p, nil
}

// GrowthOf makes the evidence of growth from the records of a plan by [PlanGrowth]; sizes from the
// given one on make the slope. Readers with too few sizes to tell are left out.
func GrowthOf(records []results.Record, from int) []*ReaderGrowth {
	var sizes []int
	for _, r := range records {
		if !slices.Contains(sizes, r.Cell.Size) {
			sizes = append(sizes, r.Cell.Size)
		}
	}
	slices.Sort(sizes)
	var out []*ReaderGrowth
	for _, framing := range growthFramings {
		e, err := growthOfReader(records, framing, sizes, from)
		if err == nil {
			out = append(out, e)
		}
	}
	return out
}

// growthOfReader makes the evidence for one reader. It fails if there are too few sizes for a
// slope.
func growthOfReader(
	records []results.Record, framing string, sizes []int, from int,
) (*ReaderGrowth, error) {
	elapsed := stat.MustMetric("time")
	calls := stat.MustMetric("reader-calls")
	e := &ReaderGrowth{Framing: framing}
	var fitSizes, fitTimes []float64
	for _, size := range sizes {
		mine := recordOf(records, framing, size, "blocking")
		if mine == nil {
			continue
		}
		t := elapsed.Estimate(mine[0])
		e.PerByte = append(e.PerByte, Sized{Size: size, Figure: scaled(t, 1/float64(size))})
		e.Calls = calls.Estimate(mine[0]).Median / float64(size) * 1024
		if size >= from {
			fitSizes = append(fitSizes, float64(size))
			fitTimes = append(fitTimes, t.Median)
		}
		if ours := recordOf(records, "ndjson", size, "blocking"); ours != nil {
			ratio := stat.PairedRatio(elapsed, mine, ours)
			e.ToOurs = append(e.ToOurs, Sized{Size: size, Figure: ratio})
		}
	}
	var err error
	e.Slope, err = stat.FitGrowth(fitSizes, fitTimes)
	if err != nil {
		return nil, err
	}
	e.extrapolate()
	return e, nil
}

// extrapolate follows the slope beyond the largest size that was measured.
func (e *ReaderGrowth) extrapolate() {
	last := e.PerByte[len(e.PerByte)-1]
	for size := last.Size * 4; size <= extrapolateTo; size *= 4 {
		growth := math.Pow(float64(size)/float64(last.Size), e.Slope.Slope-1)
		e.Beyond = append(e.Beyond, Sized{
			Size:         size,
			Figure:       stat.Estimate{Median: last.Figure.Median * growth},
			Extrapolated: true,
		})
	}
}

// scaled multiplies an estimate by a constant.
func scaled(e stat.Estimate, by float64) stat.Estimate {
	e.Median *= by
	if e.Interval != nil {
		i := *e.Interval
		i.Lo *= by
		i.Hi *= by
		e.Interval = &i
	}
	return e
}

// curveOfGrowth shows ns for a byte by size, a line for each reader.
func curveOfGrowth(all []*ReaderGrowth) *results.Curve {
	c := &results.Curve{
		Title: "Readers of lines: time for a byte by message size",
		X:     "message size, B",
		Y:     "ns/B",
	}
	for _, e := range all {
		t := results.Trace{Name: e.Framing}
		for _, s := range slices.Concat(e.PerByte, e.Beyond) {
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
	Reader string `json:"reader"`
	Limit  int    `json:"limit"` // bytes of a message
	Sent   int64  `json:"sent"`  // bytes offered, no newline among them
	Read   int64  `json:"read"`  // bytes the reader had taken when it first spoke

	// Held is the memory that the reading process got from the system meanwhile, in bytes.
	Held     int64          `json:"held"`
	Detected bool           `json:"detected"` // an error came before all of the line had
	Error    string         `json:"error,omitempty"`
	Curve    *results.Curve `json:"curve,omitempty"`
}

// judge calls a reader sound when its error came while the line was still arriving and its memory
// stayed within three times the limit, which is the room that growing a buffer takes.
func (e *UnboundedLine) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%s held; %s of %s read when it spoke",
		Size(e.Held), Size(e.Read), Size(e.Sent))
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

func runNoNewline(ctx context.Context, r *recorder) error {
	curve := &results.Curve{
		Title: "A line that never ends: memory held by the reader",
		X:     "bytes sent",
		Y:     "bytes held",
	}
	var all []*UnboundedLine
	for _, c := range unboundedCases {
		trace := results.Trace{Name: c.part}
		var e *UnboundedLine
		for _, n := range c.bytes {
			r.step("%s, %s", c.part, results.FormatSize(n))
			var err error
			e, err = SendEndlessLine(ctx, c.framing, c.policy, n)
			if err != nil {
				return err
			}
			e.Reader = c.part
			held := stat.Estimate{Median: float64(e.Held)}
			trace.Points = append(trace.Points, pointOf(float64(n), held))
		}
		curve.Series = append(curve.Series, trace)
		all = append(all, e) // of the longest line
	}
	all[len(all)-1].Curve = curve
	for _, e := range all {
		if err := r.record(e.Reader, e); err != nil {
			return err
		}
	}
	return nil
}

// SendEndlessLine sends n bytes without a newline to a reader with a limit of 10 MiB, in a process
// of its own, and tells what that made of them.
func SendEndlessLine(
	ctx context.Context, framing string, policy framers.Policy, n int64,
) (*UnboundedLine, error) {
	args := ReceiverArgs{Framing: framing, Policy: policy, Limit: lineLimit}
	got, err := ReceiveInProcess(ctx, args, func(w io.Writer) error {
		p := letters(1 << 20)
		left := n
		for left > 0 {
			k, err := w.Write(p[:min(left, int64(len(p)))])
			if err != nil {
				return err
			}
			left -= int64(k)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &UnboundedLine{
		Reader: framing,
		Limit:  lineLimit,
		Sent:   n,
		Read:   got.Read,
		Held:   got.Held,
		Error:  got.Error,
		// An error that comes with the end holds nothing back.
		Detected: got.Error != "" && got.Read < n,
	}, nil
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

// ReceiveInProcess starts a process that receives messages, gives send the pipe to it, and returns
// what the process took. What the sender meets when the receiver leaves early is no error.
func ReceiveInProcess(
	ctx context.Context, args ReceiverArgs, send func(io.Writer) error,
) (Received, error) {
	w, r, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return Received{}, err
	}
	defer r.Close()
	defer w.Close()
	if err := PollEnds(w); err != nil {
		return Received{}, err
	}
	p, err := start(ctx, "faults/receiver", args, r)
	if err != nil {
		return Received{}, err
	}
	defer p.Close()
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	var got Received
	if err := p.Report(&got); err != nil {
		return Received{}, err
	}
	if err := <-sent; err != nil && !errors.Is(err, syscall.EPIPE) {
		return Received{}, err
	}
	return got, nil
}

// receiveAndMeasure receives a message, and what is behind it where that is asked for, and reports
// what that took.
func receiveAndMeasure(w *proc.Work, args ReceiverArgs) error {
	if err := PollEnds(w.Ends...); err != nil {
		return err
	}
	in := w.Ends[0]
	read, err := args.reader(in)
	if err != nil {
		return err
	}
	runtime.GC()
	before := memory()
	msg, err := read()
	got := Received{
		Read:      int64(in.Counters().Bytes),
		Delivered: int64(len(msg)),
		Error:     ErrorText(err),
	}
	if args.Policy == framers.Resync {
		for err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			_, err = read() // skips the rest of the line
		}
	}
	got.Held = int64(memory().Sys - before.Sys)
	msg = nil
	got.AtOnce = heapSince(before)
	for args.Drain && err == nil {
		_, err = read()
	}
	got.AfterHeap = heapSince(before)
	runtime.KeepAlive(read) // what the receiver holds on to counts
	in.Close()
	return w.Report(got)
}

// heapSince returns how many bytes more than before are in use on the heap.
func heapSince(before runtime.MemStats) int64 {
	runtime.GC()
	return max(0, int64(memory().HeapAlloc)-int64(before.HeapAlloc))
}

// reader returns a function that receives the next message.
func (a ReceiverArgs) reader(r io.Reader) (func() ([]byte, error), error) {
	if a.WholeFirst {
		lines := bufio.NewReader(r)
		return func() ([]byte, error) { return lines.ReadBytes('\n') }, nil
	}
	f, err := framers.Parse(a.Framing)
	if err != nil {
		return nil, err
	}
	in := f.NewReader(r, framers.WithMaxMessage(a.Limit), framers.WithPolicy(a.Policy))
	return in.ReadMessage, nil
}

// MemoryFromSystem returns how much memory this process has got from the system, in bytes.
func MemoryFromSystem() int64 { return int64(memory().Sys) }

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}
