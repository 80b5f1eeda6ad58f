package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

const limit = 16_777_216 // the default, in digits

func zeros(n int) []byte { return append(make([]byte, n), '\n') }

// Seed 001, unit tests and table of state transitions with oversized frames, row by row.

func TestOversizedWhileStarting(t *testing.T) {
	// There are no frames yet: a process that writes before it is talked to has its bytes read
	// after the start.
	if got, listed := machine[Starting][oversized]; listed {
		t.Errorf("got %v, want it dropped", got)
	}
}

func TestOversizedWhileInitializing(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.server()
	s.reach(Initializing)
	call := s.goCall(context.Background(), "tools/list", nil)
	go srv.raw(zeros(limit + 1))
	s.reach(Backoff)
	if s.c.snapshot().violations != 1 {
		t.Errorf("got %+v, want one violation", s.c.snapshot())
	}
	s.clock.fire()
	go srv.leave()
	next := s.readyServer()
	next.result(next.recv().ID, `"served by the next server"`)
	if got, err := call.wait(t); got != `"served by the next server"` || err != nil {
		t.Errorf("a call that waited: got %s, %v", got, err)
	}
}

// TestOversizedWhileReady is the seed's "closes connection on oversized frame" and its integration
// test "in-flight requests fail when oversized frame closes connection".
func TestOversizedWhileReady(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	calls := []pending{s.goCall(context.Background(), "a", nil), s.goCall(context.Background(), "b", nil)}
	srv.recv()
	srv.recv()
	go srv.raw(zeros(17_000_000))
	_, err := calls[0].wait(t)
	first := lost(t, err, ReasonOversized)
	_, err = calls[1].wait(t)
	if second := lost(t, err, ReasonOversized); first != second {
		t.Error("two errors, want one for all requests in flight")
	}
	var size *FrameError
	if !errors.As(err, &size) || size.Limit != limit || size.Size <= limit {
		t.Errorf("got %v, want the size and the limit", err)
	}
	s.reach(Backoff)
	told := <-s.events
	want := Violation{FrameSize: size.Size, Max: limit, Reason: "oversized_frame"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(Violation{17_000_000, limit, ReasonOversized}); string(text) != `{"frame_size":17000000,"max":16777216,"reason":"oversized_frame"}` {
		t.Errorf("event is %s", text)
	}
	firstLine := fmt.Sprintf("Frame size exceeds limit: %d bytes (max: 16777216)", size.Size)
	for _, line := range []string{firstLine, "Closing connection due to protocol violation."} {
		if !strings.Contains(s.logs.String(), line) {
			t.Errorf("log is %s, want %s", s.logs, line)
		}
	}
}

// An oversized line is reported with the bytes that have come so far, not with the limit plus one,
// and an agreed limit refuses the line before it is whole.
func TestOversizedTellsWhatHasCome(t *testing.T) {
	for _, row := range []struct {
		name string
		opts Options
	}{
		{"own limit", Options{MaxMessage: 4000}},
		{"agreed limit", Options{MaxMessage: 1 << 20, Policy: Negotiate}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newFixture(t, row.opts)
			srv := s.server()
			srv.welcome(`{"experimental":{"maxFrameSize":4000}}`)
			s.reach(Ready)
			srv.raw(bytes.Repeat([]byte("x"), 30_000)) // and no newline
			if v := <-s.events; v.Max != 4000 || v.FrameSize <= 4001 || v.FrameSize > 30_000 {
				t.Errorf("got %+v, want what came of 30,000 bytes", v)
			}
		})
	}
}

func TestOversizedWhileBackoff(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	s.c.mu.Lock()
	old := s.c.link
	s.c.mu.Unlock()
	srv.exit()
	s.reach(Backoff)
	s.c.dispatch(old, oversized, eventData{err: &TransportError{Err: &FrameError{}}})
	if st := s.c.snapshot(); st.violations != 0 || s.c.State() != Backoff {
		t.Errorf("got %+v in %v, want the frame dropped", st, s.c.State())
	}
}

func TestOversizedWhileClosing(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	closed := make(chan struct{})
	go func() { s.c.Close(); close(closed) }()
	s.reach(Closing)
	srv.raw(zeros(limit + 1))
	srv.leave()
	<-closed
	if st := s.c.snapshot(); st.violations != 0 || s.c.State() != Closing {
		t.Errorf("got %+v in %v, want the frame dropped", st, s.c.State())
	}
}

