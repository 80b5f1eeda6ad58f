package claims

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A session is one run: evidence that several claims rest on is gathered once in it.
type session struct {
	Options
	keep func(results.Line) error
	step func(what string)

	gathered map[string]any // what gives the results of [once], by what was done
}

// once does what its name says in a run and returns the same evidence from then on. A failure is not
// tried again.
func once[E any](s *session, what string, gather func() E) E {
	if s.gathered[what] == nil {
		s.step(what)
		evidence, err := script.Of(gather)
		s.gathered[what] = func() E { return script.Must(evidence, err) }
	}
	return s.gathered[what].(func() E)()
}

// faults runs a scenario and returns its fault records.
func (s *session) faults(ctx context.Context, name string) []results.Fault {
	return once(s, "scenario "+name, func() (out []results.Fault) {
		scenario := script.Must(faults.Find(name))
		script.Check(scenario.Run(ctx, faults.Options{Run: s.Run, Seed: s.Seed}, func(line results.Line) error {
			if f, ok := line.(results.Fault); ok {
				out = append(out, f)
			}
			return s.keep(line)
		}))
		return out
	})
}

// decodeFault reads the evidence of one fault of a scenario.
func decodeFault[E any](all []results.Fault, id string) (e E) {
	i := slices.IndexFunc(all, func(f results.Fault) bool { return f.ID == id })
	if i < 0 {
		script.Check(fmt.Errorf("scenario has no fault %s", id))
	}
	script.Check(all[i].Evidence.Decode(&e))
	return e
}

// measure runs a plan, and returns its records.
func (s *session) measure(ctx context.Context, p bench.Plan) []results.Record {
	return faults.Options{Run: s.Run, Seed: s.Seed, Observe: s.step}.Measure(ctx, p, s.keep)
}

// What framings are compared with: messages below the chunk size, about it, and well above; samples
// of each, and how long one lasts; and the messages that say something of how a reader's cost
// grows. Sizes are in bytes.
var (
	streamSizes = []int{4000, 65_000, 1_000_000}
	tripSizes   = []int{256, 4 << 10, 32 << 10}

	costSamples    = 18
	costDuration   = 25 * time.Millisecond
	growthFrom     = 256 << 10
	growthTo       = 4 << 20
	growthDuration = 15 * time.Millisecond
)

// Sizes of the large messages that experiments send, in bytes.
var (
	anySize             = 64 << 20
	memorySizes         = []int{4 << 20, 16 << 20, 64 << 20}
	oversized           = 64 << 20
	allocated     int64 = 100 << 20
	unendingBytes int64 = 16 << 20
)

// compared are the framings whose cost is compared: nothing but the bytes, which is what a framing
// costs against; chunks as printed; the sender that chunks large messages alone; and lines.
var compared = []string{baseline, "ndjson", "chunked:61440", "adaptive:61440"}

// baseline is what costs are held against: the same bytes without a framing. Payloads begin at
// offsets that are drawn, so that none lies in the slow zone of copies in every sample.
const baseline = "raw"

// costs measures framings beside each other, streams and round trips, samples of all cells
// interleaved.
func (s *session) costs(ctx context.Context) []results.Record {
	places := script.Must(placement.Read()).Best()
	p := bench.Plan{Samples: costSamples, Duration: costDuration}
	cell := results.Cell{Pipe: string(syspipe.Anonymous), IO: "blocking", Payload: "json"}
	for _, cell.Framing = range compared {
		cell.Pattern = "stream"
		for _, cell.Placement = range places {
			for _, cell.Size = range streamSizes {
				p.Cells = append(p.Cells, cell)
			}
		}
		cell.Pattern, cell.Placement = "roundtrip", places[0]
		for _, cell.Size = range tripSizes {
			p.Cells = append(p.Cells, cell)
		}
	}
	return once(s, "framings beside each other", func() []results.Record { return s.measure(ctx, p) })
}

// readersGrowth measures readers of lines with messages of growing size.
func (s *session) readersGrowth(ctx context.Context) []results.Record {
	return once(s, "readers of growing lines", func() []results.Record {
		p := faults.GrowthPlan(growthFrom, growthTo)
		p.Duration = growthDuration
		return s.measure(ctx, p)
	})
}

// stallAfter is how long a write may wait before it counts as stalled: nobody reads, so nothing can
// end the wait.
const stallAfter = 150 * time.Millisecond

// A Stall is what became of writing where nobody reads.
type Stall struct {
	Offered  int64  `json:"offered"`  // bytes
	Accepted int64  `json:"accepted"` // by the kernel
	Stalled  bool   `json:"stalled"`  // the write was still waiting when it was given up
	Short    uint64 `json:"short"`    // calls that took only part
	EAGAIN   uint64 `json:"eagain"`   // calls that were refused for now
	Error    string `json:"error,omitempty"`
}

// writeUnread writes to a pipe that nobody reads, and gives up when that waits.
func writeUnread(wait syspipe.IO, offered int64, write func(io.Writer) error) Stall {
	s := Stall{Offered: offered}
	w, _, closeBoth := faults.Open(syspipe.Anonymous)
	defer closeBoth()
	if wait == syspipe.Poller {
		faults.UsePoller(w)
	} else {
		script.Check(w.SetIO(wait))
	}
	timer := time.AfterFunc(stallAfter, func() { w.Close() })
	err := write(w)
	timer.Stop()
	if s.Stalled = errors.Is(err, os.ErrClosed); !s.Stalled {
		s.Error = faults.ErrorText(err)
	}
	c := w.Counters()
	s.Accepted, s.Short, s.EAGAIN = int64(c.Bytes), c.Short, c.EAGAIN
	return s
}

// writeBytes is a plain write of n bytes.
func writeBytes(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(make([]byte, n))
		return err
	}
}

// sending writes messages in one framing.
func sending(f framers.Framing, messages ...[]byte) func(io.Writer) error {
	return func(w io.Writer) error {
		out := f.NewWriter(w)
		for _, msg := range messages {
			if err := out.WriteMessage(msg); err != nil {
				return err
			}
		}
		return nil
	}
}

// exchange sends messages through a pipe in one framing, and gives what arrives to receive.
func exchange(f framers.Framing, messages [][]byte, receive func(framers.Reader), opts ...framers.Option) {
	faults.Through(sending(f, messages...), func(r io.Reader) { receive(f.NewReader(r, opts...)) })
}

// shareOf measures what something takes beside sending and receiving a message, in turns; times are
// in nanoseconds.
func shareOf(msg []byte, measure func() float64) (own, message, share stat.Estimate) {
	var all [3][]float64
	messages := slices.Repeat([][]byte{msg}, 500)
	for range stat.LeastSamples {
		ns := measure()
		began := time.Now()
		exchange(framers.NDJSON(), messages, func(r framers.Reader) {
			for range messages {
				script.Must(r.ReadMessage())
			}
		})
		each := float64(time.Since(began)) / float64(len(messages))
		all[0], all[1], all[2] = append(all[0], ns), append(all[1], each), append(all[2], ns/each)
	}
	return stat.Median(all[0]), stat.Median(all[1]), stat.Median(all[2])
}

// message is JSON of exactly n bytes, 34 at least.
func message(n int) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":1,"text":"`, `"}`
	p := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), n/26+1)[:max(n, len(head)+len(tail))]
	copy(p, head)
	copy(p[len(p)-len(tail):], tail)
	return p
}
