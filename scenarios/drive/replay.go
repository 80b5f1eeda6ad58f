package drive

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// requestsIn are the messages of a recording that the client said, without the handshake, which the driver makes itself.
func requestsIn(recording []payload.Message) []payload.Message {
	var out []payload.Message
	for _, m := range recording {
		method, answers := m.Method, m.Method == "" && len(m.ID) > 0
		if m.Body != nil {
			e := jsonrpc.Scan(m.Body)
			method, answers = string(e.Method), e.Kind().Answers()
		}
		if m.Dir != "reply" && !answers && !handshake(method) {
			out = append(out, m)
		}
	}
	return out
}

// handshake reports whether a method opens or ends a session.
func handshake(method string) bool {
	return slices.Contains([]string{"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit"}, method)
}

// Replay sends what the client of a recording said, in order, each request after the answer to the one before, and keeps one record. A message
// of which the recording has the size alone is made of exactly that size.
func (d *Driver) Replay(ctx context.Context, recording []payload.Message, keep Keep) error {
	recording = requestsIn(recording)
	if len(recording) == 0 {
		return errors.New("replay: no request in the recording that could be sent again")
	}
	t := d.record()
	d.pipes(&t)
	t.Verdict = string(OK)
	c, err := d.live(ctx)
	if err != nil {
		return err
	}
	before := c.account()
	var r replayed
	for i, m := range recording {
		out, err := d.again(ctx, m, int64(i+1))
		if err == nil && out.verdict == OK && i == len(recording)-1 {
			err = d.outlived(ctx, &out)
		}
		if err != nil {
			return err
		}
		if out.verdict != OK {
			f := d.failed(m.Size, out)
			t.Verdict = f.Verdict
			add(&t, f.Evidence)
			add(&t, map[string]any{"failed_at_message": i + 1})
			break
		}
		r.take(m, out)
	}
	add(&t, map[string]any{"replayed": len(recording), "answered": len(r.times), "largest_bytes": r.largest})
	if len(r.times) > 0 && t.Verdict == string(OK) {
		s := c.sample(before)
		if err := r.sum(&s); err != nil {
			return err
		}
		t.Samples = append(t.Samples, s)
	}
	return keep(t)
}

// replayed is what came of the messages of a recording so far.
type replayed struct {
	times                 []int64 // of the requests that were answered, in ns
	total, bytes, largest int64
}

func (r *replayed) take(m payload.Message, out outcome) {
	r.bytes, r.largest = r.bytes+int64(m.Size), max(r.largest, int64(m.Size))
	if out.took > 0 {
		r.times, r.total = append(r.times, int64(out.took)), r.total+int64(out.took)
	}
}

// sum puts the figures into a sample.
func (r *replayed) sum(s *results.Sample) error {
	latency, err := results.NewLatency(r.times)
	s.ElapsedNS, s.Messages, s.PayloadBytes = r.total, int64(len(r.times)), r.bytes
	s.Latency = map[string]results.Latency{"roundtrip": latency}
	return err
}

// again sends one recorded message. What nobody answers takes no time.
func (d *Driver) again(ctx context.Context, m payload.Message, i int64) (outcome, error) {
	switch {
	case m.Body == nil && m.Method != "" && len(m.ID) == 0:
		return d.tell(ctx, notice(m.Size))
	case m.Body == nil:
		return d.alike(ctx, m.Size, i)
	}
	s := verbatim(m.Body)
	if d.dialect.answer() != nil && s.wants == nil {
		return d.tell(ctx, m.Body)
	}
	return d.trip(ctx, s, i)
}

// alike sends a request of a size, or the smallest.
func (d *Driver) alike(ctx context.Context, size int, i int64) (outcome, error) {
	s, err := d.fitting(askTool, size)
	if err != nil {
		return outcome{}, err
	}
	return d.trip(ctx, s, i)
}

// tell sends a message that nobody answers. A server that does not take it fails the next request, too.
func (d *Driver) tell(ctx context.Context, msg []byte) (outcome, error) {
	c, err := d.live(ctx)
	if err != nil {
		return outcome{}, err
	}
	stuck := c.watch(d.deadline(len(msg)))
	_ = c.send(msg)
	stuck.end(state{})
	return outcome{verdict: OK}, nil
}

// notice is a notification of exactly size bytes, or the smallest. Both protocols have those that are not known ignored.
func notice(size int) []byte {
	const before, after = `{"jsonrpc":"2.0","method":"$/pipebench","params":{"pad":"`, `"}}`
	return slices.Concat([]byte(before), bytes.Repeat([]byte{'x'}, max(size-len(before)-len(after), 0)), []byte(after))
}

// verbatim is a message as it was recorded: its id is its own, and an error may be what it deserves.
func verbatim(body []byte) *shape {
	s := &shape{msg: body, id: -1, to: len(body), fixed: true, errs: true}
	if e := jsonrpc.Scan(body); e.Kind() == jsonrpc.Request {
		s.wants = e.ID
	}
	return s
}
