package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// Seed 004, "EOF and Response Flushing" and its edge cases, with stdout open, closed, and open and
// unread.

// held starts a server with a tool that is under way until told, and has it called.
func held(t *testing.T, opts mcp.Options, calls int) (r *rig, release chan struct{}) {
	t.Helper()
	release = make(chan struct{})
	begun := make(chan struct{}, calls)
	opts.Tools = append(mcp.Samples(), mcp.NewTool("held", "", nil, func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case begun <- struct{}{}:
		case <-ctx.Done(): // of one that waited, for which nobody waits
		}
		select {
		case <-release:
			return "released", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}))
	r = serve(t, opts)
	for i := range calls {
		r.send(call(fmt.Sprint(i), "held", `{}`))
		<-begun
	}
	return r, release
}

func (r *rig) logged(flushed, dropped int) {
	r.t.Helper()
	r.loggedEnd("Client disconnected (EOF)", flushed, dropped)
}

func (r *rig) loggedEnd(why string, flushed, dropped int) {
	r.t.Helper()
	line := fmt.Sprintf(`msg="%s, flushed %d responses, dropped %d responses"`, why, flushed, dropped)
	if !strings.Contains(r.logs.String(), line) {
		r.t.Errorf("log is %s, want %s", r.logs, line)
	}
}

// The record holds what passed, with its bodies, and who ended the session.
func TestRecordOfASession(t *testing.T) {
	for end, leave := range map[string]func(r *rig){
		mcp.EndOfInput: func(r *rig) { r.in.Close() },
		"stopped":      func(r *rig) { r.stop() },
	} {
		var text bytes.Buffer
		w := results.NewWriter(&text)
		if err := w.Write(results.Environment{Kind: results.KindEnvironment, Run: "r"}); err != nil {
			t.Fatal(err)
		}
		r := serve(t, mcp.Options{Record: w, Run: "r"})
		r.send(ping)
		r.recv()
		leave(r)
		if err := r.over(); err != nil {
			t.Error(err)
		}
		set, err := results.ReadFrom("record", &text)
		if err != nil {
			t.Fatal(err)
		}
		if m := set.Messages; len(m) != 2 || m[0].Dir != "request" || m[0].Method != "ping" || m[0].Body != ping || m[1].Dir != "reply" {
			t.Errorf("messages %+v", m)
		}
		if len(set.Targets) != 1 || set.Targets[0].Verdict != end {
			t.Errorf("ended %+v, want %s", set.Targets, end)
		}
	}
}

func TestEOFWithNothingPending(t *testing.T) {
	r := serve(t, mcp.Options{EOFGrace: patience, FlushTimeout: patience, ShutdownTimeout: patience})
	r.in.Close()
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.logged(0, 0)
	if r.s.State() != mcp.Stopped {
		t.Errorf("state is %v", r.s.State())
	}
}

func TestEOFWithinTheGrace(t *testing.T) { // what was read may be done
	r, release := held(t, mcp.Options{EOFGrace: patience, ShutdownTimeout: patience}, 2)
	r.in.Close()
	for r.s.State() != mcp.Draining {
		runtime.Gosched()
	}
	close(release)
	for range 2 {
		if got := r.recv(); !strings.Contains(got, "released") {
			t.Errorf("got %s, want the tool's answer", got)
		}
	}
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.logged(2, 0)
}

func TestEOFCancelsAndAnswers(t *testing.T) { // "EOF during tool execution", "Stdout open after stdin EOF: Attempt flush"
	r, _ := held(t, mcp.Options{EOFGrace: -1, FlushTimeout: patience, ShutdownTimeout: patience}, 3)
	r.in.Close()
	for range 3 {
		if got := r.recv(); !strings.Contains(got, "-32603") || !strings.Contains(got, "Request cancelled") {
			t.Errorf("got %s, want it cancelled", got)
		}
	}
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.logged(3, 0)
}

func TestEOFWithStdoutClosed(t *testing.T) { // "Stdout closed with stdin: Drop all responses"
	r, _ := held(t, mcp.Options{EOFGrace: -1, FlushTimeout: patience, ShutdownTimeout: patience}, 3)
	r.out.Close()
	r.in.Close()
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.logged(0, 3)
}

