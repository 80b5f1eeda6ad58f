package check

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

func sendsDirt(ctx context.Context, c *serverCase) error {
	if c.server.Framing().String() != "ndjson" || !c.protocol.JSONRPC {
		return &notApplicableError{"JSON-RPC in lines, which the server does not speak"}
	}
	c.sendRaw(ctx, []byte("\n  \nthis is a log line\n{\"broken\":\n"))
	return c.meet(ctx, c.protocol.Smallest(target.Tool))
}

// echo makes a request to a server whose answers repeat what was sent.
func (c *serverCase) echo(size int) (*target.Request, error) {
	r := c.protocol.Request(target.Tool, size)
	if !r.Echoes {
		return nil, errors.New(c.noEcho())
	}
	return r, nil
}

// noEcho says why answers cannot be compared, and which flag helps.
func (c *serverCase) noEcho() string {
	switch {
	case c.finding.o.Tool != "":
		return "tool " + c.finding.o.Tool + " does not return the text that it is given: " +
			"name one that does (--tool, --arg)"
	case c.protocol.HasTools():
		return "no tool echo, so answers could not be compared: name a tool that returns the " +
			"text that it is given (--tool, --arg)"
	}
	return "the answers of the server do not hold what was sent"
}

func splitsCharacters(ctx context.Context, c *serverCase) error {
	r, err := c.echo(8 << 10)
	if err != nil {
		return err
	}
	const text = "é漢😀aß語🜁" // 2, 3, 4, 1, 2, 3 and 4 bytes
	b := r.Payload()
	for n := target.StampDigits; n+len(text) <= len(b)-target.StampDigits; {
		n += copy(b[n:], text)
	}
	return c.meet(ctx, r)
}

func trickles(ctx context.Context, c *serverCase) error {
	c.asked = c.protocol.Request(target.Tool, 4<<10)
	return c.meet(ctx, c.asked)
}

// exchanges are requests that are sent without waiting for their answers, by situation. Answers
// that are read late are more than the pipes hold. If both sides write, both requests and answers
// are more than their pipe holds.
var exchanges = map[string]struct {
	size, n int
	late    bool // nobody reads the answers for a while
}{
	"slow-reader":        {64 << 10, 64, true},
	"nonblocking-stdout": {256 << 10, 4, true},
	"both-write":         {512 << 10, 8, false},
}

// sendsMany sends requests without waiting, and then compares the answers.
func sendsMany(ctx context.Context, c *serverCase) error {
	e := exchanges[c.name]
	r, err := c.echo(e.size)
	if err != nil {
		return err
	}
	c.asked = r
	before := c.server.Usage()
	limit := c.server.LimitOf(r.Kind, e.n*e.size)
	patient, stop := c.server.Patient(ctx, limit, gonePatience*limit)
	defer stop()
	if e.late {
		c.server.Out.Hold()
		reads := time.AfterFunc(c.o.Patience, c.server.Out.Resume)
		defer reads.Stop()
	}
	for i := range e.n {
		err := c.server.Send(patient, r.Number(int64(i)))
		if err != nil {
			out := target.Outcome{Verdict: target.Deaf, Why: err.Error()}
			return c.lostAnswer(ctx, before, out)
		}
	}
	for i := range e.n {
		m, err := c.server.Next(patient)
		if err != nil {
			out := target.Outcome{Verdict: target.Deaf, Why: err.Error()}
			return c.lostAnswer(ctx, before, out)
		}
		number := int64(i)
		if r.Numbered() { // answers may come in any order
			number, _ = target.NumberOf(m.Envelope.ID)
		}
		r.Number(number)
		out := r.Check(m.Raw, m.Envelope)
		if out.Verdict != target.OK {
			return c.lostAnswer(ctx, before, out)
		}
	}
	return nil
}

// lostAnswer explains an answer that did not come, or not as it should.
func (c *serverCase) lostAnswer(
	ctx context.Context, before target.Usage, out target.Outcome,
) error {
	c.server.Out.Resume()
	c.server.Explain(ctx, before, &out)
	c.met(out)
	return context.Cause(ctx)
}

// While nobody reads its standard error, a server gets at least fewRequests. A server that writes
// to standard error gets requests until that pipe is full, at most mostRequests.
const (
	fewRequests  = 200
	mostRequests = 20_000
)

