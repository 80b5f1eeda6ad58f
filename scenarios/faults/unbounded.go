package faults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"syscall"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

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
	if e.Detected && e.Held <= 3*int64(e.Limit) {
		return Sound, fmt.Sprintf("The limit held: %s of memory for %s of input.", Size(e.Held), Size(e.Sent))
	}
	return Grows, fmt.Sprintf("The reader took all %s and said nothing: its limit of %s is looked at when the newline comes, and it does not come. "+
		"Check the length of what is buffered after every read, before the buffer grows.", Size(e.Read), Size(e.Limit))
}

func (e *UnboundedLine) summarise() {
	e.Summary = fmt.Sprintf("%s held; %s of %s read when it spoke", Size(e.Held), Size(e.Read), Size(e.Sent))
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
			held := float64(e.Held)
			trace.Points = append(trace.Points, results.CurvePoint{X: float64(n), Y: held, Low: held, High: held})
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
	AfterHeap int64  // on its heap more than before, at the end
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
	heap := heapNow()
	before := MemoryFromSystem()
	msg, err := read()
	got := Received{Read: int64(in.Counters().Bytes), Delivered: int64(len(msg))}
	if err != nil {
		got.Error = err.Error()
	}
	for args.Policy == framers.Resync && err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		_, err = read() // skips the rest of the line
	}
	got.Held = MemoryFromSystem() - before
	for args.Drain && err == nil {
		_, err = read()
	}
	got.AfterHeap = max(0, heapNow()-heap)
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
func MemoryFromSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

// heapNow returns what this process has on its heap after a collection, in bytes.
func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
