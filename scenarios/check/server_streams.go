package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// sendsDirt sends lines that are no messages, and then a request that has to be answered.
func sendsDirt(ctx context.Context, c *serverCase) error {
	if c.protocol.Framing.String() != "ndjson" || !c.protocol.JSONRPC {
		c.notApplicable("JSON-RPC in lines, which the server does not speak")
		return nil
	}
	c.sendRaw(ctx, []byte("\n  \nthis is a log line\n{\"broken\":\n"))
	return c.roundTrip(ctx, c.protocol.Smallest(target.Tool))
}

// echo makes a request of this size whose answer repeats what was sent. If the server offers no
// such request, the error names flags that may help.
func (c *serverCase) echo(size int) (*target.Request, error) {
	r := c.protocol.Request(target.Tool, size)
	switch {
	case r.Echoes:
		return r, nil
	case c.protocol.HasTools() && !c.protocol.TakesText:
		return nil, errors.New("the server has no tool that returns its text: " +
			"none that it lists takes a text")
	case c.options.Tool != "":
		return nil, fmt.Errorf("tool %s does not return the text that it is given", c.options.Tool)
	case c.protocol.HasTools():
		return nil, errors.New("no tool is called that returns the text that it is given: " +
			"if one does, name it (--tool, --arg)")
	}
	return nil, errors.New("its answers do not hold what was sent: record a session " +
		"(tap --bodies) and replay it (drive --messages)")
}

// splitsCharacters sends characters of several bytes, in pieces that end in the middle of
// characters, and others that JSON escapes. The answer has to repeat the characters.
func splitsCharacters(ctx context.Context, c *serverCase) error {
	r, err := c.echo(8 << 10)
	if err != nil {
		return err
	}
	c.server.In.WriteApart()
	err = c.roundTrip(ctx, r.WithCharacters(0))
	if err == nil && c.Found == "" && c.server.In.Joined() {
		return errors.New("it gave them back, but may have read several pieces at once: only " +
			"Linux tells, and only of a server that reads within a second")
	}
	return err
}

// trickles sends a request through a pipe that cuts it into single bytes.
func trickles(ctx context.Context, c *serverCase) error {
	c.asked = c.protocol.Request(target.Tool, 4<<10)
	return c.roundTrip(ctx, c.asked)
}

// bursts says how many requests some tests send without waiting for an answer. The key is the name
// of the test. The answers are always more than a pipe holds. In "both-write", the requests are
// more than a pipe holds, too.
var bursts = map[string]struct {
	size, n int  // the bytes of a request, and the number of requests
	late    bool // nobody reads the answers for the time c.target.Patience
}{
	"slow-reader":        {size: 64 << 10, n: 64, late: true},
	"nonblocking-stdout": {size: 256 << 10, n: 4, late: true},
	"both-write":         {size: 512 << 10, n: 8},
}

// sendsMany sends several requests without waiting for answers, and then compares the answers.
func sendsMany(ctx context.Context, c *serverCase) error {
	burst := bursts[c.name]
	r, err := c.echo(burst.size)
	if err != nil {
		return err
	}
	c.asked = r
	before := c.server.Usage()
	written := c.server.Out.Bytes()
	limit := c.server.LimitOf(r.Kind, burst.n*burst.size)
	patient, stop := c.server.Patient(ctx, limit, mostWaits*limit)
	defer stop()
	if burst.late {
		c.server.Out.Hold()
		reader := time.AfterFunc(c.target.Patience, c.server.Out.Resume)
		defer reader.Stop()
	}
	out := c.sendCopies(patient, r, int64(burst.n))
	if out.Verdict == target.OK {
		return nil
	}
	c.server.Out.Resume()
	for err == nil { // until the server writes no more
		_, err = c.server.Next(patient)
	}
	written = c.server.Out.Bytes() - written
	c.server.Explain(ctx, before, &out)
	isWhole := written >= int64(burst.n*len(r.Payload())) // else a part of an answer was lost
	if c.pipes.NonBlock && (out.Verdict != target.Mixed || !isWhole) {
		c.Advice = adviceFor(classLost, c.options.Command)
		out.Why = "its standard output was made non-blocking; " + out.Why
	}
	c.judgeOutcome(out)
	return context.Cause(ctx)
}