func readsNoStderr(ctx context.Context, c *serverCase) error {
	c.asked = c.protocol.Request(target.Tool, 1<<10)
	said := 0
	for i := range int64(mostRequests) {
		if i > 0 && i%fewRequests == 0 {
			unread, _ := c.server.StderrUnread()
			if unread <= said {
				return nil
			}
			said = unread
		}
		out, err := c.server.Trip(ctx, c.asked, i+1)
		if err != nil {
			return err
		}
		if out.Verdict == target.OK {
			continue
		}
		c.seen.Answered = &i
		unread := out.Evidence.UnreadStderr
		if out.Verdict == target.Deaf && unread != nil && *unread > 0 {
			out.Verdict = target.Deadlock
		}
		c.met(out)
		return nil
	}
	return nil
}

// refusesFrame matches, within any framing, an answer to the first request or to one whose id could
// not be read.
var refusesFrame = regexp.MustCompile(`"id"\s*:\s*(1000000001\b|null|"")`)

func speaksAnotherFraming(ctx context.Context, c *serverCase) error {
	msg := c.protocol.Smallest(target.Transport).Number(1)
	framed := append(slices.Clone(msg), '\n')
	if c.server.Framing().String() == "ndjson" {
		framed = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(msg), msg)
	}
	said := c.server.Out.Overhear()
	c.sendRaw(ctx, framed)
	patient, stop := c.server.Patient(ctx, c.o.Patience, 3*c.o.Patience)
	defer stop()
	for patient.Err() == nil && !refusesFrame.MatchString(said.String()) {
		select {
		case <-c.server.Process.Done():
			c.ok("ended: %s", c.server.ExitVerdict())
			return nil
		case <-time.After(tick):
		case <-patient.Done():
		}
	}
	if !refusesFrame.MatchString(said.String()) {
		c.fails("waits in silence")
	}
	return nil
}

// announced is the length, in bytes, that a header claims: a careless server allocates as much.
const announced = 2_000_000_000

// liesAboutLength looks at memory in use and at reserved address space: many allocators do not
// touch memory before the program uses it.
func liesAboutLength(ctx context.Context, c *serverCase) error {
	if c.server.Framing().String() != "content-length" {
		return &notApplicableError{"messages whose length is announced"}
	}
	p := c.server.Process
	resident, known := p.PeakMemory()
	if !known {
		return errors.New("this system does not tell how much memory a process has")
	}
	before, _ := p.PeakAddresses()
	addresses := before // the most that the server has reserved
	c.sendRaw(ctx, fmt.Appendf(nil, "Content-Length: %d\r\n\r\n{}", announced))
	gone := false
	for i := 0; i < 10 && !gone; i++ { // once a process has ended, its peak can no longer be read
		gone = p.Ended(c.o.Patience / 10)
		now, _ := p.PeakAddresses()
		addresses = max(addresses, now)
	}
	after, known := p.PeakMemory()
	if known && after-resident > announced/2 || addresses-before > announced/2 {
		c.fails("allocates what is announced")
	}
	return nil
}

// looksForStrays looks for lines that are no messages in all that a server writes.
func looksForStrays(ctx context.Context, c *serverCase) error {
	err := c.meet(ctx, c.protocol.Smallest(target.Tool))
	if err != nil || c.Found != "" {
		return err
	}
	c.server.CloseInput()
	c.server.Process.Stop(c.gone(), target.LeaveAtTerm)
	child.Within(c.server.Closed(), c.o.Patience)
	lines, first := c.server.Strays.Lines()
	if lines > 0 {
		c.fails("%d lines on standard output are no messages, the first: %q", lines, first)
	}
	c.ok("nothing but messages on standard output, from start to end, with one small request; " +
		"for large answers see large-reply")
	return nil
}

const (
	fairRequest = 1 << 20          // bytes of the largest request that clients in use send
	limitTime   = 20 * time.Second // for the search for a lower limit, at most
)

