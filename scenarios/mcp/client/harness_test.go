package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// patience bounds every wait of these tests; none takes a fraction of it unless something is
// broken.
const patience = 30 * time.Second

// A fakeLauncher is a launcher whose servers are the test itself, behind kernel pipes.
type fakeLauncher struct {
	t       *testing.T
	framing framers.Framing
	servers chan *fakeServer
	fail    error // of Launch
}

// A fakeServer is the far end of a link.
type fakeServer struct {
	t    *testing.T
	in   *os.File // its stdin
	out  *os.File // its stdout
	err  *os.File // its stderr
	r    framers.Reader
	mu   sync.Mutex
	w    framers.Writer
	done chan struct{}
	once sync.Once
}

func (p *fakeLauncher) Launch(f framers.Framing, o child.Options) (*Process, error) {
	if p.fail != nil {
		return nil, p.fail
	}
	var r, w [3]*os.File
	for i := range r {
		var err error
		if r[i], w[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	server := &fakeServer{t: p.t, in: r[0], out: w[1], err: w[2], done: make(chan struct{})}
	server.r = p.framing.NewReader(server.in, framers.WithMaxMessage(-1))
	server.w = p.framing.NewWriter(server.out)
	server.in.SetReadDeadline(time.Now().Add(patience))
	server.out.SetWriteDeadline(time.Now().Add(patience))
	p.servers <- server
	go func() {
		io.Copy(o.Stderr, r[2])
		r[2].Close()
	}()
	return &Process{
		Conn: child.Over(r[1], w[0], f, o), Done: server.done,
		Stop:     server.stop,
		ExitCode: func() int { return 0 },
	}, nil
}

// exit ends the server: its ends of the pipes are closed, as the system does it.
func (s *fakeServer) exit() {
	s.once.Do(func() {
		s.in.Close()
		s.out.Close()
		s.err.Close()
		close(s.done)
	})
}

// stop waits until the server has left, and else makes it exit.
func (s *fakeServer) stop() (forced bool) {
	select {
	case <-s.done:
		return false
	case <-time.After(patience):
		s.exit()
		return true
	}
}

// leave exits when stdin ends, as a server should.
func (s *fakeServer) leave() {
	for {
		if _, err := s.r.ReadMessage(); err != nil {
			s.exit()
			return
		}
	}
}

func (s *fakeServer) recv() jsonrpc.Message {
	s.t.Helper()
	line, err := s.r.ReadMessage()
	if err != nil {
		s.t.Fatalf("server reads: %v", err)
	}
	m, err := jsonrpc.Parse(bytes.Clone(line))
	if err != nil {
		s.t.Fatalf("server reads %q: %v", line, err)
	}
	return m
}

func (s *fakeServer) send(msg string) {
	s.t.Helper()
	if err := s.try([]byte(msg)); err != nil {
		s.t.Fatalf("server writes: %v", err)
	}
}

// try writes a message to a client that may leave meanwhile.
func (s *fakeServer) try(msg []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.WriteMessage(msg)
}

// raw writes bytes as they are. A link that is closed meanwhile is what some tests are about.
func (s *fakeServer) raw(b []byte) { _, _ = s.out.Write(b) }

func (s *fakeServer) result(id jsonrpc.ID, result string) {
	s.t.Helper()
	s.send(string(jsonrpc.AppendResult(nil, id, []byte(result))))
}

// welcome answers the handshake, with capabilities.
func (s *fakeServer) welcome(capabilities string) jsonrpc.Message {
	s.t.Helper()
	m := s.recv()
	if m.Method != "initialize" {
		s.t.Fatalf("got %s, want initialize", m.Method)
	}
	s.result(m.ID, `{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"serverInfo":{"name":"fake","version":"1"}}`)
	if n := s.recv(); n.Method != "notifications/initialized" {
		s.t.Fatalf("got %s, want notifications/initialized", n.Method)
	}
	return m
}

// discovered answers the opening of a client without a handshake.
func (s *fakeServer) discovered(versions string) {
	s.t.Helper()
	m := s.recv()
	if m.Method != "server/discover" {
		s.t.Fatalf("got %s, want server/discover", m.Method)
	}
	s.result(m.ID, `{"supportedVersions":[`+versions+`],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`)
}

// A fixture is a connection to fake servers.
type fixture struct {
	t      *testing.T
	c      *Conn
	p      *fakeLauncher
	clock  *manualClock
	logs   *logBook
	states chan State
	events chan Violation
}

func newFixture(t *testing.T, opts Options) *fixture {
	t.Helper()
	leaktest.Check(t)
	s := &fixture{
		t: t, clock: newManualClock(), logs: newLogBook(),
		states: make(chan State, 1000), events: make(chan Violation, 10),
	}
	if opts.Framing == nil {
		opts.Framing = framers.NDJSON()
	}
	s.p = &fakeLauncher{t: t, framing: opts.Framing, servers: make(chan *fakeServer, 100)}
	opts.AfterFunc = s.clock.AfterFunc
	opts.Random = func() float64 { return 1 }
	opts.Logger = slog.New(s.logs)
	opts.OnState = func(st State) { s.states <- st }
	opts.OnViolation = func(v Violation) { s.events <- v }
	c := Open(s.p, opts)
	s.c = c
	t.Cleanup(func() {
		done := make(chan struct{})
		go func() { c.Close(); close(done) }()
		for {
			select {
			case srv := <-s.p.servers:
				go srv.leave()
				continue
			case <-done:
			case <-time.After(patience):
				t.Errorf("connection does not close; it is %v", c.State())
			}
			break
		}
	})
	return s
}

// server returns the server that was started next. It leaves when the test is over.
func (s *fixture) server() *fakeServer {
	s.t.Helper()
	select {
	case srv := <-s.p.servers:
		s.t.Cleanup(func() { go srv.leave() })
		return srv
	case <-time.After(patience):
		s.t.Fatalf("no server was started; connection is %v", s.c.State())
		return nil
	}
}

// readyServer returns a server that has shaken hands.
func (s *fixture) readyServer() *fakeServer {
	s.t.Helper()
	srv := s.server()
	srv.welcome(`{"tools":{}}`)
	s.reach(Ready)
	return srv
}

// reach waits until the connection gets into a state.
func (s *fixture) reach(want State) {
	s.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case got := <-s.states:
			if got == want {
				return
			}
		case <-timeout:
			s.t.Fatalf("connection is %v and never was %v; log:\n%s", s.c.State(), want, s.logs)
		}
	}
}