func TestEOFWithStdoutUnread(t *testing.T) { // "Flush timeout: Drop remaining responses"
	r := serve(t, mcp.Options{EOFGrace: -1, FlushTimeout: 20 * time.Millisecond, ShutdownTimeout: patience})
	r.send(call("1", "get_large_data", `{"bytes":1000000}`)) // more than the pipe holds
	r.out.Read(make([]byte, 1))                              // it is being written
	r.send(call("2", "sleep", `{"seconds":3600}`))
	for !strings.Contains(r.logs.String(), "tool=get_large_data") {
		runtime.Gosched()
	}
	r.send(ping)
	r.in.Close()
	if err := r.over(); !errors.Is(err, mcp.ErrLost) || !strings.Contains(err.Error(), " answers were lost") {
		t.Errorf("got %v, want how many answers were lost", err)
	}
	if log := r.logs.String(); !strings.Contains(log, "flushed 0 responses, dropped ") || strings.Contains(log, "dropped 0") {
		t.Errorf("log is %s, want what was pending dropped", log)
	}
}

func TestShutdownTimeoutBoundsTheRest(t *testing.T) {
	r, _ := held(t, mcp.Options{EOFGrace: patience, FlushTimeout: patience, ShutdownTimeout: 10 * time.Millisecond}, 1)
	r.in.Close()
	if err := r.over(); err != nil && !errors.Is(err, mcp.ErrLost) { // the cancelled call may yet be answered
		t.Error(err)
	}
	if !strings.Contains(r.logs.String(), "Client disconnected (EOF)") {
		t.Errorf("log is %s", r.logs)
	}
}

func TestStopIsAsEOF(t *testing.T) { // "Graceful shutdown with in-flight requests"
	r, _ := held(t, mcp.Options{EOFGrace: -1, FlushTimeout: patience, ShutdownTimeout: patience}, 2)
	r.stop()
	for range 2 {
		if got := r.recv(); !strings.Contains(got, "Request cancelled") {
			t.Errorf("got %s, want it cancelled", got)
		}
	}
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.loggedEnd("Stopped", 2, 0)
}

