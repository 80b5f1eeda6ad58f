package child_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// programEnv names, in the environment of a child process, which program the test binary is to be.
const programEnv = "CHILD_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programEnv); name != "" {
		programs[name]()
		return
	}
	os.Exit(m.Run())
}

var programs = map[string]func(){
	"thinks": func() { // computes before each answer
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
			}
			fmt.Println(answerTo(lines.Bytes()))
		}
	},
	"answers and leaves": func() {
		lines := bufio.NewScanner(os.Stdin)
		lines.Scan()
		fmt.Println(answerTo(lines.Bytes()))
	},
	"speaks to standard error": func() {
		for range 1000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("e", 1000))
		}
		fmt.Println(`"done"`)
		io.Copy(io.Discard, os.Stdin)
	},
}

func answerTo(line []byte) string {
	e := jsonrpc.Scan(line)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%q}`, e.ID, e.Method)
}

// start starts a program, which ends with the test.
func start(t *testing.T, name string) *child.Conn {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := proc.Command(path)
	p.Cmd.Env = append(os.Environ(), programEnv+"="+name)
	c, err := child.Start(t.Context(), p, framers.NDJSON(), child.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A peer is the other side of a conversation over pipes in memory.
type peer struct {
	lines *bufio.Reader
	in    *io.PipeReader
	out   *io.PipeWriter
}

func (p *peer) say(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p *peer) hear() []byte {
	line, _ := p.lines.ReadBytes('\n')
	return line
}

func over(o child.Options) (*child.Conn, *peer) {
	theirIn, ourOut := io.Pipe()
	ourIn, theirOut := io.Pipe()
	p := &peer{bufio.NewReader(theirIn), theirIn, theirOut}
	return child.Over(ourIn, ourOut, framers.NDJSON(), o), p
}

// ask sends a request, and waits for its answer.
func ask(ctx context.Context, c *child.Conn, method string) error {
	err := c.Send(ctx, jsonrpc.AppendRequest(nil, "1", method, nil))
	if err != nil {
		return err
	}
	m, err := c.Next(ctx)
	if err != nil {
		return err
	}
	answer, err := jsonrpc.Parse(m.Raw)
	if err == nil && string(answer.Result) != fmt.Sprintf("%q", method) {
		err = fmt.Errorf("%s was answered by %s", method, m.Raw)
	}
	return err
}

func TestNoMessageIsDropped(t *testing.T) {
	const notices = 10_000
	c, p := over(child.Options{})
	defer c.Close()
	go func() {
		line := p.hear()
		for i := range notices {
			p.say(`{"jsonrpc":"2.0","method":"notice","params":[%d]}`, i)
		}
		p.say("%s", answerTo(line))
	}()
	err := c.Send(t.Context(), jsonrpc.AppendRequest(nil, "1", "tools/list", nil))
	if err != nil {
		t.Fatal(err)
	}
	for i := range notices {
		m, err := c.Next(t.Context())
		want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notice","params":[%d]}`, i)
		if err != nil || string(m.Raw) != want {
			t.Fatalf("message %d is %s, %v", i, m.Raw, err)
		}
	}
}

func TestAnAnswerBeforeTheEndCounts(t *testing.T) {
	c := start(t, "answers and leaves")
	if err := ask(t.Context(), c, "last"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, child.ErrLeft) {
		t.Errorf("Next after the end: %v", err)
	}
	if err := ask(t.Context(), c, "later"); !errors.Is(err, child.ErrLeft) {
		t.Errorf("asked after the end: %v", err)
	}
}

func TestAWriteThatNobodyReadsSaysSo(t *testing.T) {
	out, says := io.Pipe() // the output stays open
	reads, in := io.Pipe()
	c := child.Over(out, in, framers.NDJSON(), child.Options{})
	defer c.Close()
	defer says.Close()
	reads.Close()
	err := c.Send(t.Context(), []byte(`{}`))
	if !errors.Is(err, child.ErrLeft) || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("Send = %v", err)
	}
}

func TestStandardErrorIsDrained(t *testing.T) {
	c := start(t, "speaks to standard error")
	if m, err := c.Next(t.Context()); err != nil || string(m.Raw) != `"done"` {
		t.Errorf("Next = %s, %v", m.Raw, err)
	}
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := over(child.Options{})
		defer c.Close()
		ctx, cancel := c.Patient(t.Context(), time.Second, time.Hour)
		defer cancel()
		go func() {
			for range 5 { // a sign of life each time
				time.Sleep(900 * time.Millisecond)
				p.say(`{"jsonrpc":"2.0","method":"progress"}`)
			}
		}()
		began := time.Now()
		_, err := c.Expect(ctx, func(child.Message) bool { return false })
		took := time.Since(began)
		if !errors.Is(err, child.ErrSilent) || took < 5*time.Second || took > 7*time.Second {
			t.Errorf("silent after %v: %v", took, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, p := over(child.Options{})
		defer c.Close()
		ctx, cancel := c.Patient(t.Context(), time.Second, 10*time.Second)
		defer cancel()
		var talking sync.WaitGroup
		defer talking.Wait()
		talking.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Second / 2)
				p.say(`{"jsonrpc":"2.0","method":"progress"}`)
			}
		})
		began := time.Now()
		_, err := c.Expect(ctx, func(child.Message) bool { return false })
		took := time.Since(began)
		if !errors.Is(err, child.ErrSilent) || took < 10*time.Second || took > 12*time.Second {
			t.Errorf("given up after %v: %v", took, err)
		}
	})
}

