package target

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

var fine = Outcome{Verdict: OK}

// wrong returns the outcome for an answer whose first wrong byte is at offset in the payload.
func wrong(v Verdict, offset int, format string, args ...any) Outcome {
	return Outcome{Verdict: v, offset: new(int64(offset)), Why: fmt.Sprintf(format, args...)}
}

// Check judges an answer to r. The parameter reply is the text of the answer, and e is what a scan
// of this text found.
func (r *Request) Check(reply []byte, e jsonrpc.Envelope) Outcome {
	switch {
	case !r.Numbered() && r.Echoes:
		return r.checkLine(reply)
	case r.Heard != nil:
		r.Heard(reply)
		return fine
	case !r.Numbered():
		return fine
	case e.Kind() == jsonrpc.Failure:
		return r.checkRefusal(reply)
	case r.Demands > 0 || r.isCall && !r.Echoes:
		out, text := checkTool(reply)
		broken := strings.Count(text, "\uFFFD")
		if r.Demands > 0 && broken > 0 && out.Verdict == OK { // the request has none
			out = Outcome{Verdict: Corrupt, Why: results.FormatCount(broken, "character") +
				" of the reply are U+FFFD or no UTF-8: the server decoded pieces of text, or the " +
				"text of its tool has them"}
		}
		return out
	case !r.Echoes:
		return fine
	}
	payload := r.Payload()
	end := r.echoAt + len(payload)
	if end <= len(reply) && bytes.Equal(reply[r.echoAt:end], payload) {
		return fine
	}
	if at := bytes.Index(reply, payload); at >= 0 {
		r.echoAt = at
		return fine
	}
	return r.explain(reply)
}

// checkLine judges a line that should equal the line that was sent.
func (r *Request) checkLine(reply []byte) Outcome {
	out := compare(r.msg, reply)
	more := len(reply) - len(r.msg)
	if out.Verdict == OK && more > 0 {
		return wrong(Corrupt, len(r.msg), "%s bytes came back behind the %s that were sent",
			grouped(more), grouped(len(r.msg)))
	}
	return out
}

func (r *Request) checkRefusal(reply []byte) Outcome {
	var failure struct{ Error jsonrpc.Error }
	code := ""
	message := string(reply)
	if json.Unmarshal(reply, &failure) == nil {
		code = strconv.FormatInt(failure.Error.Code, 10)
		message = failure.Error.Message
	}
	expected := r.refusal == "" || r.refusal == code
	if r.errs && expected {
		return Outcome{Verdict: OK, code: code}
	}
	why := view.Truncate(code+" "+message, quotedText)
	return Outcome{Verdict: ErrorReply, code: code, Why: why}
}

// explain judges an answer that does not repeat the payload byte for byte. It is fine if the answer
// contains the payload with JSON escapes.
func (r *Request) explain(reply []byte) Outcome {
	if out, _ := checkTool(reply); out.Verdict != OK {
		if r.escapes && out.Verdict == Corrupt && !json.Valid(reply) {
			out.blameEscapes()
		}
		return out
	}
	payload, _ := jsontext.AppendUnquote(nil, `"`+string(r.Payload())+`"`)
	nearest := wrong(Corrupt, 0, "the answer (%s bytes) holds nothing of what was sent",
		grouped(len(reply)))
	for _, text := range texts(reply) {
		if strings.Contains(text, string(r.Payload())) { // a quoted text in the text
			return fine
		}
		if out, known := checkStamps(payload, text); known {
			return out
		}
		i := bytes.Index([]byte(text), payload[:min(StampDigits, len(payload))])
		if i < 0 {
			continue
		}
		got := compare(payload, []byte(text)[i:])
		if got.Verdict == OK {
			return got
		}
		if *got.offset >= *nearest.offset {
			nearest = got
		}
	}
	return nearest
}

// checkStamps judges a text by the numbers at its ends, which those of another request may have
// replaced. known is false if they tell nothing.
func checkStamps(payload []byte, text string) (out Outcome, known bool) {
	if min(len(payload), len(text)) < 2*StampDigits {
		return Outcome{}, false
	}
	asked := stampOf(string(payload[:StampDigits]))
	first := stampOf(text[:StampDigits])
	last := stampOf(text[len(text)-StampDigits:])
	middle := payload[StampDigits : len(payload)-StampDigits]
	isCopy := text[StampDigits:len(text)-StampDigits] == string(middle)
	switch {
	case first == "" || last == "":
		return Outcome{}, false
	case first != last:
		return wrong(Mixed, 0, "the answer to request %s begins as that to request %s, and ends "+
			"as that to request %s", asked, first, last), true
	case isCopy && first != asked:
		out := wrong(Corrupt, 0, "it has the text of request %s, and answers request %s", last,
			asked)
		out.Remedy = adviceOnText
		return out, true
	}
	return Outcome{}, false
}