func TestContextEndsTheServer(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(context.Background())
	s, err := mcp.Start(ctx, in, io.Discard, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
}

func TestClientLeavesInTheMiddle(t *testing.T) { // stdout is closed, stdin stays open
	r := serve(t, mcp.Options{})
	r.out.Close()
	r.send(ping)
	if err := r.over(); err != nil {
		t.Errorf("got %v, want nil: a client may leave", err)
	}
}

func TestOutputFails(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	s, err := mcp.Start(context.Background(), in, failing{}, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go io.WriteString(out, ping+"\n")
	if err := s.Wait(); !errors.Is(err, errDisk) {
		t.Errorf("got %v, want why the output failed", err)
	}
}

var errDisk = errors.New("disk on fire")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errDisk }

func TestInputFails(t *testing.T) {
	s, err := mcp.Start(context.Background(), brokenReader{}, io.Discard, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); !errors.Is(err, errDisk) {
		t.Errorf("got %v, want why the input failed", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errDisk }

func TestStreamsAreGivenBackWithoutDeadlines(t *testing.T) {
	r := serve(t, mcp.Options{})
	r.stop()
	if err := r.over(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.farOut.WriteString("still usable\n"); err != nil {
		t.Error(err)
	}
	if got := r.recv(); got != "still usable" {
		t.Errorf("got %q", got)
	}
}

func TestRequestsInFlightAreBounded(t *testing.T) {
	r, release := held(t, mcp.Options{MaxInFlight: 2}, 2)
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`+"\n", i)
	}
	all := []byte(lines.String())
	first := bytes.IndexByte(all, '\n') + 1
	r.in.Write(all[:first])
	r.in.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := r.in.Write(all[first:]); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("writing 4 MB behind two requests in flight: got %v, want it to block", err)
	}
	close(release)
	released, answered := 0, 0
	for released < 2 || answered == 0 { // in whatever order
		if strings.Contains(r.recv(), "released") {
			released++
			continue
		}
		answered++
	}
}

func TestEOFIsSeenBehindAllThatMayBeInFlight(t *testing.T) {
	r, _ := held(t, mcp.Options{MaxInFlight: 2, EOFGrace: -1, FlushTimeout: patience, ShutdownTimeout: patience}, 2)
	r.in.Close()
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.logged(2, 0)
}

func TestCancellationIsReadBehindAllThatMayBeInFlight(t *testing.T) {
	r, _ := held(t, mcp.Options{MaxInFlight: 1}, 1)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`, ping)
	r.want(pong) // which waited for the one place
}

// The end of the input is seen behind requests that wait because as many as may be are in flight.
func TestEOFIsSeenBehindWhatWaits(t *testing.T) {
	for _, waiting := range []int{1, 100} {
		t.Run(fmt.Sprint(waiting), func(t *testing.T) {
			r, _ := held(t, mcp.Options{MaxInFlight: 2, EOFGrace: -1, FlushTimeout: patience, ShutdownTimeout: patience}, 2)
			for i := range waiting {
				r.send(call(fmt.Sprintf(`"w%d"`, i), "held", `{}`))
			}
			r.in.Close()
			for range waiting + 2 {
				if got := r.recv(); !strings.Contains(got, "Request cancelled") {
					t.Errorf("got %s, want it cancelled", got)
				}
			}
			if err := r.over(); err != nil {
				t.Error(err)
			}
			r.logged(waiting+2, 0)
		})
	}
}

// Refusals that nobody reads do not hide the end of the input either.
func TestEOFIsSeenBehindRefusalsThatNobodyReads(t *testing.T) {
	r := serve(t, mcp.Options{EOFGrace: -1, FlushTimeout: -1, ShutdownTimeout: patience})
	r.send(call("1", "get_large_data", `{"bytes":1000000}`)) // more than the pipe holds
	r.out.Read(make([]byte, 1))                              // it is being written
	for range 1000 {
		r.send("garbage")
	}
	r.in.Close()
	if err := r.over(); !errors.Is(err, mcp.ErrLost) {
		t.Errorf("got %v, want that answers were lost", err)
	}
}

// What a client sends at once, and more than is served at a time, is answered before its end of the
// input counts.
func TestEOFBehindABatchCutsNothing(t *testing.T) {
	const calls = 3000
	r := serve(t, mcp.Options{MaxInFlight: 2, EOFGrace: -1, FlushTimeout: patience, ShutdownTimeout: patience})
	go func() {
		for i := range calls {
			fmt.Fprintln(r.in, call(fmt.Sprint(i), "echo", `{"message":"m"}`))
		}
		r.in.Close()
	}()
	answered := 0
	for range calls {
		if strings.Contains(r.recv(), `"text":"m"`) {
			answered++
		}
	}
	if answered < calls-3 { // what is in flight as the last of the queue is taken may be cancelled
		t.Errorf("%d of %d requests were answered", answered, calls)
	}
	if err := r.over(); err != nil {
		t.Error(err)
	}
}

// The end of the input is seen though it stands behind more requests than are read ahead.
func TestEOFBehindMoreThanIsReadAhead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pipe there does not tell of its end before all is read")
	}
	r, _ := held(t, mcp.Options{MaxInFlight: 1, EOFGrace: -1}, 1)
	message := `{"message":"` + strings.Repeat("m", 32<<10) + `"}`
	for i := range 33 { // 31 of them are read ahead, one waits for room, one stays in the pipe
		r.send(call(fmt.Sprint(i+1), "echo", message))
	}
	r.in.Close()
	if err := r.over(); !errors.Is(err, mcp.ErrLost) {
		t.Errorf("got %v, want that answers were lost", err)
	}
}

func TestCancellationOfWhatWaits(t *testing.T) {
	r, release := held(t, mcp.Options{MaxInFlight: 1}, 1)
	r.send(ping, call("2", "held", `{}`), call("3", "echo", `{"message":"m"}`),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
	r.want(pong, result("3", "m"))
	close(release)
}

// 256 requests for 64 MiB each are 32 KB of input: their answers are made as the client takes them.
func TestAnswersOnTheirWayAreBounded(t *testing.T) {
	var making, most atomic.Int64
	tool := mcp.NewTool("large", "", nil, func(context.Context, struct{}) (string, error) {
		if n := making.Add(1); n > most.Load() {
			most.Store(n)
		}
		return strings.Repeat("x", 1<<20), nil
	})
	tool.Size = func(json.RawMessage) int { return 1 << 20 }
	r := serve(t, mcp.Options{Tools: []mcp.Tool{tool}, MaxInFlight: 8}) // 2 MiB of answers
	for i := range 8 {
		r.send(call(fmt.Sprint(i), "large", `{}`))
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	for range 7 { // the last one waited, and is not wanted any more
		r.recv()
		making.Add(-1)
	}
	// Two may be made at a time. Two more may have left the server before they are counted above:
	// the one that was just received, and the next, which fits the client's buffer and the pipe.
	if n := most.Load(); n > 4 {
		t.Errorf("%d answers were made at a time, want 4 at most", n)
	}
}

func TestOutputThatFailsAfterTheInputHasEnded(t *testing.T) {
	in := strings.NewReader(ping + "\n")
	s, err := mcp.Start(context.Background(), in, failing{}, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); !errors.Is(err, errDisk) {
		t.Errorf("got %v, want why the output failed", err)
	}
}
