package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// Seed 002, implementation details, row by row: here, in child_test.go and in converse_test.go.

func TestAnswersInAnyOrder(t *testing.T) { // "Async message handling prevents blocking"
	s := newFixture(t, Options{})
	srv := s.readyServer()
	const calls = 100
	var pendings []pending
	for i := range calls {
		pendings = append(pendings, s.goCall(context.Background(), fmt.Sprint(i), nil))
	}
	asked := make([]jsonrpc.Message, calls)
	for i := range asked {
		asked[i] = srv.recv()
	}
	if n := s.c.snapshot().inFlight; n != calls {
		t.Errorf("%d in flight, want %d", n, calls)
	}
	go func() {
		for i := range asked {
			m := asked[(i*37+11)%calls] // a permutation
			srv.result(m.ID, m.Method)
		}
	}()
	for i, p := range pendings {
		if got, err := p.wait(t); got != fmt.Sprint(i) || err != nil {
			t.Errorf("call %d: got %s, %v", i, got, err)
		}
	}
}

func TestRemoteErrorIsTyped(t *testing.T) { // "Tool execution errors returned as proper JSON-RPC errors"
	s := newFixture(t, Options{})
	srv := s.readyServer()
	call := s.goCall(context.Background(), "m", nil)
	srv.send(`{"jsonrpc":"2.0","id":` + string(srv.recv().ID) + `,"error":{"code":-32000,"message":"no","data":{"why":[1]}}}`)
	_, err := call.wait(t)
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != -32000 || e.Message != "no" || string(e.Data) != `{"why":[1]}` {
		t.Errorf("got %#v, want the server's error", err)
	}
}

func TestNoiseIsSkippedAndCounted(t *testing.T) { // "Malformed JSON messages logged and skipped"
	s := newFixture(t, Options{MaxNoise: 10})
	srv := s.readyServer()
	noise := []string{"Server running on stdio", `{"level":"info"}`, "[1,2]", "{broken", "\x00\x00", "42", `{"jsonrpc":"1.0"}`}
	for range 5 { // more than the bound in all, less in a row
		for _, line := range noise {
			srv.raw([]byte(line + "\n\n  \r\n"))
		}
		call := s.goCall(context.Background(), "m", nil)
		srv.result(srv.recv().ID, `1`)
		if got, err := call.wait(t); got != "1" || err != nil {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	if n := s.c.snapshot().noise; n != 5*len(noise) {
		t.Errorf("%d lines of noise, want %d", n, 5*len(noise))
	}
	if strings.Contains(s.logs.String(), "broken") {
		t.Errorf("log repeats what the server wrote: %s", s.logs)
	}
}

// A call that ends without its answer says that the line in its place was none.
func TestAnAnswerThatIsCut(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	ctx, cancel := context.WithCancel(t.Context())
	call := s.goCall(ctx, "m", nil)
	srv.raw([]byte(`{"jsonrpc":"2.0","id":` + string(srv.recv().ID) + `,"result":` + "\n"))
	s.eventually("a line that is cut", func(st snapshot) bool { return st.noise == 1 })
	cancel()
	_, err := call.wait(t)
	if !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "the last line that came is no message: ") {
		t.Errorf("got %v", err)
	}
}

func TestNoiseHasABound(t *testing.T) {
	s := newFixture(t, Options{MaxNoise: 3})
	srv := s.readyServer()
	call := s.goCall(context.Background(), "m", nil)
	srv.recv()
	srv.raw([]byte("1\n2\n3\n4\n"))
	_, err := call.wait(t)
	lost(t, err, ReasonNoise)
	s.reach(Backoff)
}

func TestStderrIsDrained(t *testing.T) { // "Server can send logs/errors to stderr"
	var stderr safeBuffer
	s := newFixture(t, Options{Stderr: &stderr})
	srv := s.readyServer()
	srv.err.SetWriteDeadline(time.Now().Add(patience))
	text := strings.Repeat("log\n", 1<<18) // 1 MiB, more than a pipe holds
	if _, err := srv.err.WriteString(text); err != nil {
		t.Fatal(err)
	}
	s.eventually("all of stderr", func(snapshot) bool { return len(stderr.String()) == len(text) })
	if stderr.String() != text {
		t.Error("stderr was altered on the way")
	}
}

func TestDeadlineOfARequest(t *testing.T) { // "timeouts handled gracefully"
	s := newFixture(t, Options{RequestTimeout: time.Millisecond})
	srv := s.readyServer()
	_, err := s.goCall(context.Background(), "slow", nil).wait(t)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want a deadline", err)
	}
	id := srv.recv().ID
	m := srv.recv()
	var p struct{ RequestID json.RawMessage }
	if err := json.Unmarshal(m.Params, &p); m.Method != "notifications/cancelled" || err != nil || string(p.RequestID) != string(id) {
		t.Errorf("the server was told %s %s, want that request %s is cancelled", m.Method, m.Params, id)
	}
	srv.result(id, `"late"`)
	s.eventually("the late answer", func(st snapshot) bool {
		return st.late == 1 && st.inFlight == 0
	})
}