// stampOf returns the number in the digits at one end of a payload, or "" if there are other bytes.
func stampOf(digits string) string {
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// checkTool judges the answer of a tool, whatever the tool is to answer, and returns its text.
func checkTool(reply []byte) (out Outcome, text string) {
	var answer struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	err := json.Unmarshal(reply, &answer)
	_, broken := errors.AsType[*json.SyntaxError](err)
	switch {
	case broken && hasBeginning(reply):
		return Outcome{Verdict: Mixed, Why: WhyMixed}, ""
	case broken:
		return Outcome{Verdict: Corrupt, Why: fmt.Sprintf("the answer is no JSON: %v", err)}, ""
	case err == nil && answer.Result == nil:
		return Outcome{
			Verdict: Corrupt, Why: "the result is null",
			Remedy: `MCP says that the result of a call is an object with "content"`,
		}, ""
	case err != nil:
		return fine, ""
	}
	var parts strings.Builder
	for _, c := range answer.Result.Content {
		parts.WriteString(c.Text)
	}
	text = parts.String()
	if answer.Result.IsError {
		why := view.Truncate(cmp.Or(text, string(reply)), quotedText)
		return Outcome{Verdict: ErrorReply, Why: why}, ""
	}
	return fine, text
}

func grouped(n int) string { return results.FormatGrouped(int64(n)) }

// compare compares the payload with a text that should begin with it.
func compare(payload, text []byte) Outcome {
	if bytes.HasPrefix(text, payload) {
		return fine
	}
	i := 0
	for i < len(text) && payload[i] == text[i] {
		i++
	}
	if i == len(text) {
		return wrong(Truncated, i, "the answer holds the first %s of %s bytes of what was sent",
			grouped(i), grouped(len(payload)))
	}
	if note := addedNote(payload, text, i); note != nil {
		const says = "the first %s of %s bytes came back, then %q, which was not sent"
		return wrong(Truncated, i, says, grouped(i), grouped(len(payload)),
			view.Truncate(string(note), 60))
	}
	for !utf8.RuneStart(payload[i]) {
		i--
	}
	out := wrong(Corrupt, i, "byte %s of %s came back as %.4q, not %.4q", grouped(i),
		grouped(len(payload)), text[i:], payload[i:])
	_, length := utf8.DecodeRune(payload[i:])
	isLatin := length > 1 && bytes.HasPrefix(text[i:], asLatin1(payload[i:i+length]))
	switch {
	case isLatin:
		out.Why += ": UTF-8 was read as Latin-1"
		out.Remedy = adviceUTF8
	case length > 1 && text[i] == '?':
		out.Why += ": its encoding has no such character"
		out.Remedy = adviceUTF8
	case bytes.HasPrefix(text[i:], []byte("\uFFFD")):
		out.Why += ": a character was cut in two and both halves replaced"
		out.Remedy = AdviceOnCharacters
	case strings.IndexByte("\n\"\\\t\r", payload[i]) >= 0 &&
		strings.IndexByte(`n\tr`, text[i]) >= 0: // an escape is lost or too many
		out.blameEscapes()
	case length == 1 && strings.IndexByte(letters, payload[i]) < 0:
		out.Why += ": the server or its tool changed it"
		out.Remedy = "give the text back as it came, without escapes of HTML or URLs, and with " +
			"the same quotes and ends of lines"
	}
	return out
}

// asLatin1 returns what bytes become if each is taken for a character of Latin-1.
func asLatin1(text []byte) []byte {
	var read []byte
	for _, b := range text {
		read = utf8.AppendRune(read, rune(b))
	}
	return read
}

// blameEscapes blames a server that answers without JSON escapes.
func (o *Outcome) blameEscapes() {
	o.Why += ": the server does not escape texts as JSON asks"
	o.Remedy = "let a JSON library write the answers: in a string, it escapes quotes, " +
		"backslashes and control characters"
}

// addedNote returns what stands in text in place of a part of the payload, such as "[truncated]".
// The first i bytes of both are the same. It returns nil if bytes were only lost or changed.
func addedNote(payload, text []byte, i int) []byte {
	note := text[i:]
	left := payload[i:]
	for len(note) > 0 && bytes.HasSuffix(left, note[len(note)-1:]) {
		note = note[:len(note)-1]
		left = left[:len(left)-1]
	}
	isShort := len(note) <= min(i, quotedText)
	replaces := len(left) > 0 && len(left) != len(note)
	isDamage := bytes.Contains(payload, note) || strings.IndexByte(letters, payload[i]) < 0
	if isShort && replaces && !isDamage {
		return note
	}
	return nil
}

// texts returns every string of a JSON value, the names of members included, and those of JSON
// objects in these strings.
func texts(value []byte) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(value),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var all []string
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return all
		}
		if token.Kind() == '"' {
			text := token.String()
			all = append(all, text)
			if strings.HasPrefix(text, "{") {
				all = append(all, texts([]byte(text))...)
			}
		}
	}
}
