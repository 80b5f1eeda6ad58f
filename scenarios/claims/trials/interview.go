package trials

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

// A silence is how long an interview waits.
type silence struct {
	answer time.Duration // for a handshake
	none   time.Duration // until no answer is an answer
	leave  time.Duration // for the server's end, beyond the five seconds that documents give
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

// An interview asks one MCP server how it takes what documents speak of.
type interview struct {
	command []string
	start   func() (*proc.Process, error)
	found   func(results.Finding) error
	longest int // bytes of the longest line so far
}

// Interview starts an MCP server several times, since one that takes an oddity amiss answers
// nothing after it, and tells what it found: "check/talk/newline" and others. Its tool "echo" is
// called if it has one.
func Interview(ctx context.Context, command []string, found func(results.Finding) error) error {
	i := &interview{command: command, found: found}
	i.start = func() (*proc.Process, error) {
		return proc.Command(command[0], command[1:]...), nil
	}
	return i.hold(ctx)
}

func (i *interview) hold(ctx context.Context) error {
	for _, ask := range []func(context.Context, *child.Conn) error{
		i.endInput, i.sayWithHeader, i.sayBlank, i.saySpaces, i.sayMalformed,
	} {
		p, err := i.start()
		if err != nil {
			return err
		}
		c, err := child.Start(ctx, p, framers.NDJSON(), child.Options{})
		if err != nil {
			return err
		}
		err = ask(ctx, c)
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// tell reports what was found.
func (i *interview) tell(name, title string, value any) error {
	return i.found(results.Finding{
		ID: "check/talk/" + name, Title: title, About: i.command, Verdict: results.Noted,
		Value: value, Found: fmt.Sprint(value),
	})
}

// hears sends text and waits for a message. A server that left, or is silent, does not answer.
func (i *interview) hears(ctx context.Context, c *child.Conn, text string, limit time.Duration,
	is func(child.Message) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := c.In.Write([]byte(text)); err != nil {
		return false
	}
	_, err := c.Expect(ctx, func(m child.Message) bool {
		i.longest = max(i.longest, len(m.Raw))
		return is(m)
	})
	return err == nil
}

// isResult recognises the result of the request with that id.
func isResult(id string) func(child.Message) bool {
	return func(m child.Message) bool {
		e := m.Envelope
		return e.Whole && e.Result && string(e.ID) == id
	}
}

// shakesHands reports whether the server answers a handshake in lines.
func (i *interview) shakesHands(ctx context.Context, c *child.Conn) bool {
	if !i.hears(ctx, c, initialize+"\n", patience.answer, isResult("1")) {
		return false
	}
	_, err := c.In.Write([]byte(initialized + "\n"))
	return err == nil
}

// endInput ends standard input while a request is under way.
func (i *interview) endInput(ctx context.Context, c *child.Conn) error {
	greeted := i.shakesHands(ctx, c)
	if err := i.tell("newline", "a handshake in lines is answered", greeted); err != nil {
		return err
	}
	if !greeted {
		return nil
	}
	began := time.Now()
	replied := false
	if _, err := c.In.Write([]byte(echo + "\n")); err == nil {
		c.CloseInput()
		replied = i.hears(ctx, c, "", patience.leave, isResult("9"))
	}
	replyTime := time.Since(began)
	select {
	case <-c.Closed():
	case <-time.After(patience.leave - replyTime):
	}
	left := c.Left(max(patience.leave-time.Since(began), 0))
	gone := time.Since(began)
	reply := "dropped the response"
	if replied {
		reply = "answered"
	}
	end := "still there"
	if left {
		end = "gone after " + results.FormatDuration(float64(gone))
	}
	inTime := replied && replyTime <= 2*time.Second && left && gone <= 5*time.Second
	err := i.found(results.Finding{
		ID:    "check/talk/end-of-input",
		Title: "a pending response within 2 s of the end of input, the end within 5 s",
		About: i.command, Verdict: results.Noted, Value: inTime, Found: reply + ", " + end,
	})
	if err != nil {
		return err
	}
	return i.tell("longest-line", "bytes of the longest line of a handshake and a call", i.longest)
}

// sayWithHeader shakes hands in the framing of language servers.
func (i *interview) sayWithHeader(ctx context.Context, c *child.Conn) error {
	text := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(initialize), initialize)
	answered := i.hears(ctx, c, text, patience.none, func(m child.Message) bool {
		header := strings.HasPrefix(strings.ToLower(string(m.Raw)), "content-length:")
		return header || isResult("1")(m)
	})
	return i.tell("content-length", "a handshake with a header is answered", answered)
}

func (i *interview) sayBlank(ctx context.Context, c *child.Conn) error {
	answered := i.shakesHands(ctx, c) &&
		i.hears(ctx, c, "\n"+ping+"\n", patience.none, isResult("2"))
	return i.tell("blank-line", "a request after a blank line is answered", answered)
}

func (i *interview) saySpaces(ctx context.Context, c *child.Conn) error {
	answered := i.shakesHands(ctx, c) &&
		i.hears(ctx, c, ping+"  \t\n", patience.none, isResult("2"))
	return i.tell("trailing-space", "a request with spaces at its end is answered", answered)
}

// sayMalformed sends a line that is no JSON before a request, and looks under which id the error
// comes.
func (i *interview) sayMalformed(ctx context.Context, c *child.Conn) error {
	id := "no answer"
	noteErrors := func(m child.Message) bool {
		var answer map[string]json.RawMessage
		if json.Unmarshal(m.Raw, &answer) == nil && answer["error"] != nil {
			id = "absent"
			if text := bytes.TrimSpace(answer["id"]); len(text) > 0 {
				id = string(text)
			}
		}
		return isResult("2")(m)
	}
	answered := i.shakesHands(ctx, c) &&
		i.hears(ctx, c, "{malformed\n"+ping+"\n", patience.none, noteErrors)
	err := i.tell("malformed-line", "a request after a line that is no JSON is answered", answered)
	if err != nil {
		return err
	}
	return i.tell("malformed-id", "the id of the answer to a line that is no JSON", id)
}
