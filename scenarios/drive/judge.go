package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A judgement is what an answer was worth.
type judgement struct {
	verdict Verdict
	why     string
	offset  int    // of the first wrong byte of the payload; -1 where none is
	code    string // of the error that the server answered with
}

var fine = judgement{verdict: OK, offset: -1}

func bad(v Verdict, offset int, format string, args ...any) judgement {
	return judgement{verdict: v, offset: offset, why: fmt.Sprintf(format, args...)}
}

// A judge holds answers against what was asked. It remembers where in an answer the payload stood last time.
type judge struct{ at int }

// answers reports whether the message answers the request, and not another one.
func (s *shape) answers(e jsonrpc.Envelope) bool {
	switch {
	case s.wants != nil:
		return e.Kind().Answers() && bytes.Equal(e.ID, s.wants)
	case s.id < 0:
		return true
	}
	return e.Kind().Answers() && bytes.Equal(e.ID, s.msg[s.id:s.id+idDigits])
}

// judge judges the answer to the shape's message.
func (j *judge) judge(s *shape, reply []byte, e jsonrpc.Envelope) judgement {
	switch {
	case s.id < 0 && s.echoes:
		return compareLine(s.msg, reply)
	case s.id < 0:
		return fine
	case e.Kind() == jsonrpc.Failure:
		return s.refused(reply)
	case !s.echoes:
		return fine
	}
	return j.echo(s.payload(), reply)
}

// refused judges an error: the one that is due, or another.
func (s *shape) refused(reply []byte) judgement {
	code, message := failureOf(reply)
	if s.errs && (s.refusal == "" || s.refusal == code) {
		return judgement{verdict: OK, offset: -1, code: code}
	}
	return judgement{verdict: ErrorReply, offset: -1, code: code, why: shorten(code+" "+message, quotedBytes)}
}

// echo looks for the payload in an answer, byte for byte.
func (j *judge) echo(payload, reply []byte) judgement {
	if j.at+len(payload) <= len(reply) && bytes.Equal(reply[j.at:j.at+len(payload)], payload) {
		return fine
	}
	if at := bytes.Index(reply, payload); at >= 0 {
		j.at = at
		return fine
	}
	return nearest(payload, reply)
}

// headBytes is how much of a payload marks where it begins in an answer.
const headBytes = 16

// nearest explains an answer that does not hold the payload as it was sent. A server may escape what it likes, so the answer is decoded.
func nearest(payload, reply []byte) judgement {
	var answer struct {
		Result struct {
			IsError bool `json:"isError"`
		} `json:"result"`
	}
	var tree any
	if err := json.Unmarshal(reply, &tree); err != nil {
		return bad(Corrupt, -1, "the answer is no JSON: %v", err)
	}
	if json.Unmarshal(reply, &answer) == nil && answer.Result.IsError {
		return bad(ErrorReply, -1, "%s", shorten(string(reply), quotedBytes))
	}
	worst := bad(Corrupt, 0, "the answer (%d bytes) holds nothing of what was sent", len(reply))
	for text := range texts(tree) {
		i := bytes.Index([]byte(text), payload[:min(headBytes, len(payload))])
		if i < 0 {
			continue
		}
		if got := compare(payload, []byte(text)[i:]); got.verdict == OK || got.offset >= worst.offset {
			worst = got
		}
		if worst.verdict == OK {
			break
		}
	}
	return worst
}

// compare holds the payload against a text that begins like it, and may go on behind it.
func compare(payload, text []byte) judgement {
	n := min(len(payload), len(text))
	i := 0
	for i < n && payload[i] == text[i] {
		i++
	}
	switch {
	case i == len(payload):
		return fine
	case i == len(text):
		return bad(Truncated, i, "the answer holds the first %d of %d bytes of what was sent", i, len(payload))
	}
	why := fmt.Sprintf("byte %d of %d came back as %q, not %q", i, len(payload), text[i:min(i+4, len(text))], payload[i:min(i+4, len(payload))])
	if bytes.Contains(text[i:min(i+utf8.UTFMax, len(text))], []byte("\uFFFD")) {
		why += ": a character was cut in two and both halves replaced"
	}
	return bad(Corrupt, i, "%s", why)
}

// compareLine holds a line against the one that was sent.
func compareLine(sent, got []byte) judgement {
	if bytes.Equal(sent, got) {
		return fine
	}
	if j := compare(sent, got); j.verdict != OK {
		return j
	}
	return bad(Corrupt, len(sent), "%d bytes came back behind the %d that were sent", len(got)-len(sent), len(sent))
}

// failureOf is the error of an answer: its code, and its message or, where it has none, all of it.
func failureOf(reply []byte) (code, message string) {
	var failure struct {
		Error struct {
			Code    json.Number `json:"code"`
			Message string      `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(reply, &failure) != nil {
		return "", string(reply)
	}
	return failure.Error.Code.String(), failure.Error.Message
}

// texts yields every text of a decoded value.
func texts(v any) func(yield func(string) bool) {
	return func(yield func(string) bool) { walk(v, yield) }
}

func walk(v any, yield func(string) bool) bool {
	switch v := v.(type) {
	case string:
		return yield(v)
	case []any:
		for _, e := range v {
			if !walk(e, yield) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !walk(e, yield) {
				return false
			}
		}
	}
	return true
}
