package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/faults/evidence"
	"github.com/pipebench/pipebench/syspipe"
)

var noNewline = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "no-newline"),
	Deadline:     2 * time.Minute,
	run:          runNoNewline,
}

// A Hoard is the evidence of no-newline: what a reader held of a line that
// never ended.
type Hoard struct {
	Reader   string `json:"reader"`
	Limit    int    `json:"limit"`    // bytes of a message
	Sent     int64  `json:"sent"`     // bytes offered, no newline among them
	Read     int64  `json:"read"`     // bytes the reader had taken when it first spoke
	Held     int64  `json:"held"`     // memory that the reading process got from the system meanwhile, in bytes
	Detected bool   `json:"detected"` // an error came before all of the line had
	Error    string `json:"error,omitempty"`
	Curve    *Curve `json:"curve,omitempty"`
}

// judgeHoard is the rule of no-newline: a reader is sound when its error came
// while the line was still arriving and its memory stayed within three times
// the limit, which is the room that growing a buffer takes.
func judgeHoard(e Hoard) Verdict {
	if e.Detected && e.Held <= 3*int64(e.Limit) {
		return Sound
	}
	return Grows
}

func adviseHoard(v Verdict, e Hoard) string {
	if v == Sound {
		return fmt.Sprintf("The limit held: %s of memory for %s of input.", evidence.Size(e.Held), evidence.Size(e.Sent))
	}
	return fmt.Sprintf("The reader took all %s and said nothing: its limit of %s is looked at when the newline comes, and it does not come. "+
		"Check the length of what is buffered after every read, before the buffer grows.", evidence.Size(e.Read), evidence.Size(int64(e.Limit)))
}

// LineLimit is the limit that the document of the printed reader sets, in bytes.
const LineLimit = 10 << 20

// hoards are the cases. The printed reader searches its whole buffer after
// each 4096 bytes, so its cost is quadratic: 16 MiB, beyond the limit by half,
// take seconds, and a GiB would take hours.
var hoards = []struct {
	part, framing string
	policy        framers.Policy
	bytes         []int64
}{
	{"closes", "ndjson", framers.Close, []int64{4 << 20, 16 << 20, 64 << 20}},
	{"skips", "ndjson", framers.Resync, []int64{4 << 20, 16 << 20, 64 << 20, 1 << 30}},
	{"as-printed", "ndjson-rescan", framers.Close, []int64{4 << 20, 8 << 20, 16 << 20}},
}

func runNoNewline(ctx context.Context, s *stage) error {
	curve := Curve{Title: "A line that never ends: memory held by the reader", X: "bytes sent", Y: "bytes held"}
	var all []Hoard
	for _, h := range hoards {
		trace := Trace{Name: h.part}
		var e Hoard
		for _, n := range h.bytes {
			s.step("%s, %s", h.part, results.FormatSize(n))
			var err error
			if e, err = HoardLine(ctx, h.framing, h.policy, n); err != nil {
				return err
			}
			e.Reader = h.part
			trace.Points = append(trace.Points, Point{X: float64(n), Y: float64(e.Held), Low: float64(e.Held), High: float64(e.Held)})
		}
		curve.Series = append(curve.Series, trace)
		all = append(all, e)
	}
	all[len(all)-1].Curve = &curve
	for _, e := range all {
		v := judgeHoard(e)
		if err := s.fault(e.Reader, v, e, adviseHoard(v, e)); err != nil {
			return err
		}
	}
	return nil
}

type hoarderArgs struct {
	Framing string
	Policy  framers.Policy
	Limit   int
}

// HoardLine sends n bytes without a newline to a reader in a process of its
// own, and tells what that made of them. The reader's limit is [LineLimit].
func HoardLine(ctx context.Context, framing string, policy framers.Policy, n int64) (Hoard, error) {
	return hoard(ctx, hoarderArgs{framing, policy, LineLimit}, n, nil)
}

// HoardMessage sends a line of n bytes with its newline to a reader with the
// given limit in a process of its own.
func HoardMessage(ctx context.Context, framing string, policy framers.Policy, limit int, n int64) (Hoard, error) {
	return hoard(ctx, hoarderArgs{framing, policy, limit}, n, []byte("\n"))
}

func hoard(ctx context.Context, args hoarderArgs, n int64, last []byte) (Hoard, error) {
	e := Hoard{Reader: args.Framing, Limit: args.Limit, Sent: n}
	w, r, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return e, err
	}
	defer w.Close()
	a, err := actor.Prepare(ctx, "hoarder", args, r)
	if err != nil {
		return e, err
	}
	defer a.Dismiss()
	if err := actor.Park(w); err != nil {
		return e, err
	}
	if err := a.Start(); err != nil {
		return e, err
	}
	sent := make(chan error, 1)
	go func() { sent <- flood(w, n, last) }()
	var got Hoard
	if err := a.Report(&got); err != nil {
		return e, err
	}
	if err := <-sent; err != nil && !errors.Is(err, syscall.EPIPE) {
		return e, err
	}
	e.Read, e.Held, e.Error = got.Read, got.Held, got.Error
	e.Detected = got.Error != "" && got.Read < n // an error that comes with the end holds nothing back
	return e, nil
}

// flood writes n bytes of no newline, then last, then closes.
func flood(w *syspipe.End, n int64, last []byte) error {
	p := letters(1 << 20)
	for n > 0 {
		k, err := w.Write(p[:min(n, int64(len(p)))])
		if err != nil {
			return err
		}
		n -= int64(k)
	}
	if _, err := w.Write(last); err != nil {
		return err
	}
	return w.Close()
}

// playHoarder reads one message, and reports what it held for that.
func playHoarder(s *actor.Stage) error {
	var args hoarderArgs
	if err := s.Args(&args); err != nil {
		return err
	}
	f, err := framers.Parse(args.Framing)
	if err != nil {
		return err
	}
	r := s.Ends[0]
	if err := actor.Park(r); err != nil {
		return err
	}
	before := fromSystem()
	in := f.NewReader(r, framers.WithMaxMessage(args.Limit), framers.WithPolicy(args.Policy))
	var got Hoard
	msg, err := in.ReadMessage()
	got.Read = int64(r.Counters().Bytes)
	if err != nil {
		got.Error = err.Error()
	}
	for args.Policy == framers.Resync && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		msg, err = in.ReadMessage() // skips the rest of the line
	}
	got.Held = fromSystem() - before
	runtime.KeepAlive(msg)
	r.Close()
	return s.Report(got)
}

// fromSystem is how much memory the process has got from the system, in bytes.
func fromSystem() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