// sendCopies sends n copies of a request, and then compares the answers with them. It returns the
// first outcome that is wrong.
func (c *serverCase) sendCopies(ctx context.Context, r *target.Request, n int64) target.Outcome {
	for i := range n {
		if err := c.server.Send(ctx, r.Number(i)); err != nil {
			return target.Outcome{Verdict: target.Deaf, Why: err.Error()}
		}
	}
	for number := range n {
		m, err := c.server.Next(ctx)
		if err != nil {
			return target.Outcome{Verdict: target.Deaf, Why: err.Error()}
		}
		if r.Numbered() { // answers may come in any order
			number, _ = target.NumberOf(m.Envelope.ID)
		}
		r.Number(number)
		out := r.Check(m.Raw, m.Envelope)
		if out.Verdict != target.OK {
			return out
		}
	}
	return target.Outcome{Verdict: target.OK}
}

const (
	fewRequests  = 200
	mostRequests = 20_000
)

// readsNoStderr sends requests while nobody reads the server's standard error. It stops when the
// unread output no longer grows.
func readsNoStderr(ctx context.Context, c *serverCase) error {
	c.asked = c.protocol.Request(target.Tool, 1<<10)
	said := 0 // bytes in the pipe of standard error
	for i := range int64(mostRequests) {
		if i > 0 && i%fewRequests == 0 {
			unread, _ := c.server.StderrUnread()
			if unread == 0 && !c.protocol.HasTools() { // its requests are refused
				return fmt.Errorf("it wrote nothing to standard error in %d requests: "+
					"what it does when its log is not read was not seen", fewRequests)
			}
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
		waitsForReader := unread != nil && *unread > 0
		if out.Verdict == target.Deaf && waitsForReader {
			out.Verdict = target.Deadlock
		}
		c.judgeOutcome(out)
		return nil
	}
	return nil
}

// refusesFrame matches an answer with the id of our request, 1000000001. It also matches an answer
// with an empty id, as servers send if they cannot read the request.
var refusesFrame = regexp.MustCompile(`"id"\s*:\s*(1000000001\b|null|"")`)

// speaksAnotherFraming sends a request after a Content-Length header to a server that reads lines,
// and as a line to any other server. The server may answer or end, but not wait in silence.
func speaksAnotherFraming(ctx context.Context, c *serverCase) error {
	msg := c.protocol.Smallest(target.Transport).Number(1)
	framed := append(slices.Clone(msg), '\n')
	if c.protocol.Framing.String() == "ndjson" {
		framed = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(msg), msg)
	}
	said := c.server.Out.Overhear()
	c.sendRaw(ctx, framed)
	patient, stop := c.server.Patient(ctx, c.target.Patience, 3*c.target.Patience)
	defer stop()
	for patient.Err() == nil && !refusesFrame.MatchString(said.String()) {
		if c.server.Process.Ended(tick) {
			c.ok("ended: %s", c.server.ExitVerdict())
			return nil
		}
	}
	if !refusesFrame.MatchString(said.String()) {
		c.fails("waits in silence")
	}
	return nil
}

// announced is the false length in a message's header, in bytes. A careless server allocates that
// much memory at once.
const announced = 2_000_000_000

// liesAboutLength announces more bytes than it sends, and judges whether the server allocates them.
// Addresses without memory behind them are a remark only: a buffer that nobody writes to costs no
// memory.
func liesAboutLength(ctx context.Context, c *serverCase) error {
	if c.protocol.Framing.String() != "content-length" {
		c.notApplicable("messages whose length is announced")
		return nil
	}
	p := c.server.Process
	resident, known := p.PeakMemory()
	if !known {
		return errors.New("this system does not tell how much memory a process has")
	}
	before, _ := p.PeakAddresses()
	reserved := before // the peak of the reserved addresses so far, in bytes
	c.sendRaw(ctx, fmt.Appendf(nil, "Content-Length: %d\r\n\r\n{}", announced))
	gone := false
	for i := 0; i < 10 && !gone; i++ { // after the end of a process its peak cannot be read
		gone = p.Ended(c.target.Patience / 10)
		now, _ := p.PeakAddresses()
		reserved = max(reserved, now)
	}
	after, known := p.PeakMemory()
	uses := known && after-resident > announced/2
	switch {
	case uses:
		c.fails("allocates what is announced: %s of memory", megabytes(after-resident))
	case reserved-before > announced/2:
		c.slow("reserves what is announced: %s of addresses, of which it uses %s",
			megabytes(reserved-before), megabytes(max(0, after-resident)))
	default:
		c.ok("was not seen to reserve what was announced")
	}
	return nil
}

