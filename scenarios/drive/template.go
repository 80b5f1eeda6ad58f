package drive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A requestTemplate is a request of one exact size, of which every copy has its own number: in its
// id, or wherever else it is marked, and at both ends of its payload, so that an answer in
// another's place shows.
//
//	{"jsonrpc":"2.0","id":1000000007,"method":"…","params":{"pad":"00000007…00000007"}}
//	 before                                              payload            after
type requestTemplate struct {
	kind     requestKind
	msg      []byte
	marks    []int // where the number stands
	id       int   // the first of them; -1 where there is none
	from, to int   // the payload
	at       int   // where in an answer the payload stood last time
	echoes   bool
	errs     bool   // an error is the answer that is due
	refusal  string // its code; "" is any
	// bytes of payload that the answer is to have; 0 where it is to have those of the message
	demands int

	// sent behind the message, and answered in its place; nil where that itself is
	query   *requestTemplate
	release *requestTemplate // sent when the answer has come; nil where nothing is due

	mu *sync.Mutex // numbering, and checking an answer, which a late one makes another goroutine do

	// Of one that stands for a recorded message:
	silent   bool     // nobody answers it
	wants    []byte   // its id; nil where it has none
	recorded []byte   // the answer that it got; nil where none is known
	redacted bool     // values in that answer were overwritten
	ignore   []string // members of answers that are not compared with it
}

// The ids of requests are numbers of one width, so that they do not change a message's size: ten
// digits, and below 2^31 for those who keep them in 32 bits.
const (
	firstID  = 1_000_000_000
	idDigits = 10
	idMark   = "##########"
	manyIDs  = 1 << 30
)

// stampDigits is the width of the number at both ends of a payload.
const stampDigits = 8

// newTemplate makes a request of size bytes, or of as few as it takes; before holds idMark wherever
// the number belongs, if the request has one.
func newTemplate(before, after string, size int) *requestTemplate {
	size = max(size, len(before)+len(after))
	t := &requestTemplate{
		msg: make([]byte, size), id: strings.Index(before, idMark),
		from: len(before), to: size - len(after), mu: new(sync.Mutex),
	}
	for i := range before {
		if strings.HasPrefix(before[i:], idMark) {
			t.marks = append(t.marks, i)
		}
	}
	copy(t.msg, before)
	copy(t.msg[t.to:], after)
	// letters that need no escape in any encoding; which ones depends on the length alone
	b := t.payload()
	r := rand.New(rand.NewPCG(uint64(len(b)), uint64(len(b))))
	first := b[:min(len(b), period)]
	for i := range first {
		first[i] = letters[r.IntN(len(letters))]
	}
	for n := len(first); n < len(b); {
		n += copy(b[n:], first)
	}
	return t
}

// refusable makes a request for an unknown method, padded to size.
func refusable(size int, meta string) *requestTemplate {
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"` + unknownMethod +
		`","params":{` + meta + `"pad":"`
	t := newTemplate(before, `"}}`, size)
	t.errs = true
	return t
}

func (t *requestTemplate) payload() []byte { return t.msg[t.from:t.to] }

// clone copies the template over a buffer of its own, for the goroutine that checks answers.
func (t *requestTemplate) clone() *requestTemplate {
	c := *t
	c.msg, c.mu = bytes.Clone(t.msg), new(sync.Mutex)
	return &c
}

// number makes the template's message its i-th copy.
func (t *requestTemplate) number(i int64) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, at := range t.marks {
		decimals(t.msg[at:at+idDigits], firstID+i%manyIDs)
	}
	if p := t.payload(); len(p) >= 2*stampDigits {
		decimals(p[:stampDigits], i)
		decimals(p[len(p)-stampDigits:], i)
	}
	return t.msg
}

// decimals writes the last digits of n, as many as b takes.
func decimals(b []byte, n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}

