package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// served is the real command, with a pipe at each end.
func served(t *testing.T, args ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader, stdout io.Closer, log *bytes.Buffer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], append([]string{"serve"}, args...)...)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.WaitDelay = time.Minute
	log = new(bytes.Buffer)
	cmd.Stderr = log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	out = bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	return cmd, in, out, pipe, log
}

func TestServeEndsOnSIGTERM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs SIGTERM")
	}
	cmd, in, out, _, log := served(t, "--log-level", "info")
	defer in.Close() // it stays open
	io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"sleep","arguments":{"seconds":3600}}}`+"\n"+
		`{"jsonrpc":"2.0","id":3,"method":"ping"}`+"\n")
	if line, err := out.ReadString('\n'); !strings.Contains(line, `"id":3`) {
		t.Fatalf("got %q, %v", line, err)
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if line, err := out.ReadString('\n'); !strings.Contains(line, `"id":2,"error":{"code":-32603,"message":"Request cancelled"}`) {
		t.Errorf("got %q, %v, want what was under way cancelled", line, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit 0", err)
	}
	// An answer that the client has before the server has counted it is counted as flushed.
	if want := regexp.MustCompile(`msg="Stopped, flushed [1-3] responses, dropped 0 responses"`); !want.MatchString(log.String()) {
		t.Errorf("log is %s, want %s", log, want)
	}
}

// An inherited pipe has no deadlines: what nobody reads of it is given up in the time for that.
func TestServeGivesUpAnUnreadPipeInTheTimeForFlushing(t *testing.T) {
	cmd, in, out, stdout, log := served(t, "--eof-grace", "0s", "--flush-timeout", "100ms", "--shutdown-timeout", "1h")
	defer stdout.Close() // it stays open, and is not read any more
	io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_large_data","arguments":{"bytes":1000000}}}`+"\n")
	if _, err := out.ReadByte(); err != nil { // it is being written
		t.Fatal(err)
	}
	in.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		cmd.Process.Kill()
		t.Fatal("it waits for the reader still")
	}
	if !strings.Contains(log.String(), "dropped 1 responses") {
		t.Errorf("log is %s", log)
	}
}

// The end of the input is seen behind as many slow calls as are served at a time, more that wait,
// and answers that nobody reads: the server is gone in the time it has, and says what was lost.
func TestServeSeesTheEndOfItsInputBehindAnythingElse(t *testing.T) {
	cmd, in, out, stdout, log := served(t, "--eof-grace", "0s", "--shutdown-timeout", "300ms", "--flush-timeout", "100ms")
	defer stdout.Close() // it stays open, and is not read any more
	io.WriteString(in, `{"jsonrpc":"2.0","id":"large","method":"tools/call","params":{"name":"get_large_data","arguments":{"bytes":1000000}}}`+"\n")
	if _, err := out.ReadByte(); err != nil { // it is being written
		t.Fatal(err)
	}
	const calls = 256 + 700
	for id := range calls {
		fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"sleep","arguments":{"seconds":3600}}}`+"\n", id)
	}
	in.Close()
	if code := exitOf(cmd); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	for _, want := range []string{fmt.Sprintf("flushed 0 responses, dropped %d responses", calls+1), fmt.Sprintf("%d answers were lost", calls+1)} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log is %s, want %s", log, want)
		}
	}
}

func TestServeSurvivesAClosedStdout(t *testing.T) {
	cmd, in, _, stdout, log := served(t)
	stdout.Close()
	io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit 0: a client may leave", err)
	}
	if want := "dropped 1 responses"; !strings.Contains(log.String(), want) {
		t.Errorf("log is %s, want %s", log, want)
	}
}

func TestServeNeverReadsButSeesItsParentGo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("parents are not replaced there")
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs sh")
	}
	// The shell starts the server and leaves when its own stdin ends; the server's stays open, and
	// its stdout says when it ends.
	stdin, keep := pipe(t)
	defer keep.Close()
	keep.WriteString(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}` + "\n")
	stdout, far := pipe(t)
	defer stdout.Close()
	cmd := exec.Command(sh, "-c", `"$0" serve --fault never-read <&3 & read line`, os.Args[0])
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.ExtraFiles = []*os.File{stdin}
	cmd.Stdout = far
	leave, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	far.Close()
	stdout.SetReadDeadline(time.Now().Add(time.Minute))
	out := bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); !strings.Contains(line, `"id":1,"result"`) {
		t.Fatalf("got %q, %v, want it to serve its handshake", line, err)
	}
	leave.Close()
	_ = cmd.Wait() // read has met the end of its input
	if rest, err := io.ReadAll(out); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v, want its end", rest, err)
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}