// A message that has come is no silence, however late this program gets to look at it.
func TestAMessageThatIsBeingLookedAtIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := over(child.Options{Divert: func(child.Message) bool {
			time.Sleep(5 * time.Second) // as if another program had the CPU
			return false
		}})
		defer c.Close()
		ctx, cancel := c.Patient(t.Context(), time.Second, time.Hour)
		defer cancel()
		go p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		if _, err := c.Next(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A wait that was stopped does not end as one in vain, however long the program is silent then.
func TestAWaitThatWasStoppedIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := over(child.Options{})
		defer c.Close()
		ctx, stop := c.Patient(t.Context(), time.Second, time.Hour)
		time.Sleep(900 * time.Millisecond)
		stop()
		time.Sleep(time.Minute)
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("ended by %v", err)
		}
	})
}

func TestAProgramThatComputesIsNotSilent(t *testing.T) {
	if !proc.TellsOfOthers {
		t.Skip("the system does not tell how much a process computes")
	}
	c := start(t, "thinks")
	ctx, cancel := c.Patient(t.Context(), 50*time.Millisecond, time.Hour)
	defer cancel()
	if err := ask(ctx, c, "think"); err != nil {
		t.Error(err)
	}
}

func TestAMessageBeyondTheLimitIsNotHeld(t *testing.T) {
	c, p := over(child.Options{MaxMessage: 1 << 10})
	defer c.Close()
	go func() {
		block := []byte(strings.Repeat("x", 4<<10))
		for {
			if _, err := p.out.Write(block); err != nil {
				return
			}
		}
	}()
	if _, err := c.Next(t.Context()); !errors.Is(err, child.ErrEndless) {
		t.Errorf("err = %v", err)
	}
	if n := c.Out.Bytes(); n > 1<<20 {
		t.Errorf("%d bytes were read of a message of at most 1 KiB", n)
	}
}

func TestTheLimitIsExact(t *testing.T) {
	c, p := over(child.Options{MaxMessage: 100})
	defer c.Close()
	go func() {
		p.say("%s", strings.Repeat("x", 100))
		p.say("%s", strings.Repeat("x", 101))
	}()
	if m, err := c.Next(t.Context()); err != nil || len(m.Raw) != 100 {
		t.Errorf("100 bytes: %d, %v", len(m.Raw), err)
	}
	if _, err := c.Next(t.Context()); !errors.Is(err, child.ErrEndless) {
		t.Errorf("101 bytes: %v", err)
	}
}

func TestAMessageThatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := over(child.Options{})
		defer c.Close()
		ctx, cancel := c.Patient(t.Context(), time.Second, time.Minute)
		defer cancel()
		if err := c.Send(ctx, []byte("{}")); !errors.Is(err, child.ErrNotTaken) {
			t.Errorf("Send: %v", err)
		}
	})
}

func TestAMessageIsNotTakenAfterTheEndOfItsContext(t *testing.T) {
	c := start(t, "thinks")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 { // Send sees the end of ctx at one of two places
		err := c.Send(ctx, []byte("{}"))
		if !errors.Is(err, child.ErrNotTaken) || !errors.Is(err, context.Canceled) {
			t.Fatalf("Send: %v", err)
		}
	}
}

func TestAContextThatEndsLateDoesNotEndTheNextMessage(t *testing.T) {
	c := start(t, "thinks")
	for i := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if err := c.Send(ctx, []byte(`{"n":1}`)); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("message %d: %v", i, err)
		}
		if err := c.Send(t.Context(), []byte(`{"n":2}`)); err != nil {
			t.Fatalf("the message after %d: %v", i, err)
		}
	}
}

func TestRequestsOfTheProgramAreAnsweredBesides(t *testing.T) {
	c, p := over(child.Options{Respond: func(m child.Message) []byte {
		return jsonrpc.AppendResult(nil, jsonrpc.ID(m.Envelope.ID), []byte("{}"))
	}})
	defer c.Close()
	const asked = 200
	got := make(chan int, 1)
	go func() {
		request := p.hear()
		for i := range asked { // all before it reads an answer
			p.say(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, i+1000)
		}
		n := 0
		for n < asked && jsonrpc.Scan(p.hear()).Result {
			n++
		}
		got <- n
		p.say("%s", answerTo(request))
	}()
	if err := ask(t.Context(), c, "initialize"); err != nil {
		t.Error(err)
	}
	if n := <-got; n != asked {
		t.Errorf("%d of %d requests were answered", n, asked)
	}
}

func TestCloseEndsAFlood(t *testing.T) {
	c, p := over(child.Options{})
	go func() {
		line := strings.Repeat("x", 1<<20) + "\n"
		for {
			if _, err := io.WriteString(p.out, line); err != nil {
				return
			}
		}
	}()
	if _, err := c.Next(t.Context()); err != nil {
		t.Error(err)
	}
	c.Close()
}

