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

const noSignal = "" // says that the server was sent no signal

// awaitEnd waits until a server has exited, but no longer than limit, or than three times limit if
// the server is busy. The parameter event says in words why the server should exit. The result text
// says what the server did. The result exited is true if the server has exited, and fine is true if
// it did so by itself or by the given signal.
func (c *serverCase) awaitEnd(
	ctx context.Context, limit time.Duration, event, signal string,
) (text string, exited, fine bool) {
	p := c.server.Process
	began := time.Now()
	patient, stop := c.server.Patient(ctx, limit, 3*limit)
	defer stop()
	select {
	case <-p.Done():
	case <-patient.Done():
	}
	took := time.Since(began)
	if !p.Ended(0) {
		text = fmt.Sprintf("stays: still there %s after %s", duration(took), event)
		return text, false, false
	}
	exit := c.server.ExitVerdict()
	killed := exit.Signal()
	if killed != "" && killed != signal {
		return fmt.Sprintf("ended by %s after %s", killed, event), true, false
	}
	return fmt.Sprintf("left %s after %s: %s", duration(took), event, exit), true, true
}

// okIf sets the verdict "ok" if the parameter well is true, and otherwise "fails".
func (c *serverCase) okIf(well bool, found string) {
	if well {
		c.ok("%s", found)
	} else {
		c.fails("%s", found)
	}
}

// closesOutput closes our end of the server's output, and then sends three requests.
func closesOutput(ctx context.Context, c *serverCase) error {
	c.server.CloseOutput()
	limit := max(target.LeaveAtEnd, c.leaveTime())
	r := c.protocol.Smallest(target.Transport)
	asking, stop := context.WithCancel(ctx)
	var sender sync.WaitGroup
	sender.Go(func() {
		// the first request may still be answered: another new process may hold a copy of our end
		// of the pipe for a moment
		for i := range int64(3) {
			// an error is ignored: the server may have ended by then
			_ = c.server.SendWithin(asking, limit, r.Number(i))
			child.Within(asking.Done(), c.target.Patience/2) // a pause
		}
	})
	found, left, _ := c.awaitEnd(ctx, limit, "its output was closed", noSignal)
	stop()
	sender.Wait()
	c.okIf(left, found)
	return nil
}

// endsInARequest ends the server's input in the middle of a request.
func endsInARequest(ctx context.Context, c *serverCase) error {
	msg := c.protocol.Smallest(target.Tool).Number(1)
	c.sendRaw(ctx, msg[:len(msg)/2])
	c.server.CloseInput()
	limit := max(target.LeaveAtEnd, c.leaveTime())
	found, left, _ := c.awaitEnd(ctx, limit, "the end of its input in a request", noSignal)
	c.okIf(left, found)
	return nil
}

// endsIdle ends the input of a server that has answered a request and is idle. Some servers notice
// the end of their input only while they start.
func endsIdle(ctx context.Context, c *serverCase) error {
	if _, err := c.server.Trip(ctx, c.protocol.Smallest(target.Transport), 1); err != nil {
		return err
	}
	child.Within(ctx.Done(), c.target.Patience/2) // a pause
	c.server.CloseInput()
	found, _, fine := c.awaitEnd(ctx, c.leaveTime(), "the end of its input", noSignal)
	c.okIf(fine, found)
	return nil
}

func endsAtStart(ctx context.Context, c *serverCase) error {
	var err error
	c.server, err = target.Launch(ctx, c.target, c.protocol)
	if err != nil {
		return err
	}
	c.server.CloseInput()
	after := "the end of its input, before anything was said"
	found, _, fine := c.awaitEnd(ctx, c.leaveTime()+c.beside, after, noSignal)
	c.okIf(fine, found)
	return nil
}

// InFlight is how many requests are not answered yet when the test "end-in-flight" ends the
// server's input.
const InFlight = 8