// eventually waits until a count of the connection is as wanted.
func (s *fixture) eventually(what string, reached func(snapshot) bool) {
	s.t.Helper()
	deadline := time.Now().Add(patience)
	for !reached(s.c.snapshot()) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s never came; counts are %+v", what, s.c.snapshot())
		}
		time.Sleep(time.Millisecond)
	}
}

// A pending is a call under way.
type pending chan struct {
	result json.RawMessage
	err    error
}

func (s *fixture) goCall(ctx context.Context, method string, params any) pending {
	p := make(pending, 1)
	go func() {
		result, err := s.c.Call(ctx, method, params)
		p <- struct {
			result json.RawMessage
			err    error
		}{result, err}
	}()
	return p
}

func (p pending) wait(t *testing.T) (string, error) {
	t.Helper()
	select {
	case r := <-p:
		return string(r.result), r.err
	case <-time.After(patience):
		t.Fatal("a call does not return")
		return "", nil
	}
}

// lost fails the test unless err is a TransportError of this reason.
func lost(t *testing.T, err error, reason string) *TransportError {
	t.Helper()
	var e *TransportError
	if !errors.As(err, &e) || e.Reason != reason {
		t.Fatalf("got %v, want a TransportError of %s", err, reason)
	}
	return e
}

// A logBook is what was logged, as text, and how often each message was.
type logBook struct {
	slog.Handler
	text safeBuffer

	mu    sync.Mutex
	times map[string]int
}

func newLogBook() *logBook {
	l := &logBook{times: map[string]int{}}
	l.Handler = slog.NewTextHandler(&l.text, &slog.HandlerOptions{Level: slog.LevelDebug})
	return l
}

func (l *logBook) Handle(ctx context.Context, r slog.Record) error {
	l.mu.Lock()
	what, _, _ := strings.Cut(r.Message, ":")
	l.times[what]++
	l.mu.Unlock()
	return l.Handler.Handle(ctx, r)
}

func (l *logBook) String() string { return l.text.String() }

// A safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *safeBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// State returns where the connection is.
func (c *Conn) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// A snapshot is what a connection, whose log is a logBook, has met so far.
type snapshot struct {
	starts     int // of the server
	violations int // frames beyond the limit
	noise      int // lines that were no message, and messages that were malformed
	late       int // answers to requests that had failed already
	strays     int // answers to no request of ours
	inFlight   int // requests that wait for an answer now
}

func (c *Conn) snapshot() snapshot {
	c.mu.Lock()
	inFlight := len(c.pending)
	c.mu.Unlock()
	l := c.opts.Logger.Handler().(*logBook)
	l.mu.Lock()
	defer l.mu.Unlock()
	return snapshot{
		starts:     l.times["Starting the server"],
		violations: l.times["Frame size exceeds limit"],
		noise:      l.times["Skipped what is no message"],
		late:       l.times["Dropped a late answer"],
		strays:     l.times["Dropped an answer to no request"],
		inFlight:   inFlight,
	}
}