// megabytes formats a number of bytes, rounded: "1,949 MB".
func megabytes(n int64) string { return results.FormatGrouped((n+5e5)/1e6) + " MB" }

// looksForStrays looks through all that a server writes to standard output for lines that are no
// messages, and for header lines that end with LF alone.
func looksForStrays(ctx context.Context, c *serverCase) error {
	err := c.roundTrip(ctx, c.protocol.Smallest(target.Tool))
	if err != nil || c.Found != "" {
		return err
	}
	c.server.CloseInput()
	c.server.Process.Stop(c.leaveTime(), target.LeaveAtTerm)
	child.Within(c.server.Closed(), c.target.Patience)
	if lines := c.strayLines(); lines != "" {
		c.fails("%s", lines)
	} else if seen := c.strays.Load(); seen != nil {
		c.fails("%s", *seen)
	} else if c.server.BareHeaders() > 0 {
		c.Advice = "end each line of a header with CR and LF (\\r\\n), as LSP asks, the empty " +
			"line after the last, too; write bytes: a stream in text mode may change line ends"
		c.fails("a header line ends with LF alone: clients that look for CR LF wait for ever")
	}
	c.ok("nothing but messages on standard output, from start to end, with one small request; " +
		"for large answers see large-reply")
	return nil
}

// strayLines says which lines without a message the server has written. It returns "" for none.
func (c *serverCase) strayLines() string {
	lines, first := c.server.Strays.Lines()
	if lines == 0 {
		return ""
	}
	return fmt.Sprintf("%s on standard output without a message, the first: %q",
		results.FormatCount(int(lines), "line"), first)
}

// noteStrays notes the lines without a message for the test "stray-output". If the user left that
// test out, this one fails. The pieces of a broken answer are no such lines, nor are answers to a
// batch or in another framing.
func (c *serverCase) noteStrays() {
	lines := c.strayLines()
	answersAsAsked := c.name == "batch" || c.name == "wrong-framing"
	if lines == "" || answersAsAsked || c.Verdict != results.OK {
		return
	}
	only := c.options.Only
	if len(only) > 0 && !slices.Contains(only, "stray-output") {
		c.fails("%s", lines)
		c.Advice = "log to standard error, and keep dependencies from printing"
		return
	}
	lines = "in " + c.name + ": " + lines
	c.strays.CompareAndSwap(nil, &lines)
}

const (
	fairRequest = 1 << 20          // bytes; real clients send no larger requests
	limitTime   = 20 * time.Second // how long to search for a limit, unless Timeout is longer
)

