package claims

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A silence holds the times that an interview waits.
type silence struct {
	answer time.Duration // for the answer to a handshake
	none   time.Duration // for any other answer; then there is none
	leave  time.Duration // for the server to end: more than the five seconds that documents give
}

// patience is enough for servers that mean to answer: they do so in milliseconds, one on node after
// half a second at its first message.
var patience = silence{10 * time.Second, 1500 * time.Millisecond, 6 * time.Second}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"pipebench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	echo        = `{"jsonrpc":"2.0","id":9,"method":"tools/call",` +
		`"params":{"name":"echo","arguments":{"message":"hello"}}}`
)

// A question is sent to a server that was just started, after a handshake if greet is set. The
// finding is whether a message comes that answers it.
type question struct {
	name, title, text string
	greet             bool
	answers           func(child.Message) bool
}

var questions = []question{
	{
		name:    "content-length",
		title:   "a handshake with a header is answered",
		text:    fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(initialize), initialize),
		answers: answersHeader,
	},
	{
		name:    "blank-line",
		title:   "a request after a blank line is answered",
		text:    "\n" + ping + "\n",
		greet:   true,
		answers: answersPing,
	},
	{
		name:    "trailing-space",
		title:   "a request with spaces at its end is answered",
		text:    ping + "  \t\n",
		greet:   true,
		answers: answersPing,
	},
	{
		name:    "malformed-line",
		title:   "a request after a line that is no JSON is answered",
		text:    "{malformed\n" + ping + "\n",
		greet:   true,
		answers: answersPing,
	},
}

func answersPing(m child.Message) bool { return isResult(m, "2") }

// answersHeader takes an answer in either framing.
func answersHeader(m child.Message) bool {
	header := strings.HasPrefix(strings.ToLower(string(m.Raw)), "content-length:")
	return header || isResult(m, "1")
}

// An interviewer asks one MCP server how it behaves in cases that the documents of MCP describe.
type interviewer struct {
	command []string
	start   func() (*proc.Process, error)
	found   func(results.Finding) error
}

// interview starts an MCP server anew for each question, since a server may stop answering after an
// odd message, and reports findings such as "check/talk/newline". It calls the tool "echo" to
// see whether the answer comes when the input ends at once.
func interview(ctx context.Context, command []string, found func(results.Finding) error) error {
	i := &interviewer{command: command, found: found}
	i.start = func() (*proc.Process, error) {
		return proc.Command(command[0], command[1:]...), nil
	}
	return i.hold(ctx)
}

func (i *interviewer) hold(ctx context.Context) error {
	if err := i.with(ctx, i.endInput); err != nil {
		return err
	}
	for _, q := range questions {
		err := i.with(ctx, func(ctx context.Context, c *child.Conn) error {
			return i.ask(ctx, c, q)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ask sends a question and reports whether it was answered. If the question is a malformed line,
// which has no id, ask also reports the id of the error that answers it.
func (i *interviewer) ask(ctx context.Context, c *child.Conn, q question) error {
	answered := false
	errorID := "no answer"
	if !q.greet || shakesHands(ctx, c) {
		answered = hears(ctx, c, q.text, patience.none, func(m child.Message) bool {
			if id, ok := idOfError(m.Raw); ok {
				errorID = id
			}
			return q.answers(m)
		})
	}
	if q.name == "malformed-line" {
		title := "the id of the answer to a line that is no JSON"
		if err := i.tell(ctx, "malformed-id", title, errorID, errorID); err != nil {
			return err
		}
	}
	return i.tell(ctx, q.name, q.title, answered, fmt.Sprint(answered))
}

// with starts the server for one question.
func (i *interviewer) with(ctx context.Context,
	ask func(context.Context, *child.Conn) error) error {
	p, err := i.start()
	if err != nil {
		return err
	}
	c, err := child.Start(ctx, p, framers.NDJSON(), child.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	return ask(ctx, c)
}

// tell reports what was found. A silence that the end of ctx made is no answer.
func (i *interviewer) tell(
	ctx context.Context, name, title string, value any, text string,
) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return i.found(results.Finding{
		ID: talk + name, Title: title, About: i.command, Verdict: results.Noted,
		Value: value, Found: text,
	})
}

// hears sends text and waits for a message. A server that left, or is silent, does not answer.
func hears(ctx context.Context, c *child.Conn, text string, limit time.Duration,
	is func(child.Message) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := c.In.Write([]byte(text)); err != nil {
		return false
	}
	_, err := c.Expect(ctx, is)
	return err == nil
}

// isResult recognises the result of the request with that id.
func isResult(m child.Message, id string) bool {
	e := m.Envelope
	return e.Whole && e.Result && string(e.ID) == id
}

// idOfError returns the id of an answer that is an error, "absent" if it has none.
func idOfError(msg []byte) (id string, ok bool) {
	var answer map[string]json.RawMessage
	if json.Unmarshal(msg, &answer) != nil || answer["error"] == nil {
		return "", false
	}
	text := bytes.TrimSpace(answer["id"])
	if len(text) == 0 {
		return "absent", true
	}
	return string(text), true
}

// shakesHands reports whether the server answers a handshake in lines.
func shakesHands(ctx context.Context, c *child.Conn) bool {
	greeted := func(m child.Message) bool { return isResult(m, "1") }
	if !hears(ctx, c, initialize+"\n", patience.answer, greeted) {
		return false
	}
	_, err := c.In.Write([]byte(initialized + "\n"))
	return err == nil
}

// endInput ends standard input while a request is under way.
func (i *interviewer) endInput(ctx context.Context, c *child.Conn) error {
	greeted := shakesHands(ctx, c)
	title := "a handshake in lines is answered"
	err := i.tell(ctx, "newline", title, greeted, fmt.Sprint(greeted))
	if err != nil || !greeted {
		return err
	}
	began := time.Now()
	text := "dropped the response"
	inTime := false
	if _, err := c.In.Write([]byte(echo + "\n")); err == nil {
		c.CloseInput()
		isEcho := func(m child.Message) bool { return isResult(m, "9") }
		if hears(ctx, c, "", patience.leave, isEcho) {
			inTime = time.Since(began) <= 2*time.Second
			text = "answered"
		}
	}
	select {
	case <-c.Closed():
	case <-time.After(patience.leave - time.Since(began)):
	}
	if c.Left(max(patience.leave-time.Since(began), 0)) {
		gone := time.Since(began)
		inTime = inTime && gone <= 5*time.Second
		text += ", gone after " + results.FormatDuration(float64(gone))
	} else {
		inTime = false
		text += ", still there"
	}
	title = "a pending response within 2 s of the end of input, the end within 5 s"
	return i.tell(ctx, "end-of-input", title, inTime, text)
}