func TestQueueIsBounded(t *testing.T) { // "Message queuing for high-throughput scenarios"
	s := newFixture(t, Options{})
	s.readyServer() // reads no more
	ctx, cancel := context.WithCancel(context.Background())
	big := strings.Repeat("x", 1<<17) // more than a pipe holds
	calls := make([]pending, queueSize+20)
	for i := range calls {
		calls[i] = s.goCall(ctx, "m", big)
	}
	s.eventually("requests in flight", func(st snapshot) bool { return st.inFlight == len(calls) })
	s.c.mu.Lock()
	queued := len(s.c.link.queue)
	s.c.mu.Unlock()
	if most := queueSize + 2; queued > most { // the handshake's places are beside
		t.Errorf("%d messages queued, want at most %d", queued, most)
	}
	cancel()
	for _, c := range calls {
		if _, err := c.wait(t); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want cancelled", err)
		}
	}
}

func TestAHandshakeMayTakeAsLongAsItLikes(t *testing.T) {
	s := newFixture(t, Options{InitTimeout: -1})
	s.readyServer()
	if n := len(s.clock.set); n != 0 {
		t.Errorf("%d timers were set, want none: the handshake has all the time", n)
	}
}

func TestServerThatCrashesIsStartedAgain(t *testing.T) { // "Process crashes trigger reconnection"
	s := newFixture(t, Options{})
	for i, wait := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		srv := s.server()
		if got := <-s.clock.set; got != DefaultInitTimeout {
			t.Fatalf("got a timer of %v, want that of the handshake", got)
		}
		srv.exit()
		if got := <-s.clock.set; got != wait {
			t.Errorf("failure %d: waits %v, want %v", i+1, got, wait)
		}
		s.reach(Backoff)
		s.clock.fire()
	}
	srv := s.readyServer()
	<-s.clock.set
	call := s.goCall(context.Background(), "m", nil)
	srv.recv()
	srv.exit()
	_, err := call.wait(t)
	lost(t, err, ReasonGone)
	if got := <-s.clock.set; got != 100*time.Millisecond {
		t.Errorf("after it was ready: waits %v, want 100ms again", got)
	}
	if n := s.c.snapshot().starts; n != 4 {
		t.Errorf("%d starts, want 4", n)
	}
}

func TestServerThatCannotStart(t *testing.T) {
	c := Open(&fakeLauncher{fail: errors.New("no such program")}, Options{Restarts: -1})
	defer c.Close()
	_, err := c.Call(context.Background(), "m", nil)
	lost(t, err, ReasonStart)
	if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("got %v, want why", err)
	}
}

func TestRestartsAreCounted(t *testing.T) {
	s := newFixture(t, Options{Restarts: 2})
	for range 2 {
		s.server().exit()
		s.reach(Backoff)
		s.clock.fire()
	}
	s.server().exit()
	s.reach(Closing)
	<-s.c.Done()
	if n := s.c.snapshot().starts; n != 3 {
		t.Errorf("%d starts, want 3", n)
	}
}

func TestHandshakeIsRefused(t *testing.T) {
	tests := []struct{ name, answer, why string }{
		{"error", `"error":{"code":-32603,"message":"not today"}`, "not today"},
		{"version", `"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`, "1999-01-01"},
		{"form", `"result":[1]`, "another form"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newFixture(t, Options{Restarts: -1})
			srv := s.server()
			srv.send(`{"jsonrpc":"2.0","id":` + string(srv.recv().ID) + `,` + test.answer + `}`)
			err := s.c.Wait(context.Background())
			for errors.Is(err, context.DeadlineExceeded) {
				err = s.c.Wait(context.Background())
			}
			lost(t, err, ReasonHandshake)
			if !strings.Contains(err.Error(), test.why) {
				t.Errorf("got %v, want %s in it", err, test.why)
			}
		})
	}
}

func TestHandshakeHasATime(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.server()
	srv.recv()
	s.clock.fire()
	s.reach(Backoff)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	lost(t, s.c.Wait(ctx), ReasonHandshake)
	go srv.leave()
	s.clock.fire()
	s.readyServer()
}

func TestServerAsks(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	srv.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
	if m := srv.recv(); m.ID != `"p"` || string(m.Result) != "{}" {
		t.Errorf("ping: got %+v", m)
	}
	srv.send(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}`)
	if m := srv.recv(); m.ID != "7" || jsonrpc.ParseError(m.Failure).Code != jsonrpc.CodeMethodNotFound {
		t.Errorf("sampling: got %+v", m)
	}
}

func TestNotifications(t *testing.T) {
	got := make(chan string, 1)
	s := newFixture(t, Options{OnNotification: func(method string, params []byte) { got <- method + string(params) }})
	srv := s.readyServer()
	srv.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"a":1}}`)
	if n := <-got; n != `notifications/message{"a":1}` {
		t.Errorf("got %s", n)
	}
	if err := s.c.Notify(context.Background(), "notifications/x", map[string]int{"b": 2}); err != nil {
		t.Fatal(err)
	}
	if m := srv.recv(); m.Method != "notifications/x" || string(m.Params) != `{"b":2}` {
		t.Errorf("the server got %+v", m)
	}
}