// asksForMore sends larger and larger requests, up to fairRequest bytes, and searches for the
// largest that the server answers.
func asksForMore(ctx context.Context, c *serverCase) error {
	var failure target.Outcome
	s := target.Search{First: 1 << 10, Factor: 2, Most: fairRequest}
	s.Least = c.protocol.Smallest(target.Transport).Size()
	err := s.Run(time.Now().Add(max(limitTime, c.options.Timeout)), func(size int) (bool, error) {
		out, err := c.trySize(ctx, size)
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
	case s.High == 0: // no size failed
		unseen := ""
		if !c.protocol.Request(target.Transport, 0).Echoes {
			unseen = "; its answers stayed small: see large-reply"
		}
		c.ok("takes requests of %s; larger ones are looked at by pipebench drive --find-limit%s",
			works, unseen)
	case failure.Verdict == target.ErrorReply:
		c.ok("refuses requests of %s with an error, and takes those of %s", failed, works)
	case failure.Verdict == target.Late:
		c.cannotTell("a request of %s was answered too late: pipebench drive tells whether its "+
			"size is to blame", failed)
	case s.Low == 0: // the size is not to blame
		c.judgeOutcome(failure)
	default:
		c.fails("a request of %s is answered; after one of %s: %s",
			works, failed, failure.Verdict.Text())
	}
	return nil
}

// trySize sends a request of this size, and then a small one, to see whether the server still
// works. If not, trySize starts a new process of the server.
func (c *serverCase) trySize(ctx context.Context, size int) (target.Outcome, error) {
	r := c.protocol.Request(target.Transport, size)
	out, err := c.server.Trip(ctx, r, 1)
	if err == nil && out.Verdict == target.OK {
		small := c.protocol.Smallest(target.Transport)
		out, err = c.server.Trip(ctx, small, 2)
	}
	if err != nil || out.Lives() {
		return out, err
	}
	paces := c.server.Paces // how fast the server has answered, from which deadlines follow
	c.server.Close()
	c.server, err = target.Start(ctx, c.target, c.protocol)
	if err == nil {
		c.server.Paces = paces
	}
	return out, err
}

// fairReply is the size of an answer, in bytes, that real clients can read.
const fairReply = 256 << 10

// asksForLargeReplies asks for larger and larger answers, up to fairReply bytes.
func asksForLargeReplies(ctx context.Context, c *serverCase) error {
	if c.protocol.ToolFails {
		err := c.roundTrip(ctx, c.protocol.Smallest(target.Tool))
		if err != nil || c.Verdict != results.OK {
			return err
		}
	}
	came := "a small request was answered"
	whole := math.MaxInt // bytes of that answer, once one was as large as it should be
	for size := 4 << 10; size <= fairReply; size *= 4 {
		r, err := c.requestForReply(size)
		if err != nil {
			return err
		}
		asked := "an answer of " + stat.FormatBytes(int64(size))
		if c.protocol.Demand != nil { // the number may count other things than bytes
			asked = fmt.Sprintf("%s=%d", c.protocol.Call, size)
		}
		// A deadline that follows from the size of the request may be too short for the answer.
		r.Least = c.leaveTime()
		// if the server also fails at another request as large as r, the size of the answer is not
		// to blame
		c.asked = c.protocol.Request(target.Transport, r.Size())
		out, err := c.server.Trip(ctx, r, 1)
		if err != nil {
			return err
		}
		tooSmall := out.Size < r.Demands
		if out.Verdict != target.OK || tooSmall {
			c.judgeReply(out, asked, came, whole)
			return nil
		}
		came = asked + " came whole"
		if r.Demands > 0 {
			came += ", with " + stat.FormatBytes(int64(out.Size))
		}
		whole = out.Size
	}
	c.ok("answers of %s come; larger ones are looked at by pipebench drive --find-limit",
		stat.FormatBytes(fairReply))
	return nil
}

// requestForReply makes a request whose answer has about size bytes.
func (c *serverCase) requestForReply(size int) (*target.Request, error) {
	if c.protocol.Demand != nil {
		return c.protocol.Demand(size), nil
	}
	r, err := c.echo(size)
	if tool, arg, known := strings.Cut(c.protocol.Call, " "); err != nil && known {
		err = fmt.Errorf("%w; --tool %s --arg %s may make large answers", err, tool, arg)
	}
	return r, err
}

// judgeReply judges the answer to a request for what asked says. The parameter earlier says which
// answer before it came whole. If the answer has no more than least bytes, the tool may have no
// more.
func (c *serverCase) judgeReply(out target.Outcome, asked, earlier string, least int) {
	found := fmt.Sprintf("%s: %s: %s; %s", asked, out.Verdict.Text(), out.Why, earlier)
	isShort := out.Size > 0 && out.Verdict == target.Truncated
	if out.Verdict == target.OK {
		found = fmt.Sprintf("%s: the answer has %s; %s",
			asked, stat.FormatBytes(int64(out.Size)), earlier)
		isShort = true
	}
	switch {
	case out.Verdict == target.ErrorReply:
		c.ok("refuses %s with an error; %s", asked, earlier)
	case out.Verdict == target.Late:
		c.cannotTell("%s", found)
	case isShort && out.Size <= least:
		c.Class = classCut
		c.cannotTell("%s", found)
	default:
		c.fails("%s", found)
		c.adviseOn(out)
	}
}
