package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// leaves waits for a server that has a reason to leave, and judges how it leaves. A server that is
// still at work at the limit, for example because it got little CPU, gets the same time once more.
// A server may die of the signal that it was sent, "" for none. leaves returns a sentence for the
// finding.
func (c *serverCase) leaves(
	ctx context.Context, limit time.Duration, after, signal string,
) (found string, fine bool) {
	p := c.server.Process
	began := time.Now()
	before, _ := p.CPU()
	patient, stop := c.server.Patient(ctx, limit, 3*limit)
	defer stop()
	select {
	case <-p.Done():
	case <-patient.Done():
	}
	took := time.Since(began)
	if !p.Ended(0) {
		stays := "stays"
		now, known := p.CPU()
		if known && now-before > took/5 {
			stays = "stays, and burns a CPU"
		}
		return fmt.Sprintf("%s: still there %s after %s", stays, duration(took), after), false
	}
	ended := c.server.ExitVerdict()
	killed := ended.Signal()
	if killed != "" && killed != signal {
		return fmt.Sprintf("ended by %s after %s", killed, after), false
	}
	return fmt.Sprintf("left %s after %s: %s", duration(took), after, ended), true
}

// settle records how a server left, as ok or as a failure.
func (c *serverCase) settle(found string, fine bool) {
	if fine {
		c.ok("%s", found)
	} else {
		c.fails("%s", found)
	}
}

// closesOutput sends three requests, one after another, after the output was closed: a child
// process that another goroutine is just starting may hold the output open for a while.
func closesOutput(ctx context.Context, c *serverCase) error {
	c.server.CloseOutput()
	limit := max(target.LeaveAtEnd, c.gone())
	r := c.protocol.Smallest(target.Transport)
	asking, stop := context.WithCancel(ctx)
	var asked sync.WaitGroup
	asked.Go(func() {
		for i := range int64(3) {
			// an error is ignored: the server may have left by then
			_ = c.server.SendWithin(asking, limit, r.Number(i))
			child.Within(asking.Done(), c.o.Patience/2)
		}
	})
	found, _ := c.leaves(ctx, limit, "its output was closed", "")
	stop()
	asked.Wait()
	c.settle(found, !strings.HasPrefix(found, "stays")) // any kind of end is fine
	return nil
}

func endsInARequest(ctx context.Context, c *serverCase) error {
	msg := c.protocol.Smallest(target.Tool).Number(1)
	c.sendRaw(ctx, msg[:len(msg)/2])
	c.server.CloseInput()
	limit := max(target.LeaveAtEnd, c.gone())
	found, _ := c.leaves(ctx, limit, "the end of its input in a request", "")
	c.settle(found, !strings.HasPrefix(found, "stays"))
	return nil
}

// endsIdle asks a server something, waits for a moment, and ends its input: some servers notice the
// end of their input only while they start. Other situations judge the answer.
func endsIdle(ctx context.Context, c *serverCase) error {
	if _, err := c.server.Trip(ctx, c.protocol.Smallest(target.Transport), 1); err != nil {
		return err
	}
	child.Within(ctx.Done(), c.o.Patience/2)
	c.server.CloseInput()
	c.settle(c.leaves(ctx, c.gone(), "the end of its input", ""))
	return nil
}

func endsAtStart(ctx context.Context, c *serverCase) error {
	var err error
	c.server, err = target.Launch(ctx, c.o, c.protocol)
	if err != nil {
		return err
	}
	c.server.CloseInput()
	after := "the end of its input, before anything was said"
	c.settle(c.leaves(ctx, c.gone()+c.beside, after, ""))
	return nil
}

// InFlight is how many requests are under way in "end-in-flight" when the input ends.
const InFlight = 8

func endsInFlight(ctx context.Context, c *serverCase) error {
	r := c.protocol.Smallest(target.Tool)
	for i := range int64(InFlight) {
		c.send(ctx, r.Number(i))
	}
	c.server.CloseInput()
	after := fmt.Sprintf("the end of its input, with %d requests in flight", InFlight)
	found, fine := c.leaves(ctx, c.gone(), after, "")
	answered := c.countAnswers(ctx)
	c.seen.Answered = &answered
	c.settle(fmt.Sprintf("%s; %d of %d were answered", found, answered, InFlight), fine)
	return nil
}

// countAnswers counts the answers to requests that are in flight, until no more come.
func (c *serverCase) countAnswers(ctx context.Context) (n int64) {
	soon, cancel := context.WithTimeout(ctx, c.o.Patience)
	defer cancel()
	for n < InFlight {
		m, err := c.server.Next(soon)
		if err != nil {
			break
		}
		if !c.protocol.JSONRPC || m.Envelope.Kind().Answers() {
			n++
		}
	}
	return n
}

// sendsSignal sends a signal to the server alone, as a client does that knows its process number,
// and leaves its input open.
func sendsSignal(ctx context.Context, c *serverCase) error {
	s := syscall.SIGTERM
	if c.name == "sigint" {
		s = syscall.SIGINT
	}
	name := strings.ToUpper(c.name)
	err := c.server.Process.Cmd.Process.Signal(s)
	if err != nil {
		return fmt.Errorf("%s cannot be sent: %w", name, err)
	}
	found, fine := c.leaves(ctx, c.gone(), name, name)
	if fine {
		left, _ := proc.EndMarked(c.mark, c.gone())
		if len(left) > 0 {
			found = "it left, and what it started stays: " + strings.Join(left, ", ")
			fine = false
		}
	}
	c.settle(found, fine)
	return nil
}

// killsClient kills only the process that started the server, and closes our ends of the pipes, as
// the kernel does when a client is killed.
func killsClient(_ context.Context, c *serverCase) error {
	p := c.server.Process
	p.Cmd.Process.Kill()
	<-p.Done()
	p.Close()
	began := time.Now()
	left, _ := proc.EndMarked(c.mark, c.gone())
	took := time.Since(began)
	if len(left) > 0 {
		c.fails("still there %s after its client was killed: %s",
			c.gone(), strings.Join(left, ", "))
	}
	c.ok("gone %s after its client was killed", duration(took))
	return nil
}

// readsToTheEnd ends a server and looks for processes that it started and left behind. If one of
// them holds the output open, a reader of the output never sees its end.
func readsToTheEnd(_ context.Context, c *serverCase) error {
	c.server.CloseInput()
	if !c.server.Process.Ended(c.gone()) {
		return errors.New("it does not leave at the end of its input")
	}
	until := time.Now().Add(c.o.Patience)
	open := ""
	if !child.Within(c.server.Drained(), time.Until(until)) {
		open = "standard error"
	}
	if !child.Within(c.server.Closed(), time.Until(until)) {
		open = "standard output"
	}
	limit := c.gone()
	if open != "" {
		limit = 0
	}
	left, _ := proc.EndMarked(c.mark, limit)
	names := strings.Join(left, ", ")
	switch {
	case open != "":
		c.fails("%s is still open %s after it ended: %s holds it", open, c.o.Patience, names)
	case len(left) > 0:
		c.fails("still there %s after it ended: %s", limit, names)
	default:
		c.ok("its output ends with it, and nothing that it started is left")
	}
	return nil
}
