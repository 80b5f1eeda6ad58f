package drive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// answers reports whether the message answers the request, and not another one.
func (t *requestTemplate) answers(e jsonrpc.Envelope) bool {
	switch {
	case t.wants != nil:
		return e.Kind().Answers() && bytes.Equal(e.ID, t.wants)
	case t.id < 0:
		return true
	}
	return e.Kind().Answers() && bytes.Equal(e.ID, t.msg[t.id:t.id+idDigits])
}

// A checker holds answers against what was asked. It remembers where in an answer the payload stood
// last time.
type checker struct{ at int }

var fine = outcome{verdict: OK, offset: -1}

func wrong(v Verdict, offset int, format string, args ...any) outcome {
	return outcome{verdict: v, offset: offset, why: fmt.Sprintf(format, args...)}
}

// check judges the answer to the template's message.
func (c *checker) check(t *requestTemplate, reply []byte, e jsonrpc.Envelope) outcome {
	switch {
	case t.id < 0 && t.echoes:
		return compareLine(t.msg, reply)
	case t.recorded != nil:
		out := fine
		out.differs = t.difference(reply)
		return out
	case t.id < 0:
		return fine
	case e.Kind() == jsonrpc.Failure:
		return t.checkRefusal(reply)
	case !t.echoes:
		return fine
	}
	payload := t.payload()
	if c.at+len(payload) <= len(reply) && bytes.Equal(reply[c.at:c.at+len(payload)], payload) {
		return fine
	}
	if at := bytes.Index(reply, payload); at >= 0 {
		c.at = at
		return fine
	}
	return explain(payload, reply)
}

// checkRefusal judges an error: the one that is due, or another.
func (t *requestTemplate) checkRefusal(reply []byte) outcome {
	var failure struct {
		Error jsonrpc.Error `json:"error"`
	}
	code, message := "", string(reply)
	if json.Unmarshal(reply, &failure) == nil {
		code, message = strconv.FormatInt(failure.Error.Code, 10), failure.Error.Message
	}
	if t.errs && (t.refusal == "" || t.refusal == code) {
		return outcome{verdict: OK, offset: -1, code: code}
	}
	return outcome{verdict: ErrorReply, offset: -1, code: code, why: shorten(code+" "+message, quotedBytes)}
}

// headBytes is how much of a payload marks where it begins in an answer.
const headBytes = 16

// explain says what is wrong with an answer that does not hold the payload as it was sent. A server
// may escape what it likes, so the answer is decoded.
func explain(payload, reply []byte) outcome {
	var answer struct {
		Result struct {
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	err := json.Unmarshal(reply, &answer)
	if _, broken := errors.AsType[*json.SyntaxError](err); broken {
		return wrong(Corrupt, -1, "the answer is no JSON: %v", err)
	}
	if err == nil && answer.Result.IsError {
		return wrong(ErrorReply, -1, "%s", shorten(string(reply), quotedBytes))
	}
	nearest := wrong(Corrupt, 0, "the answer (%d bytes) holds nothing of what was sent", len(reply))
	for text := range texts(reply) {
		i := bytes.Index([]byte(text), payload[:min(headBytes, len(payload))])
		if i < 0 {
			continue
		}
		if got := compare(payload, []byte(text)[i:]); got.verdict == OK || got.offset >= nearest.offset {
			nearest = got
		}
		if nearest.verdict == OK {
			break
		}
	}
	return nearest
}

// compare holds the payload against a text that begins like it, and may go on behind it.
func compare(payload, text []byte) outcome {
	n := min(len(payload), len(text))
	i := 0
	for i < n && payload[i] == text[i] {
		i++
	}
	switch {
	case i == len(payload):
		return fine
	case i == len(text):
		return wrong(Truncated, i, "the answer holds the first %d of %d bytes of what was sent", i, len(payload))
	}
	got, want := text[i:min(i+4, len(text))], payload[i:min(i+4, len(payload))]
	why := fmt.Sprintf("byte %d of %d came back as %q, not %q", i, len(payload), got, want)
	if bytes.Contains(got, []byte("\uFFFD")) {
		why += ": a character was cut in two and both halves replaced"
	}
	return wrong(Corrupt, i, "%s", why)
}

// compareLine holds a line against the one that was sent.
func compareLine(sent, got []byte) outcome {
	if bytes.Equal(sent, got) {
		return fine
	}
	if out := compare(sent, got); out.verdict != OK {
		return out
	}
	return wrong(Corrupt, len(sent), "%d bytes came back behind the %d that were sent", len(got)-len(sent), len(sent))
}

// texts yields every text of a JSON value, and the names in it.
func texts(value []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		dec := jsontext.NewDecoder(bytes.NewReader(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		for {
			token, err := dec.ReadToken()
			if err != nil || token.Kind() == '"' && !yield(token.String()) {
				return
			}
		}
	}
}