// numberOf reads an id that number wrote.
func numberOf(id []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n - firstID, err == nil && len(id) == idDigits && n >= firstID
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// period is after how many bytes a payload repeats: prime, so that a chunk that takes another's
// place shows.
const period = 65521

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

var fine = outcome{verdict: OK}

func wrong(v Verdict, offset int, format string, args ...any) outcome {
	return outcome{verdict: v, offset: new(int64(offset)), why: fmt.Sprintf(format, args...)}
}

// check judges the answer to the template's message.
func (t *requestTemplate) check(reply []byte, e jsonrpc.Envelope) outcome {
	switch {
	case t.id < 0 && t.echoes:
		out := compare(t.msg, reply)
		if more := len(reply) - len(t.msg); out.verdict == OK && more > 0 {
			out = wrong(
				Corrupt,
				len(t.msg),
				"%d bytes came back behind the %d that were sent",
				more,
				len(t.msg),
			)
		}
		return out
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
	if t.at+len(payload) <= len(reply) && bytes.Equal(reply[t.at:t.at+len(payload)], payload) {
		return fine
	}
	if at := bytes.Index(reply, payload); at >= 0 {
		t.at = at
		return fine
	}
	return t.explain(reply)
}

// checkRefusal judges an answer that is an error.
func (t *requestTemplate) checkRefusal(reply []byte) outcome {
	var failure struct{ Error jsonrpc.Error }
	code, message := "", string(reply)
	if json.Unmarshal(reply, &failure) == nil {
		code, message = strconv.FormatInt(failure.Error.Code, 10), failure.Error.Message
	}
	if t.errs && (t.refusal == "" || t.refusal == code) {
		return outcome{verdict: OK, code: code}
	}
	return outcome{
		verdict: ErrorReply,
		code:    code,
		why:     view.Truncate(code+" "+message, quotedText),
	}
}

// explain judges an answer in which the payload does not stand as it was sent: it may be escaped,
// or a part of it, or altered.
func (t *requestTemplate) explain(reply []byte) outcome {
	var answer struct{ Result struct{ IsError bool } }
	err := json.Unmarshal(reply, &answer)
	if _, broken := errors.AsType[*json.SyntaxError](err); broken {
		return outcome{verdict: Corrupt, why: fmt.Sprintf("the answer is no JSON: %v", err)}
	}
	if err == nil && answer.Result.IsError {
		return outcome{verdict: ErrorReply, why: view.Truncate(string(reply), quotedText)}
	}
	payload := t.payload()
	nearest := wrong(Corrupt, 0, "the answer (%d bytes) holds nothing of what was sent", len(reply))
	for text := range texts(reply) {
		i := bytes.Index([]byte(text), payload[:min(headBytes, len(payload))])
		if i < 0 {
			continue
		}
		if got := compare(payload, []byte(text)[i:]); got.verdict == OK ||
			*got.offset >= *nearest.offset {
			nearest = got
		}
		if nearest.verdict == OK {
			break
		}
	}
	return nearest
}

// headBytes is how much of a payload marks where it begins in an answer.
const headBytes = 16

// compare holds the payload against a text that begins like it, and may go on behind it.
func compare(payload, text []byte) outcome {
	if bytes.HasPrefix(text, payload) {
		return fine
	}
	i := 0
	for i < len(text) && payload[i] == text[i] {
		i++
	}
	if i == len(text) {
		return wrong(
			Truncated,
			i,
			"the answer holds the first %d of %d bytes of what was sent",
			i,
			len(payload),
		)
	}
	got, want := text[i:min(i+4, len(text))], payload[i:min(i+4, len(payload))]
	why := fmt.Sprintf("byte %d of %d came back as %q, not %q", i, len(payload), got, want)
	if bytes.Contains(got, []byte("\uFFFD")) {
		why += ": a character was cut in two and both halves replaced"
	}
	return wrong(Corrupt, i, "%s", why)
}

// texts yields every text of a JSON value, and the names in it.
func texts(value []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		dec := jsontext.NewDecoder(
			bytes.NewReader(value),
			jsontext.AllowDuplicateNames(true),
			jsontext.AllowInvalidUTF8(true),
		)
		for {
			token, err := dec.ReadToken()
			if err != nil || token.Kind() == '"' && !yield(token.String()) {
				return
			}
		}
	}
}
