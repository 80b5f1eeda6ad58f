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

// handshakeMethods open or end a session.
var handshakeMethods = []string{
	"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit",
}

// requestsIn returns the messages of a recording that the client said, without the handshake, which
// the driver makes itself.
func requestsIn(recording []payload.Message) []payload.Message {
	var out []payload.Message
	for _, m := range recording {
		method, answers := m.Method, m.Method == "" && len(m.ID) > 0
		if m.Body != nil {
			e := jsonrpc.Scan(m.Body)
			method, answers = string(e.Method), e.Kind().Answers()
		}
		if m.Dir != "reply" && !answers && !slices.Contains(handshakeMethods, method) {
			out = append(out, m)
		}
	}
	return out
}

// Replay sends what the client of a recording said, in order, each request after the answer to the
// one before, and keeps one record. A message of which the recording has the size alone is made of
// exactly that size.
func (d *Driver) Replay(ctx context.Context, recording []payload.Message, sink Sink) error {
	recording = requestsIn(recording)
	if len(recording) == 0 {
		return errors.New("replay: no request in the recording that could be sent again")
	}
	t := d.record()
	c, err := d.live(ctx)
	if err != nil {
		return err
	}
	before := c.account()
	replay := &results.ReplayEvidence{Replayed: len(recording)}
	var times []int64 // of the requests that were answered, in ns
	var total, bytes int64
	for i, m := range recording {
		out, err := d.replayMessage(ctx, m, int64(i+1))
		if err == nil && out.verdict == OK && i == len(recording)-1 {
			err = d.checkAlive(ctx, &out)
		}
		if err != nil {
			return err
		}
		if out.verdict != OK {
			setFailure(&t, out)
			replay.FailedAtMessage = i + 1
			break
		}
		bytes, replay.LargestBytes = bytes+int64(m.Size), max(replay.LargestBytes, m.Size)
		if out.took > 0 {
			times, total = append(times, int64(out.took)), total+int64(out.took)
		}
	}
	replay.Answered = len(times)
	t.Evidence.ReplayEvidence = replay
	if len(times) > 0 && replay.FailedAtMessage == 0 {
		latency, err := results.NewLatency(times)
		if err != nil {
			return err
		}
		s := c.sample(before)
		s.ElapsedNS, s.Messages, s.PayloadBytes = total, int64(len(times)), bytes
		s.Latency = map[string]results.Latency{latencyRoundtrip: latency}
		t.Samples = append(t.Samples, s)
	}
	return sink(t)
}

// replayMessage sends one recorded message. What nobody answers takes no time.
func (d *Driver) replayMessage(ctx context.Context, m payload.Message, i int64) (outcome, error) {
	notification := m.Body
	var t *requestTemplate
	switch {
	case m.Body == nil && m.Method != "" && len(m.ID) == 0:
		notification = paddedNotification(m.Size)
	case m.Body == nil:
		var err error
		if t, err = d.fitting(toolRequest, m.Size); err != nil {
			return outcome{}, err
		}
	default: // its id is its own, and an error may be what it deserves
		t = &requestTemplate{msg: m.Body, id: -1, to: len(m.Body), fixed: true, errs: true}
		if e := jsonrpc.Scan(m.Body); e.Kind() == jsonrpc.Request {
			t.wants = e.ID
		} else if d.protocol.about().jsonRPC {
			t = nil
		}
	}
	if t != nil {
		return d.roundTrip(ctx, t, i)
	}
	c, err := d.live(ctx)
	if err != nil {
		return outcome{}, err
	}
	d.notify(c, notification)
	return outcome{verdict: OK}, nil
}

// paddedNotification makes a notification of exactly size bytes, or the smallest. Both protocols
// have those that are not known ignored.
func paddedNotification(size int) []byte {
	const before, after = `{"jsonrpc":"2.0","method":"$/pipebench","params":{"pad":"`, `"}}`
	return slices.Concat([]byte(before), bytes.Repeat([]byte{'x'}, max(size-len(before)-len(after), 0)), []byte(after))
}