// endsInFlight ends the input of a server that owes answers, of which the last is large if the
// server can be asked for one. Nobody reads for a while, so a large answer fills the pipe. A server
// may drop answers then, but must not cut one.
func endsInFlight(ctx context.Context, c *serverCase) error {
	small := c.protocol.Smallest(target.Tool)
	last, notLarge := c.requestForReply(fairReply)
	if notLarge != nil {
		last = small
	} else {
		last.Least = c.leaveTime()
		c.asked = last
	}
	c.server.Out.Hold()
	reader := time.AfterFunc(c.target.Patience, c.server.Out.Resume)
	defer reader.Stop()
	for i := range int64(InFlight - 1) {
		c.send(ctx, small.Number(i))
	}
	c.send(ctx, last.Number(InFlight-1))
	c.server.CloseInput()
	reader.Reset(c.target.Patience)
	after := fmt.Sprintf("the end of its input, with %d requests in flight", InFlight)
	found, exited, fine := c.awaitEnd(ctx, c.target.Patience+c.leaveTime(), after, noSignal)
	c.server.Out.Resume()
	wait := c.target.Patience
	if exited {
		wait = c.target.Start // the output ends soon, and the wait with it
	}
	answered, largest := c.countAnswers(ctx, wait)
	c.seen.Answered = &answered
	found = fmt.Sprintf("%s; %d of %d were answered", found, answered, InFlight)
	cut := c.server.Strays.HalfLine()
	switch {
	case notLarge != nil && fine:
		reason, _, _ := strings.Cut(notLarge.Error(), ": ") // without what to do about it
		c.cannotTell("%s; large answers were not tried: %s", found, reason)
		return nil
	case notLarge != nil: // it fails anyway
	case answered < InFlight && cut > 0 && c.server.Left(0):
		c.Class = classCut
		c.fails("%s; the last answer was cut after %s", found, size(cut))
	default:
		found += fmt.Sprintf(", the largest with %s, read %s late",
			size(largest), duration(c.target.Patience))
	}
	c.okIf(fine, found)
	return nil
}

// countAnswers counts the answers that come to the requests in flight, and returns the bytes of the
// largest. It stops when the output ends, or after the duration limit.
func (c *serverCase) countAnswers(
	ctx context.Context, limit time.Duration,
) (n, largest int64) {
	soon, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for n < InFlight {
		m, err := c.server.Next(soon)
		if err != nil {
			break
		}
		if !c.protocol.JSONRPC || m.Envelope.Kind().Answers() {
			n++
			largest = max(largest, int64(len(m.Raw)))
		}
	}
	return n, largest
}

// sendsSignal sends a signal to the server's process, but not to its process group, since a client
// may know only this process.
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
	found, _, fine := c.awaitEnd(ctx, c.leaveTime(), name, name)
	if fine {
		left, _ := proc.EndMarked(c.mark, c.leaveTime())
		if len(left) > 0 {
			c.fails("it left, and what it started stays: %s", strings.Join(left, ", "))
		}
	}
	c.okIf(fine, found)
	return nil
}

// killsClient kills the shell that started the server in place of a client. It also closes our ends
// of the pipes, as the kernel does for a real client.
func killsClient(_ context.Context, c *serverCase) error {
	p := c.server.Process
	p.Cmd.Process.Kill()
	<-p.Done()
	p.Close()
	began := time.Now()
	left, _ := proc.EndMarked(c.mark, c.leaveTime())
	took := time.Since(began)
	if len(left) > 0 {
		c.fails("still there %s after its client was killed: %s",
			c.leaveTime(), strings.Join(left, ", "))
	}
	c.ok("gone %s after its client was killed", duration(took))
	return nil
}

// readsToTheEnd ends the server's input, and looks for processes that outlive the server. If one of
// them holds the server's output open, a reader of that output never sees its end.
func readsToTheEnd(_ context.Context, c *serverCase) error {
	c.server.CloseInput()
	if !c.server.Process.Ended(c.leaveTime()) {
		return errors.New("it does not leave at the end of its input")
	}
	until := time.Now().Add(c.target.Patience)
	open := ""
	if !child.Within(c.server.Drained(), time.Until(until)) {
		open = "standard error"
	}
	if !child.Within(c.server.Closed(), time.Until(until)) {
		open = "standard output"
	}
	if open != "" {
		left, _ := proc.EndMarked(c.mark, 0)
		c.fails("%s is still open %s after it ended: %s holds it",
			open, c.target.Patience, strings.Join(left, ", "))
		return nil
	}
	left, _ := proc.EndMarked(c.mark, c.leaveTime())
	if len(left) > 0 {
		c.fails("still there %s after it ended: %s", c.leaveTime(), strings.Join(left, ", "))
	}
	c.ok("its output ends with it, and nothing that it started is left")
	return nil
}
