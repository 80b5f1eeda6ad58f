//go:build unix

package tap_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/tap"
)

// patience bounds every wait; none takes a fraction of it unless something is broken.
const patience = 2 * time.Minute

// A tapped is a running tap, with the client's ends of its streams.
type tapped struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	stderr lockedBuffer
	record string
	exited chan struct{}
}

// A lockedBuffer is written by one goroutine while another reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a tap with a command behind it; the test ends both.
func start(t *testing.T, env []string, command ...string) *tapped {
	t.Helper()
	p := &tapped{t: t, record: t.TempDir() + "/recording.jsonl", exited: make(chan struct{})}
	record, err := os.Create(p.record)
	if err != nil {
		t.Fatal(err)
	}
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	p.in, p.out = in, out
	p.run(append(env, "RECORD=1"), theirIn, theirOut, []*os.File{record}, command)
	for _, f := range []*os.File{record, theirIn, theirOut} {
		f.Close()
	}
	return p
}

func (p *tapped) run(env []string, stdin, stdout *os.File, extra []*os.File, command []string) {
	p.t.Helper()
	p.cmd = exec.Command(self(), command...)
	p.cmd.Env = append(append(os.Environ(), job+"=tap"), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr, p.cmd.ExtraFiles = stdin, stdout, &p.stderr, extra
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.cmd.Wait()
	}()
	p.t.Cleanup(func() {
		p.in.Close()
		p.out.Close()
		p.cmd.Process.Kill()
		<-p.exited
	})
	deadline := time.Now().Add(patience)
	p.in.SetDeadline(deadline)
	p.out.SetDeadline(deadline)
}

// wait returns how the tap ended.
func (p *tapped) wait() *os.ProcessState {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		p.t.Fatal("the tap has not ended")
	}
	return p.cmd.ProcessState
}

// recording reads what was recorded.
func (p *tapped) recording() *results.Set {
	p.t.Helper()
	set, err := results.Read(p.record)
	if err != nil {
		p.t.Fatal(err)
	}
	return set
}

func TestBytesPassUnchangedHoweverTheyAreCut(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	stream := make([]byte, 300_000)
	for i := range stream {
		stream[i] = byte(rnd.Uint32())
	}
	for _, most := range []int{1, 7, 4096, 70_000} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			p := start(t, nil, "cat")
			send := stream[:min(len(stream), 2000*most)]
			go func() {
				for left := send; len(left) > 0; {
					n := min(len(left), 1+int(uint(len(left)*7919)%uint(most)))
					if _, err := p.in.Write(left[:n]); err != nil {
						t.Error(err)
						break
					}
					left = left[n:]
				}
				p.in.Close()
			}()
			got, err := io.ReadAll(p.out)
			if err != nil || !bytes.Equal(got, send) {
				t.Errorf("%d bytes came back for %d, equal: %v; %v", len(got), len(send), bytes.Equal(got, send), err)
			}
			if state := p.wait(); state.ExitCode() != 0 {
				t.Errorf("the tap ended with %v: %s", state, &p.stderr)
			}
		})
	}
}

// A byte that is no message's last arrives all the same.
func TestNothingIsHeldBackForAMessageToBeWhole(t *testing.T) {
	p := start(t, nil, "cat")
	one := make([]byte, 1)
	for _, c := range []byte(`{"half`) {
		if _, err := p.in.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(p.out, one); err != nil || one[0] != c {
			t.Fatalf("sent %q, got %q: %v", c, one, err)
		}
	}
}

