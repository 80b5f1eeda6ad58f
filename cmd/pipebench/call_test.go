package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// caller is the real command in the middle of a talk with a real server, its stdin open.
func caller(t *testing.T, server ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	args := append([]string{"call", "--quiet", "--", os.Args[0], "serve"}, server...)
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.WaitDelay = time.Minute
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
	t.Cleanup(func() { in.Close() })
	out = bufio.NewReader(pipe)
	io.WriteString(in, "ping\n")
	if line, err := out.ReadString('\n'); line != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Fatalf("got %q, %v, want an answer while stdin is open", line, err)
	}
	return cmd, in, out
}

func exitOf(cmd *exec.Cmd) int {
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

func TestCallIsInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs SIGINT")
	}
	cmd, in, out := caller(t)
	io.WriteString(in, "sleep {\"seconds\":3600}\n")
	cmd.Process.Signal(os.Interrupt)
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if said := string(text); said != "" && !strings.Contains(said, "tools/call: interrupted") {
		t.Errorf("printed %q", said)
	}
	if code := exitOf(cmd); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
}

// What an interruption leaves without an answer is named.
func TestAnInterruptionNamesTheRequestsInFlight(t *testing.T) {
	s := &callSession{out: io.Discard}
	s.print(reply{failed: true, unanswered: "tools/call (line 2)"})
	s.print(reply{failed: true, unanswered: "ping (line 3)"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	var stderr strings.Builder
	const want = "pipebench: interrupted; without an answer: tools/call (line 2), ping (line 3)\n"
	code := exitCode(ctx, s.interruption(), &stderr)
	if code != exitInterrupted || stderr.String() != want {
		t.Errorf("exit %d, said %q", code, &stderr)
	}
}

func TestCallEndsWithItsServer(t *testing.T) {
	cmd, in, out := caller(t, "--fault", "exit0@500B")
	io.WriteString(in, `echo {"message":"`+strings.Repeat("x", 500)+`"}`+"\n")
	if line, err := out.ReadString('\n'); !strings.Contains(line, `"id":2,"error":{"code":-32000`) {
		t.Errorf("got %q, %v, want the request to fail", line, err)
	}
	if code := exitOf(cmd); code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
}
