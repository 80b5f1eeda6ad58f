package target

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/target/envelope"
)

// A Recorded is a request that once passed between a client and a server.
type Recorded struct {
	Body []byte // the message; nil where the recording kept none
	Size int    // of the message, in bytes
}

// ReadRecording reads what tap recorded, or a file of messages, one a line. Only what the client said is kept, and not the handshake, which
// the driver makes itself.
func ReadRecording(path string) ([]Recorded, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	defer f.Close()
	var out []Recorded
	r := bufio.NewReaderSize(f, 1<<20)
	for err == nil {
		var line []byte
		line, err = r.ReadBytes('\n')
		if m, ok := recorded(bytes.TrimSpace(line)); ok {
			out = append(out, m)
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("recording %s: %w", path, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("recording %s: no request in it that could be sent again", path)
	}
	return out, nil
}

// recorded reads one line: of a recording, or a message as it is.
func recorded(line []byte) (Recorded, bool) {
	var m struct {
		results.Message
		Schema *int `json:"schema"`
	}
	if json.Unmarshal(line, &m) != nil || m.Kind == "" {
		return Recorded{line, len(line)}, len(line) > 0 && !handshake(string(envelope.Of(line).Method))
	}
	if m.Kind != results.KindMessage || m.Dir != "request" || handshake(m.Method) || m.Method == "" && len(m.ID) > 0 {
		return Recorded{}, false // of another kind, the server's, the handshake's, or an answer to the server
	}
	r := Recorded{Size: int(m.Size)}
	if m.Body != "" {
		r.Body = []byte(m.Body)
	}
	return r, true
}

// handshake reports whether a method opens or ends a session.
func handshake(method string) bool {
	return slices.Contains([]string{"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit"}, method)
}

// Replay sends what was recorded, in order, each request after the answer to the one before, and keeps one record. A request of which the
// recording has the size alone is made of exactly that size.
func (d *Driver) Replay(ctx context.Context, recording []Recorded, keep Keep) error {
	t := d.record()
	d.pipes(&t)
	t.Verdict = string(OK)
	var times []int64
	var total, bytes, largest int64
	c, err := d.live(ctx)
	if err != nil {
		return err
	}
	before := c.account()
	for i, m := range recording {
		out, answered, err := d.again(ctx, m, int64(i+1))
		if err != nil {
			return err
		}
		if out.verdict != OK {
			f := d.failed(m.Size, out)
			t.Verdict = f.Verdict
			add(&t, f.Evidence)
			t.Evidence["failed_at_message"] = i + 1
			break
		}
		bytes, largest = bytes+int64(m.Size), max(largest, int64(m.Size))
		if answered {
			times, total = append(times, int64(out.took)), total+int64(out.took)
		}
	}
	add(&t, map[string]any{"replayed": len(recording), "answered": len(times), "largest_bytes": largest})
	if len(times) > 0 && t.Verdict == string(OK) {
		latency, err := results.NewLatency(times)
		if err != nil {
			return err
		}
		s := c.sample(before)
		s.ElapsedNS, s.Messages, s.PayloadBytes = total, int64(len(times)), bytes
		s.Latency = map[string]results.Latency{"roundtrip": latency}
		t.Samples = append(t.Samples, s)
	}
	return keep(t)
}

// again sends one recorded message.
func (d *Driver) again(ctx context.Context, m Recorded, i int64) (out outcome, answered bool, err error) {
	if m.Body == nil {
		s, err := d.request(askTool, m.Size)
		if least, small := leastOf(err); small {
			s, err = d.request(askTool, least)
		}
		if err != nil {
			return out, false, err
		}
		out, err = d.trip(ctx, s, i)
		return out, true, err
	}
	s := verbatim(m.Body)
	if d.dialect.answer() == nil {
		s.echoes = false
	} else if s.wants == nil {
		c, err := d.live(ctx)
		if err != nil {
			return out, false, err
		}
		return outcome{verdict: OK}, false, c.send(m.Body)
	}
	out, err = d.trip(ctx, s, i)
	return out, true, err
}

// verbatim is a message as it was recorded: its id is its own, and an error may be what it deserves.
func verbatim(body []byte) *shape {
	s := &shape{msg: body, id: -1, to: len(body), fixed: true, errs: true}
	if e := envelope.Of(body); e.Kind() == envelope.Request {
		s.wants = e.ID
	}
	return s
}