// The client writes all before it reads anything: what does not fit on the way waits, and the other
// direction does not.
func TestTheDirectionsDoNotWaitForEachOther(t *testing.T) {
	p := start(t, nil, "cat")
	stream := bytes.Repeat([]byte("0123456789abcde\n"), 1<<20)
	written := make(chan error, 1)
	go func() {
		_, err := p.in.Write(stream)
		p.in.Close()
		written <- err
	}()
	got, err := io.ReadAll(p.out)
	if err != nil || !bytes.Equal(got, stream) {
		t.Errorf("%d bytes came back for %d: %v", len(got), len(stream), err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestTheTapEndsAsTheServerDoes(t *testing.T) {
	for _, row := range []struct {
		name, script string
		code         int
		signal       syscall.Signal
	}{
		{"status 0", "exit 0", 0, 0},
		{"status 42", "exit 42", 42, 0},
		{"killed", "kill -9 $$", -1, syscall.SIGKILL},
		{"terminated", "kill -TERM $$", -1, syscall.SIGTERM},
		{"interrupted", "kill -INT $$", -1, syscall.SIGINT},
		{"hung up", "kill -HUP $$", -1, syscall.SIGHUP},
		{"crashed", "kill -SEGV $$", -1, syscall.SIGSEGV},
		{"aborted", "kill -ABRT $$", -1, syscall.SIGABRT},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.name == "crashed" || row.name == "aborted" {
				needLinux(t)
			}
			state := start(t, nil, "sh", "-c", row.script).wait()
			status := state.Sys().(syscall.WaitStatus)
			if state.ExitCode() != row.code || row.signal != 0 && status.Signal() != row.signal {
				t.Errorf("the tap ended with %v", state)
			}
		})
	}
}

func TestSignalsReachTheServer(t *testing.T) {
	p := start(t, nil, "sh", "-c", `trap 'echo got it; exit 9' TERM; echo ready; while :; do read line || sleep 0.01; done`)
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(p.out, ready); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	rest, err := io.ReadAll(p.out)
	if err != nil || string(rest) != "got it\n" || p.wait().ExitCode() != 9 {
		t.Errorf("the server said %q, the tap ended with %v: %v", rest, p.cmd.ProcessState, err)
	}
}

func TestATapThatIsTerminatedEndsAsAServerThatDoesNotMind(t *testing.T) {
	p := start(t, nil, "cat")
	echo(t, p, "ready\n") // by now signals are passed on
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := p.wait().Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the tap ended with %v", p.cmd.ProcessState)
	}
	if s := p.recording().Targets; len(s) != 1 || s[0].Verdict != "signal SIGTERM" {
		t.Errorf("the recording ends with %+v", s)
	}
}

// The server signals the tap before the tap can have seen that it has started.
func TestASignalDuringTheStartReachesTheServer(t *testing.T) {
	p := start(t, nil, "sh", "-c", "kill -TERM $PPID; exec cat")
	p.wait()
	if s := p.recording().Targets; len(s) != 1 || s[0].Verdict != "signal SIGTERM" {
		t.Errorf("the recording ends with %+v", s)
	}
}

func TestASignalThatIsIgnoredStaysSoForTheServer(t *testing.T) {
	state := start(t, []string{"NOHUP=1"}, "sh", "-c", "kill -HUP $$; exit 7").wait()
	if state.ExitCode() != 7 {
		t.Errorf("the tap ended with %v", state)
	}
}

// A process that the server left behind writes on, as to the client's own pipe.
func TestWhatTheServerLeavesBehindGoesOnAndIsHeard(t *testing.T) {
	p := start(t, nil, "sh", "-c",
		`exec 3<&0; echo $$ >&2; (read line <&3; echo "late $line") 2>&- & exit 3`)
	p.awaitEndOfServer()
	time.Sleep(300 * time.Millisecond) // for which its output stays open
	if _, err := io.WriteString(p.in, "bytes\n"); err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(p.out); string(rest) != "late bytes\n" {
		t.Errorf("then came %q: %v", rest, err)
	}
	if code := p.wait().ExitCode(); code != 3 {
		t.Errorf("the tap ended with %v", p.cmd.ProcessState)
	}
	traffic := p.recording().Targets[0].Evidence.Traffic
	if open := time.Duration(traffic.OutputOpenNS); open < 100*time.Millisecond {
		t.Errorf("its output stayed open for %v after its end, says the recording", open)
	}
}

// A server that stays after the end of its input is recorded as such.
func TestTheEndOfTheInputIsRecorded(t *testing.T) {
	p := start(t, nil, "sh", "-c", `cat; echo ended; exec sleep 1000`)
	p.in.Close()
	if _, err := io.ReadFull(p.out, make([]byte, len("ended\n"))); err != nil {
		t.Fatal(err)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait()
	traffic := p.recording().Targets[0].Evidence.Traffic
	if at := traffic.Requests.EndedNS; at <= 0 || at >= traffic.ElapsedNS {
		t.Errorf("its input ended at %d ns, and the server at %d", at, traffic.ElapsedNS)
	}
}

// awaitEndOfServer returns when the tap has seen the end of its server, whose first line of
// standard error is its number.
func (p *tapped) awaitEndOfServer() {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		line, _, whole := strings.Cut(p.stderr.String(), "\n")
		pid, err := strconv.Atoi(line)
		if whole && err == nil && syscall.Kill(pid, 0) == syscall.ESRCH {
			return
		}
		runtime.Gosched()
	}
	p.t.Fatalf("the server has not ended; standard error: %q", &p.stderr)
}