// TestOversizedByDeclaration: what a header says is enough, and nothing is held for it.
func TestOversizedByDeclaration(t *testing.T) {
	for _, declared := range []int64{100 << 20, 1 << 30, 12 << 30} {
		t.Run(fmt.Sprint(declared), func(t *testing.T) {
			s := newFixture(t, Options{Framing: framers.ContentLength()})
			srv := s.readyServer()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			srv.raw(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n{", declared))
			if v := <-s.events; v.FrameSize != declared || v.Max != limit {
				t.Errorf("got %+v, want what was declared", v)
			}
			runtime.ReadMemStats(&after)
			if held := after.TotalAlloc - before.TotalAlloc; held > limit {
				t.Errorf("%d bytes were taken for it", held)
			}
		})
	}
}

// TestOversizedErrorByDeclaration: the id is found in what has come of a frame whose header says
// too much.
func TestOversizedErrorByDeclaration(t *testing.T) {
	s := newFixture(t, Options{Framing: framers.ContentLength(), Policy: ErrorOnOversize, MaxMessage: 4000})
	srv := s.readyServer()
	culprit := s.goCall(context.Background(), "culprit", nil)
	frame := jsonrpc.AppendResult(nil, srv.recv().ID, bytes.Repeat([]byte("1"), 5000))
	go func() { _ = srv.try(frame) }()
	_, err := culprit.wait(t)
	var size *FrameError
	var transport *TransportError
	if !errors.As(err, &size) || size.Size != int64(len(frame)) || errors.As(err, &transport) {
		t.Errorf("got %v, want a FrameError of %d bytes", err, len(frame))
	}
	srv.recv() // the complaint
	s.reach(Backoff)
}

// TestAcceptsFrameAtLimit is the seed's test of that name: it is no JSON, which is another matter.
func TestAcceptsFrameAtLimit(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	srv.raw(zeros(limit))
	call := s.goCall(context.Background(), "still there?", nil)
	srv.result(srv.recv().ID, `true`)
	if got, err := call.wait(t); got != "true" || err != nil {
		t.Errorf("got %s, %v, want an answer", got, err)
	}
	if st := s.c.snapshot(); st.noise != 1 || st.violations != 0 || s.c.State() != Ready {
		t.Errorf("got %+v in %v, want one malformed frame and no violation", st, s.c.State())
	}
}

func TestLateRepliesFindTombstones(t *testing.T) {
	s := newFixture(t, Options{MaxMessage: 1000})
	srv := s.readyServer()
	call := s.goCall(context.Background(), "lost", nil)
	id := srv.recv().ID
	go srv.raw(zeros(1001))
	_, err := call.wait(t)
	lost(t, err, ReasonOversized)
	s.reach(Backoff)
	s.clock.fire()
	go srv.leave()
	next := s.readyServer()
	next.result(id, `"late"`)
	next.result(jsonrpc.Number(1<<40), `"nobody asked"`)
	next.result(`"x"`, `"nobody asked"`)
	s.eventually("a late reply", func(st snapshot) bool { return st.late == 1 && st.strays == 2 })
}

// The four options that the seed considers.

func TestPolicyUnlimited(t *testing.T) {
	s := newFixture(t, Options{MaxMessage: -1})
	srv := s.readyServer()
	call := s.goCall(context.Background(), "large", nil)
	id := srv.recv().ID
	text := `"` + strings.Repeat("x", limit+1) + `"`
	go srv.result(id, text)
	if got, err := call.wait(t); got != text || err != nil {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(text))
	}
}

func TestPolicyError(t *testing.T) {
	tests := []struct {
		name  string
		frame func(id jsonrpc.ID) []byte
		known bool
	}{
		{"id in the first KiB", func(id jsonrpc.ID) []byte {
			return jsonrpc.AppendResult(nil, id, bytes.Repeat([]byte("1"), 5000))
		}, true},
		{"id later", func(id jsonrpc.ID) []byte {
			return []byte(`{"jsonrpc":"2.0","result":"` + strings.Repeat("x", 5000) + `","id":` + string(id) + `}`)
		}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newFixture(t, Options{Policy: ErrorOnOversize, MaxMessage: 4000})
			srv := s.readyServer()
			culprit := s.goCall(context.Background(), "culprit", nil)
			id := srv.recv().ID
			bystander := s.goCall(context.Background(), "bystander", nil)
			srv.recv()
			go srv.raw(append(test.frame(id), '\n'))
			complaint := srv.recv()
			if want := map[bool]jsonrpc.ID{true: id, false: ""}[test.known]; complaint.ID != want {
				t.Errorf("the server was told of id %q, want %q", complaint.ID, want)
			}
			if e := jsonrpc.ParseError(complaint.Failure); e.Code != jsonrpc.CodeInvalidRequest {
				t.Errorf("the server was told %v", e)
			}
			_, err := culprit.wait(t)
			var transport *TransportError
			if own := !errors.As(err, &transport); own != test.known {
				t.Errorf("the request of the frame got %v", err)
			}
			_, err = bystander.wait(t)
			lost(t, err, ReasonOversized)
			s.reach(Backoff)
		})
	}
}

func TestPolicyNegotiate(t *testing.T) {
	tests := []struct {
		name, capabilities string
		agreed             int
	}{
		{"the server's is smaller", `{"experimental":{"maxFrameSize":3000}}`, 3000},
		{"ours is smaller", `{"experimental":{"maxFrameSize":8388608}}`, 4000},
		{"no key: ours", `{"tools":{}}`, 4000},
		{"no number: ours", `{"experimental":{"maxFrameSize":{}}}`, 4000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newFixture(t, Options{Policy: Negotiate, MaxMessage: 4000})
			srv := s.server()
			asked := srv.welcome(test.capabilities)
			if !strings.Contains(string(asked.Params), `"experimental":{"maxFrameSize":4000}`) {
				t.Errorf("asked %s, want our own limit in it", asked.Params)
			}
			s.reach(Ready)
			srv.raw(zeros(test.agreed))
			s.eventually("a frame of the limit", func(st snapshot) bool { return st.noise == 1 })
			var size *FrameError
			if _, err := s.c.Call(context.Background(), "m", strings.Repeat("x", test.agreed)); !errors.As(err, &size) || size.Limit != int64(test.agreed) {
				t.Errorf("a request beyond the limit: got %v, want a FrameError", err)
			}
			srv.raw(zeros(test.agreed + 1))
			if v := <-s.events; v.Max != int64(test.agreed) {
				t.Errorf("got %+v, want a limit of %d", v, test.agreed)
			}
		})
	}
}