// asksForMore grows a request, and looks for the largest that the server takes.
func asksForMore(ctx context.Context, c *serverCase) error {
	var failure target.Outcome
	s := target.Search{First: 1 << 10, Factor: 2, Most: fairRequest}
	s.Least = c.protocol.Smallest(target.Transport).Size()
	err := s.Run(time.Now().Add(limitTime), func(size int) (bool, error) {
		out, err := c.try(ctx, size)
		if out.Verdict != target.OK {
			failure = out
		}
		return out.Verdict == target.OK, err
	})
	if err != nil {
		return err
	}
	failed := stat.FormatBytes(int64(s.High))
	works := stat.FormatBytes(int64(s.Low))
	switch {
	case s.IsLate():
		return errors.New("requests took too long to be made larger")
	case s.High == 0:
		unseen := ""
		if !c.protocol.Request(target.Transport, 0).Echoes {
			unseen = "; its answers stayed small: see large-reply"
		}
		c.ok("takes requests of %s; larger ones are looked at by pipebench drive --find-limit%s",
			works, unseen)
	case failure.Verdict == target.ErrorReply:
		c.ok("refuses requests of %s with an error, and takes those of %s", failed, works)
	default:
		c.fails("to a request of %s: %s; to one of %s: an answer",
			failed, failure.Verdict.Text(), works)
	}
	return nil
}

// try sends a request of a size and then a small one, because a server may answer the first and
// end. If the server does not live on, it is started again.
func (c *serverCase) try(ctx context.Context, size int) (target.Outcome, error) {
	r := c.protocol.Request(target.Transport, size)
	out, err := c.server.Trip(ctx, r, 1)
	if err == nil && out.Verdict == target.OK {
		small := c.protocol.Smallest(target.Transport)
		out, err = c.server.Trip(ctx, small, 2)
	}
	if err != nil || out.Lives() {
		return out, err
	}
	paces := c.server.Paces
	c.server.Close()
	c.server, err = target.Start(ctx, c.o, c.protocol)
	if err == nil {
		c.server.Paces = paces
	}
	return out, err
}

// fairReply is the size in bytes of an answer that clients in use take.
const fairReply = 256 << 10

// asksForLargeReplies asks for larger and larger answers: a tool that makes as many bytes as it is
// asked for if there is one, else one that returns what it is sent.
func asksForLargeReplies(ctx context.Context, c *serverCase) error {
	came := "a small one"
	for size := 4 << 10; size <= fairReply; size *= 4 {
		r, err := c.requestForReply(size)
		if err != nil {
			return err
		}
		r.Least = c.gone() // the size of a request does not tell how long its answer takes
		// if a server takes no request as large as r, its answers are not to blame
		c.asked = c.protocol.Request(target.Transport, r.Size())
		before, _ := c.server.Strays.Lines()
		out, err := c.server.Trip(ctx, r, 1)
		if err != nil {
			return err
		}
		if out.Verdict != target.OK || out.Size < r.Demands {
			lines, first := c.server.Strays.Lines()
			c.judgeReply(out, stat.FormatBytes(int64(size)), came, lines-before, first)
			return nil
		}
		came = "one of " + stat.FormatBytes(int64(size))
	}
	c.ok("answers of %s come; larger ones are looked at by pipebench drive --find-limit",
		stat.FormatBytes(fairReply))
	return nil
}

// requestForReply makes a request for an answer of about so many bytes.
func (c *serverCase) requestForReply(size int) (*target.Request, error) {
	if c.protocol.Demand != nil {
		return c.protocol.Demand(size), nil
	}
	return c.echo(size)
}

// judgeReply judges what came when an answer of a size was asked for. strays counts the lines that
// came meanwhile and are no messages. An answer that came whole is no failure, whatever it holds: a
// tool may shorten or alter what it returns.
func (c *serverCase) judgeReply(
	out target.Outcome, size, came string, strays int64, first string,
) {
	switch {
	case out.Verdict == target.ErrorReply:
		c.ok("refuses an answer of %s with an error; %s came", size, came)
	case out.Verdict == target.OK:
		c.cannotTell("asked for an answer of %s, the tool gave one of %s",
			size, stat.FormatBytes(int64(out.Size)))
	case out.Size > 0, out.Verdict == target.Late:
		c.cannotTell("an answer of %s: %s: %s", size, out.Verdict.Text(), out.Why)
	case out.Verdict == target.Unanswered && strays > 0:
		c.fails("an answer of %s: %d lines that are no messages came in its place, the first "+
			"such line of the server: %q; %s came", size, strays, first, came)
	default:
		c.fails("an answer of %s: %s; %s came", size, out.Verdict.Text(), came)
	}
}