// unreadSize is more than a client's pipe holds, and no more than the tap reads at once.
const unreadSize = 131000

// unread starts a server that ends, of itself or soon, having written more than the client's pipe
// holds. A signal does not change how it ends. The client has taken a single byte, so the tap's
// write of the rest has begun, and waits.
func unread(t *testing.T) *tapped {
	t.Helper()
	write := fmt.Sprintf("dd if=/dev/zero bs=%d count=1 2>/dev/null", unreadSize)
	p := start(t, nil, "sh", "-c", "trap '' TERM; echo $$ >&2; "+write+"; exit 3")
	if _, err := io.ReadFull(p.out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheLastOutputWaitsForTheClient(t *testing.T) {
	p := unread(t)
	p.awaitEndOfServer()
	got, err := io.ReadAll(p.out)
	if len(got) != unreadSize-1 || p.wait().ExitCode() != 3 {
		t.Errorf("%d bytes came after the first of %d, and the tap ended with %v: %v",
			len(got), unreadSize, p.cmd.ProcessState, err)
	}
}

func TestATapThatIsToldToEndSaysWhatWasNotTaken(t *testing.T) {
	p := unread(t)
	p.awaitEndOfServer()
	for { // until the tap knows of the end, the signal is for the server
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			break
		}
		select {
		case <-p.exited:
		case <-time.After(time.Millisecond):
			continue
		}
		break
	}
	said := "did not take the last of the output: "
	end := p.wait()
	if end.ExitCode() != 3 || !strings.Contains(p.stderr.String(), said) ||
		!strings.Contains(p.stderr.String(), "bytes or more not taken") {
		t.Errorf("the tap ended with %v and said %q", p.cmd.ProcessState, &p.stderr)
	}
}

// A client that closes its end has the tap wait no more for what the server left behind.
func TestAClientThatClosesItsEndFreesATapWhoseServerHasEnded(t *testing.T) {
	p := start(t, nil, "sh", "-c", `sleep 1000 2>/dev/null & echo $!; exit 3`)
	var line [32]byte
	n, err := p.out.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n]))); err == nil {
		defer syscall.Kill(pid, syscall.SIGKILL)
	}
	p.out.Close()
	if code := p.wait().ExitCode(); code != 3 {
		t.Errorf("the tap ended with %v", p.cmd.ProcessState)
	}
}

func TestATapThatCannotStartSaysSo(t *testing.T) {
	p := start(t, []string{"PROTOCOL=bogus"}, "cat")
	if p.wait().ExitCode() != 100 || !strings.Contains(p.stderr.String(), `unknown protocol "bogus"`) {
		t.Errorf("the tap ended with %v and said %q", p.cmd.ProcessState, &p.stderr)
	}
}

// The protocol that is found out is the one whose methods are called.
func TestTheProtocolIsRecorded(t *testing.T) {
	for _, row := range []struct{ method, want string }{
		{"notifications/initialized", "mcp"}, {"tools/list", "mcp"}, {"textDocument/hover", "lsp"}, {"sum", "jsonrpc"},
	} {
		p := start(t, nil, "cat")
		echo(t, p, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"`+row.method+`"}`+"\n")
		p.in.Close()
		p.wait()
		if got := p.recording().Targets[0].Protocol; got != row.want {
			t.Errorf("%s: recorded as %s, want %s", row.method, got, row.want)
		}
	}
}

// A message with a length can be held against it, also where its protocol is in doubt.
func TestLengthsAreRecordedWhereTheProtocolIsInDoubt(t *testing.T) {
	p := start(t, nil, "cat")
	echo(t, p, "Content-Length: 46\r\n\r\n"+`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	p.in.Close()
	p.wait()
	if got := p.recording().Targets[0].Protocol; got != "headers" {
		t.Errorf("recorded as %s", got)
	}
}

// echo sends a text and takes it back.
func echo(t *testing.T, p *tapped, text string) {
	t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(p.out, got); err != nil || string(got) != text {
		t.Fatalf("sent %q, got %q: %v", text, got, err)
	}
}

// The server does not read, so that all the pipes are full and the client's write waits when it is
// killed.
func TestAServerThatIsKilledFreesAClientThatWaits(t *testing.T) {
	p := start(t, nil, "sh", "-c", `echo $$; exec sleep 1000`)
	var line [32]byte
	n, err := p.out.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := p.in.Write(bytes.Repeat([]byte("x"), 8<<20))
		written <- err
	}()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := p.wait().Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("the tap ended with %v", p.cmd.ProcessState)
	}
	if err := <-written; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the client's write ended with %v", err)
	}
}

