package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// patience bounds every wait of these tests; none takes a fraction of it unless something is
// broken.
const patience = 2 * time.Minute

// A rig is a server at the far end of two kernel pipes.
type rig struct {
	t      *testing.T
	s      *mcp.Server
	stop   context.CancelFunc // ends the context of s
	in     *os.File           // the client's end of the server's stdin
	out    *os.File           // the client's end of its stdout
	farOut *os.File
	lines  *bufio.Reader
	frames framers.Reader // where the framing is not lines
	w      framers.Writer
	logs   *logBook
}

// serve starts a server of the sample tools and sees to it that it ends, and leaves nothing behind,
// with the test.
func serve(t *testing.T, opts mcp.Options) *rig {
	t.Helper()
	leaktest.Check(t)
	r := &rig{t: t, logs: new(logBook)}
	farIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, farOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out, r.farOut = in, out, farOut
	if opts.Tools == nil {
		opts.Tools = mcp.Samples()
	}
	opts.Logger = slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	deadline := time.Now().Add(patience)
	out.SetReadDeadline(deadline)
	in.SetWriteDeadline(deadline)
	r.lines = bufio.NewReaderSize(out, 1<<20)
	if opts.Framing == nil {
		opts.Framing = framers.NDJSON()
	}
	r.frames, r.w = opts.Framing.NewReader(out, framers.WithMaxMessage(-1)), opts.Framing.NewWriter(in)
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	if r.s, err = mcp.Start(ctx, farIn, farOut, opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.stop()
		out.Close()
		r.over()
		for _, f := range []*os.File{in, farIn, farOut} {
			f.Close()
		}
	})
	return r
}

func (r *rig) send(lines ...string) {
	r.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(r.in, l+"\n"); err != nil {
			r.t.Fatal(err)
		}
	}
}

// recv returns the next line of the server's stdout.
func (r *rig) recv() string {
	r.t.Helper()
	line, err := r.lines.ReadString('\n')
	if err != nil {
		r.t.Fatalf("read an answer: %v, after %q; log:\n%s", err, line, r.logs)
	}
	return strings.TrimSuffix(line, "\n")
}

// want fails the test unless the next lines are answers equal to these, as JSON.
func (r *rig) want(answers ...string) {
	r.t.Helper()
	for _, a := range answers {
		if got := r.recv(); !sameJSON(got, a) {
			r.t.Errorf("got  %s\nwant %s", got, a)
		}
	}
}

// over waits for the server to end.
func (r *rig) over() error {
	r.t.Helper()
	done := make(chan error, 1)
	go func() { done <- r.s.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		r.t.Fatalf("server is %v still; log:\n%s", r.s.State(), r.logs)
		return nil
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// A logBook is what was logged.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func call(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

func result(id, text string) string {
	quoted, _ := json.Marshal(text)
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":` + string(quoted) + `}]}}`
}

func failure(id, code, message string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":` + code + `,"message":"` + message + `"}}`
}