// Servers made with the TypeScript SDK drop a message with "params":null.
func TestParamsThatAreNilAreAbsent(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	for _, params := range []any{nil, json.RawMessage(nil), map[string]any(nil), (*struct{})(nil)} {
		call := s.goCall(context.Background(), "m", params)
		m := srv.recv()
		if m.Params != nil {
			t.Errorf("call with %#v: the server got params %s", params, m.Params)
		}
		srv.result(m.ID, "1")
		if _, err := call.wait(t); err != nil {
			t.Error(err)
		}
		if err := s.c.Notify(context.Background(), "notifications/x", params); err != nil {
			t.Fatal(err)
		}
		if m := srv.recv(); m.Params != nil {
			t.Errorf("notification with %#v: the server got params %s", params, m.Params)
		}
	}
	call := s.goCall(context.Background(), "m", json.RawMessage("null")) // which says so itself
	m := srv.recv()
	if string(m.Params) != "null" {
		t.Errorf("the server got params %q, want null", m.Params)
	}
	srv.result(m.ID, "1")
	if _, err := call.wait(t); err != nil {
		t.Error(err)
	}
}

func TestEveryFraming(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "chunked:512", "adaptive:512"} {
		t.Run(spec, func(t *testing.T) {
			f, err := framers.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			s := newFixture(t, Options{Framing: f, MaxMessage: 200_000})
			srv := s.readyServer()
			text := `"` + strings.Repeat("x", 100_000) + `"`
			call := s.goCall(context.Background(), "m", json.RawMessage(text))
			m := srv.recv()
			if string(m.Params) != text {
				t.Errorf("the server got %d bytes, want %d", len(m.Params), len(text))
			}
			go srv.result(m.ID, text)
			if got, err := call.wait(t); got != text || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			call = s.goCall(context.Background(), "m", nil)
			id := srv.recv().ID
			go func() { srv.try(jsonrpc.AppendResult(nil, id, []byte(`"`+strings.Repeat("x", 200_000)+`"`))) }()
			_, err = call.wait(t)
			lost(t, err, ReasonOversized)
		})
	}
}

func TestHeaderThatMakesNoSense(t *testing.T) {
	s := newFixture(t, Options{Framing: framers.ContentLength()})
	srv := s.readyServer()
	srv.raw([]byte("starting the server\r\n\r\n"))
	call := s.goCall(context.Background(), "m", nil)
	srv.result(srv.recv().ID, "1")
	if got, err := call.wait(t); got != "1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if n := s.c.snapshot().noise; n == 0 {
		t.Error("the bad header was not counted")
	}
}

func TestCloseFailsWhatIsInFlight(t *testing.T) {
	s := newFixture(t, Options{})
	srv := s.readyServer()
	call := s.goCall(context.Background(), "m", nil)
	srv.recv()
	go srv.leave()
	s.c.Close()
	_, err := call.wait(t)
	lost(t, err, ReasonClosed)
	if _, err := s.c.Call(context.Background(), "m", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
	if err := s.c.Notify(context.Background(), "m", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: got %v, want ErrClosed", err)
	}
}

func TestPool(t *testing.T) { // "Connection pooling for multiple servers"
	a, b := newFixture(t, Options{}), newFixture(t, Options{})
	pool := NewPool(a.c, b.c)
	call := func() pending {
		p := make(pending, 1)
		go func() {
			r, err := pool.Call(context.Background(), "m", nil)
			p <- struct {
				result json.RawMessage
				err    error
			}{r, err}
		}()
		return p
	}
	first := call() // nobody is ready
	srv := b.readyServer()
	srv.result(srv.recv().ID, `"b"`)
	if got, err := first.wait(t); got != `"b"` || err != nil {
		t.Errorf("first ready: got %s, %v", got, err)
	}
	other := a.readyServer()
	x := call()
	a.eventually("one request", func(st snapshot) bool {
		return st.inFlight+b.c.snapshot().inFlight == 1
	})
	y := call()
	a.eventually("one request each", func(st snapshot) bool {
		return st.inFlight == 1 && b.c.snapshot().inFlight == 1
	})
	go func() { m := srv.recv(); srv.result(m.ID, `"b"`) }()
	go func() { m := other.recv(); other.result(m.ID, `"a"`) }()
	for _, p := range []pending{x, y} {
		if _, err := p.wait(t); err != nil {
			t.Errorf("spread: %v", err)
		}
	}
	srv.exit()
	b.reach(Backoff)
	last := call()
	other.result(other.recv().ID, `"a"`)
	if got, err := last.wait(t); got != `"a"` || err != nil {
		t.Errorf("one is lost: got %s, %v", got, err)
	}
}