// An answer to the program's own request may not be taken. Whoever sends something else then waits
// no longer than his context.
func TestAMessageBehindAReplyThatIsNotTakenEndsInItsTime(t *testing.T) {
	c, p := over(child.Options{Respond: func(child.Message) []byte { return []byte(`"reply"`) }})
	defer c.Close()
	p.say(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	if _, err := p.in.Read(make([]byte, 1)); err != nil { // the rest of the reply is not taken
		t.Fatal(err)
	}
	impatient := errors.New("impatient")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(impatient)
	err := c.Send(ctx, []byte(`"message"`))
	if !errors.Is(err, impatient) {
		t.Errorf("got %v", err)
	}
}

// A request that Respond leaves alone waits for Next.
func TestARequestThatIsNotAnsweredWaitsForNext(t *testing.T) {
	c, p := over(child.Options{Respond: func(child.Message) []byte { return nil }})
	defer c.Close()
	p.say(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	m, err := c.Next(t.Context())
	if err != nil || string(m.Envelope.Method) != "roots/list" {
		t.Errorf("got %s, %v", m.Raw, err)
	}
}

func TestABatchGoesOutAtOnce(t *testing.T) {
	c, p := over(child.Options{})
	defer c.Close()
	sent := make(chan error, 1)
	go func() {
		sent <- c.Batch(t.Context(), func(w framers.Writer) error {
			for i := range 3 {
				if err := w.WriteMessage(fmt.Append(nil, i)); err != nil {
					return err
				}
			}
			return nil
		})
	}()
	for i := range 3 {
		if line := string(p.hear()); line != fmt.Sprintf("%d\n", i) {
			t.Errorf("message %d is %q", i, line)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	if n := c.In.Calls(); n != 1 {
		t.Errorf("took %d calls", n)
	}
}

// A taker is the input of a program: it takes what is written as take says.
type taker struct {
	take     func(n int64) (int64, error)
	deadline func()
}

func (p taker) Write(b []byte) (int, error) {
	n, err := p.take(int64(len(b)))
	return int(n), err
}

func (p taker) Writev(bufs [][]byte) (int64, error) {
	var n int64
	for _, b := range bufs {
		n += int64(len(b))
	}
	return p.take(n)
}

func (p taker) SetWriteDeadline(time.Time) error {
	p.deadline()
	return nil
}

func (p taker) Close() error { return nil }

// A program that takes a large message slowly is not silent: so its parts are counted.
func TestPartsOfAMessageAreCountedWhenTheyWereTaken(t *testing.T) {
	for how, send := range map[string]func(*child.Conn, []byte) error{
		"alone": func(c *child.Conn, msg []byte) error { return c.Send(t.Context(), msg) },
		"in a batch": func(c *child.Conn, msg []byte) error {
			return c.Batch(t.Context(), func(w framers.Writer) error { return w.WriteMessage(msg) })
		},
	} {
		t.Run(how, func(t *testing.T) { countsParts(t, send) })
	}
}

func countsParts(t *testing.T, send func(*child.Conn, []byte) error) {
	var c *child.Conn
	var before []int64 // what was counted before each write
	out, says := io.Pipe()
	in := taker{take: func(n int64) (int64, error) {
		before = append(before, c.In.Bytes())
		return n, nil
	}}
	c = child.Over(out, in, framers.NDJSON(), child.Options{})
	defer c.Close()
	defer says.Close()
	msg := bytes.Repeat([]byte("x"), 300<<10)
	if err := send(c, msg); err != nil {
		t.Fatal(err)
	}
	last := int64(0)
	for _, n := range append(before, 300<<10) {
		if n-last > 128<<10 {
			t.Errorf("counted before the writes: %d", before)
		}
		last = n
	}
	if n := c.In.Bytes(); n != 300<<10+1 {
		t.Errorf("counted %d in all", n)
	}
}

// A reader that leaves just when the time is over has left.
func TestAReaderThatLeavesAtTheEndOfTheTimeHasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	out, says := io.Pipe()
	in := taker{
		take: func(int64) (int64, error) {
			cancel()
			<-left
			return 0, syscall.EPIPE
		},
		deadline: sync.OnceFunc(func() { close(left) }),
	}
	c := child.Over(out, in, framers.NDJSON(), child.Options{})
	defer c.Close()
	defer says.Close()
	err := c.Send(ctx, []byte(`{}`))
	if !errors.Is(err, child.ErrLeft) || errors.Is(err, child.ErrNotTaken) {
		t.Errorf("Send = %v", err)
	}
}

func TestAStreamThatIsHeldTwiceIsResumedOnce(t *testing.T) {
	c, p := over(child.Options{Held: true})
	defer c.Close()
	time.Sleep(10 * time.Millisecond) // let the reader wait for what was held first
	c.Out.Hold()
	c.Out.Resume()
	go p.say(`{"jsonrpc":"2.0","method":"notice"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := c.Next(ctx); err != nil {
		t.Error(err)
	}
}
