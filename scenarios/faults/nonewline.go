package faults

import (
	"context"
	"fmt"
	"io"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

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