func TestAClientThatGoesAwayEndsTheServer(t *testing.T) {
	p := start(t, nil, "cat")
	echo(t, p, "ready\n")
	p.in.Close()
	p.out.Close()
	if state := p.wait(); state.ExitCode() != 0 {
		t.Errorf("the tap ended with %v: %s", state, &p.stderr)
	}
}

// A disk that is full spoils the recording, and nothing else.
func TestARecordingThatCannotBeWrittenHoldsUpNothing(t *testing.T) {
	needLinux(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	p := &tapped{t: t, in: in, out: out, exited: make(chan struct{})}
	p.run([]string{"RECORD=1"}, theirIn, theirOut, []*os.File{full}, []string{"cat"})
	for _, f := range []*os.File{theirIn, theirOut, full} {
		f.Close()
	}
	stream := bytes.Repeat([]byte(`{"id":1,"method":"m"}`+"\n"), 100_000)
	go func() {
		in.Write(stream)
		in.Close()
	}()
	got, err := io.ReadAll(out)
	if err != nil || !bytes.Equal(got, stream) {
		t.Errorf("%d bytes came back for %d: %v", len(got), len(stream), err)
	}
	if p.wait(); !strings.Contains(p.stderr.String(), "the recording is not whole") || !strings.Contains(p.stderr.String(), "no space left") {
		t.Errorf("the tap said %q", &p.stderr)
	}
}

func TestAKilledTapTakesTheServerWithIt(t *testing.T) {
	needLinux(t)
	p := start(t, nil, "sh", "-c", `echo $$; exec sleep 1000`)
	var line [32]byte
	n, err := p.out.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 { // ends when the server's copy is closed, too
		t.Errorf("%q, %v", rest, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); syscall.Kill(pid, 0) == nil &&
		!zombie(pid); runtime.Gosched() {
		if time.Now().After(deadline) {
			syscall.Kill(pid, syscall.SIGKILL)
			t.Fatal("the server outlives the tap")
		}
	}
}

// zombie reports whether a process has ended and only waits for init to notice.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

func TestAServerThatClosesItsInputIsNoticed(t *testing.T) {
	p := start(t, nil, "sh", "-c", `exec <&-; echo closed; exec sleep 1000`)
	if _, err := io.ReadFull(p.out, make([]byte, len("closed\n"))); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := p.in.Write([]byte("x\n")); err != nil {
			if !strings.Contains(err.Error(), "broken pipe") {
				t.Error(err)
			}
			return
		}
	}
}

func TestAServerThatClosesItsOutputIsNoticedWhileItLives(t *testing.T) {
	p := start(t, nil, "sh", "-c", `exec >&-; cat >/dev/null; exit 5`)
	if rest, err := io.ReadAll(p.out); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	select {
	case <-p.exited:
		t.Error("the tap ended before the server")
	default:
	}
	p.in.Close()
	if state := p.wait(); state.ExitCode() != 5 {
		t.Errorf("ended with %v", state)
	}
}

func TestAClientThatClosesItsEndBreaksTheServersPipe(t *testing.T) {
	p := start(t, nil, "sh", "-c", `trap '' PIPE; while echo x; do :; done 2>/dev/null; exit 6`)
	p.out.Close()
	if state := p.wait(); state.ExitCode() != 6 {
		t.Errorf("ended with %v", state)
	}
}

// What a sender announced and did not write is recorded. What a reader that left did not take is
// not the sender's fault.
func TestAMessageThatIsNotWholeIsRecorded(t *testing.T) {
	const half = `printf 'Content-Length: 110\r\n\r\n{"id":1}'`
	p := start(t, nil, "sh", "-c", half+`; cat >&2`)
	if _, err := p.in.WriteString("Content-Length: 9\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	p.wait()
	traffic := p.recording().Targets[0].Evidence.Traffic
	if in := traffic.Requests; in.Announced != 9 || in.Came != 2 {
		t.Errorf("of the request: %d B announced, %d came", in.Announced, in.Came)
	}
	if out := traffic.Replies; out.Announced != 110 || out.Came != 8 {
		t.Errorf("of the reply: %d B announced, %d came", out.Announced, out.Came)
	}
	p = start(t, nil, "sh", "-c",
		`printf 'Content-Length: 110\r\n\r\n{'; read line; trap '' PIPE; printf x; echo y; cat`)
	if _, err := p.out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p.out.Close()
	if _, err := p.in.WriteString("go on\n"); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	p.wait()
	if out := p.recording().Targets[0].Evidence.Traffic.Replies; out.Announced != 0 {
		t.Errorf("a client left: %d B announced, %d came", out.Announced, out.Came)
	}
}

// While the tap runs, and after it was killed, the recording says what came of a message that is
// not whole. When the message is whole, that is taken back.
func TestWhatCameOfAMessageIsRecordedWhileTheTapRuns(t *testing.T) {
	for _, row := range []struct {
		name, part, rest string
		announced, came  int64
	}{
		{"header", `Content-Length: 8\r\n\r\n{"id"`, `:1}`, 8, 5},
		{"line", `{"id"`, `:1}\n`, 0, 5},
	} {
		t.Run(row.name, func(t *testing.T) {
			script := "printf '" + row.part + "'; read line; printf '" + row.rest + "'; read line"
			p := start(t, nil, "sh", "-c", script)
			says := func(announced, came int64) bool {
				set, err := results.Read(p.record)
				if err != nil || len(set.Targets) != 1 {
					return false
				}
				last := set.Targets[0]
				out := last.Evidence.Traffic.Replies
				return last.Verdict == results.VerdictRunning && out.Announced == announced &&
					out.Came == came
			}
			p.await("the record of a part", func() bool { return says(row.announced, row.came) })
			if _, err := p.in.WriteString("go on\n"); err != nil {
				t.Fatal(err)
			}
			p.await("the record of the whole", func() bool { return says(0, 0) })
			p.in.Close()
			p.wait()
			targets := p.recording().Targets
			if len(targets) != 1 || targets[0].Verdict != "exit 1" {
				t.Errorf("at its end, the recording has %+v", targets)
			}
		})
	}
}

// A line that is no message is recorded, too, while the tap runs: it may be all that comes.
func TestTextThatIsNoMessageIsRecordedWhileTheTapRuns(t *testing.T) {
	const script = `echo DEBUG hover 4; read line; ` +
		`printf 'Content-Length: 2\r\n\r\n{}DEBUG 5\n'; read line`
	p := start(t, []string{"BODIES=1", "PROTOCOL=lsp"}, "sh", "-c", script)
	says := func(strays int64) bool {
		set, err := results.Read(p.record)
		if err != nil || len(set.Targets) != 1 {
			return false
		}
		out := set.Targets[0].Evidence.Traffic.Replies
		return set.Targets[0].Verdict == results.VerdictRunning && out.Strays == strays &&
			out.FirstStray == "DEBUG hover 4"
	}
	p.await("the record of a line", func() bool { return says(1) })
	if _, err := p.in.WriteString("go on\n"); err != nil {
		t.Fatal(err)
	}
	p.await("the record of two lines", func() bool { return says(2) })
	p.in.Close()
	p.wait()
	if targets := p.recording().Targets; len(targets) != 1 || targets[0].Verdict != "exit 1" {
		t.Errorf("at its end, the recording has %+v", targets)
	}
}

// await waits until done returns true.
func (p *tapped) await(what string, done func() bool) {
	p.t.Helper()
	began := time.Now()
	for !done() {
		if time.Since(began) > patience {
			p.t.Fatalf("%s did not come", what)
		}
		runtime.Gosched()
	}
}

func TestHeadersWithLFAloneAreRecorded(t *testing.T) {
	p := start(t, nil, "sh", "-c", `cat`)
	if _, err := p.in.WriteString("Content-Length: 2\n\n{}"); err != nil {
		t.Fatal(err)
	}
	p.in.Close()
	p.wait()
	traffic := p.recording().Targets[0].Evidence.Traffic
	if traffic.Requests.BareHeaders != 1 || traffic.Replies.BareHeaders != 1 {
		t.Errorf("recorded %+v", traffic)
	}
}

func TestStandardErrorIsTheServersOwn(t *testing.T) {
	p := start(t, nil, "sh", "-c", `echo oops >&2`)
	if p.wait(); p.stderr.String() != "oops\n" {
		t.Errorf("got %q", &p.stderr)
	}
}

func TestTheServerSeesPipesOfTheKindThatTheClientMade(t *testing.T) {
	needLinux(t)
	t.Run("pipe", func(t *testing.T) {
		theirIn, in := pipe(t)
		out, theirOut := pipe(t)
		resize(t, in, 128<<10)
		p := &tapped{t: t, in: in, out: out, exited: make(chan struct{})}
		p.run([]string{"THEN=serve"}, theirIn, theirOut, nil, []string{self(), "type"})
		theirIn.Close()
		theirOut.Close()
		got, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		var stdin, stdout int
		if _, err := fmt.Sscanf(string(got), "pipe:%d pipe:%d", &stdin, &stdout); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		// The pipes that tap makes are larger, but where this user's pages for pipes are used up.
		if stdin < 128<<10 || stdout < 4096 {
			t.Errorf("%q: the server's pipes hold less than the client's", got)
		}
	})
	t.Run("socket pair", func(t *testing.T) {
		in, theirIn := socketPair(t)
		out, theirOut := socketPair(t)
		p := &tapped{t: t, in: in, out: out, exited: make(chan struct{})}
		p.run([]string{"THEN=serve"}, theirIn, theirOut, nil, []string{self(), "type"})
		theirIn.Close()
		theirOut.Close()
		if got, err := io.ReadAll(out); err != nil || string(got) != "socket socket\n" {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("non-blocking", func(t *testing.T) {
		in, theirIn := socketPair(t)
		out, theirOut := socketPair(t)
		raw, err := theirOut.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) { err = syscall.SetNonblock(int(fd), true) })
		if err != nil {
			t.Fatal(err)
		}
		p := &tapped{t: t, in: in, out: out, exited: make(chan struct{})}
		p.run([]string{"THEN=serve"}, theirIn, theirOut, nil, []string{self(), "type"})
		theirIn.Close()
		theirOut.Close()
		if got, err := io.ReadAll(out); err != nil || string(got) != "socket socket+nonblock\n" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func socketPair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	if err := syscall.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
}

func TestNoFrameIsLost(t *testing.T) {
	const frames = 100_000
	p := start(t, nil, "cat")
	go func() {
		var b []byte
		for i := range frames {
			b = fmt.Appendf(b, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)
			if len(b) > 32<<10 || i == frames-1 {
				p.in.Write(b)
				b = b[:0]
			}
		}
		p.in.Close()
	}()
	got, err := io.ReadAll(p.out)
	if err != nil || bytes.Count(got, []byte("\n")) != frames {
		t.Fatalf("%d frames came back: %v", bytes.Count(got, []byte("\n")), err)
	}
	p.wait()
	set := p.recording()
	next := map[string]int{}
	for _, m := range set.Messages {
		if string(m.ID) != strconv.Itoa(next[m.Dir]) || m.Method != "m" {
			t.Fatalf("%s %d is %s", m.Dir, next[m.Dir], m.ID)
		}
		next[m.Dir]++
	}
	if next["request"] != frames || next["reply"] != frames || len(set.Findings) > 0 {
		t.Errorf("recorded %v, %d gaps", next, len(set.Findings))
	}
	if s := set.Targets[0]; s.Verdict != "exit 0" || s.Evidence.Traffic.Requests.Messages != frames {
		t.Errorf("summary %+v", s)
	}
}

func TestWhatIsRecordedOfAMessage(t *testing.T) {
	for _, row := range []struct {
		name, env, body string
	}{
		{"sizes", "NONE=", ""},
		{"bodies", "BODIES=1", `{"jsonrpc":"2.0","id":3,"method":"m","params":["secret"]}`},
		{"redacted", "REDACT=1", `{"jsonrpc":"2.0","id":3,"method":"m","params":["xxxxxx"]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := start(t, []string{row.env}, "cat")
			msg := `{"jsonrpc":"2.0","id":3,"method":"m","params":["secret"]}`
			for _, part := range []string{msg[:20], msg[20:] + "\r\n"} {
				if _, err := io.WriteString(p.in, part); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(p.out, make([]byte, len(part))); err != nil {
					t.Fatal(err)
				}
			}
			p.in.Close()
			p.wait()
			set := p.recording()
			if len(set.Messages) != 2 {
				t.Fatalf("recorded %+v", set.Messages)
			}
			for i, m := range set.Messages {
				if m.Size != int64(len(msg)) || m.Method != "m" || string(m.ID) != "3" ||
					m.Body != row.body ||
					m.Redacted != (row.name == "redacted") {
					t.Errorf("message %d: %+v", i, m)
				}
			}
			text, err := json.Marshal(set.Messages)
			if err != nil || row.name != "bodies" && bytes.Contains(text, []byte("secret")) {
				t.Errorf("the secret is in %s", text)
			}
		})
	}
}

// The recording is a pipe that nobody reads: the traffic passes, and the gap is told of once it is
// read.
func TestARecordingThatCannotKeepUpHasAGapAndHoldsUpNothing(t *testing.T) {
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	read, record := pipe(t)
	defer read.Close()
	p := &tapped{t: t, in: in, out: out, exited: make(chan struct{})}
	p.run([]string{"RECORD=1"}, theirIn, theirOut, []*os.File{record}, []string{"cat"})
	for _, f := range []*os.File{theirIn, theirOut, record} {
		f.Close()
	}
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n")
	const frames = 400_000
	go func() {
		in.Write(bytes.Repeat(msg, frames))
		in.Close()
	}()
	if n, err := io.Copy(io.Discard, out); err != nil || n != int64(frames*len(msg)) {
		t.Fatalf("%d bytes came back: %v", n, err)
	}
	set := new(results.Set)
	for line := range bytes.Lines(must(io.ReadAll(read))) {
		var kind struct{ Kind string }
		var m results.Message
		var f results.Finding
		switch err := json.Unmarshal(line, &kind); {
		case err != nil:
			t.Fatalf("%v in %s", err, line)
		case kind.Kind == results.KindMessage && json.Unmarshal(line, &m) == nil:
			set.Add(m)
		case kind.Kind == results.KindFinding && json.Unmarshal(line, &f) == nil:
			set.Add(f)
		}
	}
	missing := 0
	for _, f := range set.Findings {
		var e struct{ Messages int }
		if err := f.Evidence.Decode(&e); err != nil {
			t.Fatal(err)
		}
		missing += e.Messages
	}
	if missing == 0 || missing+len(set.Messages) != 2*frames {
		t.Errorf("%d messages recorded and %d told of as missing, of %d", len(set.Messages), missing, 2*frames)
	}
}

func TestALongLineTakesNoMemory(t *testing.T) {
	needLinux(t)
	if tap.RaceEnabled {
		t.Skip("the race detector uses memory of its own")
	}
	p := start(t, []string{"PEAK=1"}, "cat")
	go func() {
		block := bytes.Repeat([]byte("x"), 1<<20)
		for range 64 {
			p.in.Write(block)
		}
		p.in.Write([]byte("\n"))
		p.in.Close()
	}()
	if n, err := io.Copy(io.Discard, p.out); err != nil || n != 64<<20+1 {
		t.Fatalf("%d bytes came back: %v", n, err)
	}
	p.wait()
	kib, err := strconv.Atoi(strings.TrimSpace(p.stderr.String()))
	if err != nil || kib > 20<<10 {
		t.Errorf("peak memory %d KiB: %v", kib, err)
	}
	if m := p.recording().Messages; len(m) != 2 || m[0].Size != 64<<20 {
		t.Errorf("recorded %d messages", len(m))
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// A server may write an answer only at the end of its input, when its client was killed.
func TestAnAnswerThatComesWhenTheClientHasLeftIsRecordedAsNotTaken(t *testing.T) {
	p := start(t, nil, "sh", "-c",
		`read ask; trap '' PIPE; cat; echo '{"method":"note"}
{"id":2,"result":{}}'`)
	if _, err := p.in.WriteString(`{"id":2,"method":"ask"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	p.out.Close()
	p.in.Close()
	p.wait()
	set := p.recording()
	if len(set.Messages) != 2 || !set.Messages[1].Untaken || string(set.Messages[1].ID) != "2" {
		t.Errorf("recorded %+v", set.Messages)
	}
	traffic := set.Targets[0].Evidence.Traffic
	if traffic.Replies.EndedNS != 0 || traffic.Requests.EndedNS == 0 {
		t.Errorf("the ends: %+v", traffic)
	}
}
