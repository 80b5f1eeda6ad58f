package target

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// A Request is a request of one exact size. Every copy has its own number in its id, or wherever
// else it is marked, and at both ends of its payload. So an answer to another copy is noticed.
//
//	{"jsonrpc":"2.0","id":1000000007,"method":"…","params":{"pad":"00000007…00000007"}}
//	 before                                              payload            after
type Request struct {
	Kind   Kind
	Echoes bool // the answer holds the payload
	Silent bool // nobody answers it
	// bytes of payload that the answer is to have; 0 if it is to have those of the message
	Demands int
	Query   *Request // sent after a message that gets no answer, for its own answer; nil for none
	Release *Request // sent when the answer has come; nil if nothing is due

	// Lead are messages that nobody answers, sent right before this one and in one write with it.
	Lead [][]byte
	// Least is how long to wait for the answer at least.
	Least time.Duration

	// Heard, if set, gets an answer that is no echo. The reading goroutine calls it, and the answer
	// is valid only during the call.
	Heard func(answer []byte)

	msg      []byte
	marks    []int  // where the number stands
	id       int    // the first of them; -1 if there is none
	from, to int    // the payload
	at       int    // where in an answer the payload stood last time
	errs     bool   // an error is a right answer
	refusal  string // the code of that error; "" is any
	wants    []byte // the id of a message that was recorded; nil if it has none

	// held to number a copy and to check an answer: another goroutine checks late ones
	mu *sync.Mutex
}

// The ids of requests are numbers of one width, so that they do not change a message's size: ten
// digits, and below 2^31 for those who keep them in 32 bits.
const (
	firstID  = 1_000_000_000
	idDigits = 10
	idMark   = "##########"
	manyIDs  = 1 << 30
)

// StampDigits is the width of the number at both ends of a payload.
const StampDigits = 8

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// A payload repeats after period bytes. That is a prime, so that a chunk in the place of another is
// noticed.
const period = 65521

// newRequest makes a request of size bytes, or of as few as it takes; before holds idMark wherever
// the number belongs, if the request has one.
func newRequest(before, after string, size int) *Request {
	size = max(size, len(before)+len(after))
	r := &Request{
		msg: make([]byte, size), id: strings.Index(before, idMark),
		from: len(before), to: size - len(after), mu: new(sync.Mutex),
	}
	for i := range before {
		if strings.HasPrefix(before[i:], idMark) {
			r.marks = append(r.marks, i)
		}
	}
	copy(r.msg, before)
	copy(r.msg[r.to:], after)
	// letters that need no escape in any encoding; which ones depends on the length alone
	b := r.Payload()
	random := rand.New(rand.NewPCG(uint64(len(b)), uint64(len(b))))
	first := b[:min(len(b), period)]
	for i := range first {
		first[i] = letters[random.IntN(len(letters))]
	}
	for n := len(first); n < len(b); {
		n += copy(b[n:], first)
	}
	return r
}

// refusable makes a request for an unknown method, padded to size.
func refusable(size int, meta string) *Request {
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"` + unknownMethod +
		`","params":{` + meta + `"pad":"`
	r := newRequest(before, `"}}`, size)
	r.errs = true
	return r
}

// Unanswerable makes a notification of size bytes, or of as few as it takes. MCP and LSP both say
// that unknown ones are ignored.
func Unanswerable(size int) *Request {
	r := newRequest(`{"jsonrpc":"2.0","method":"$/pipebench","params":{"pad":"`, `"}}`, size)
	r.Silent = true
	return r
}

// Again makes a request of a recorded message. id is the message's own, nil if it has none. An
// error counts as a right answer.
func Again(msg, id []byte) *Request {
	return &Request{msg: msg, id: -1, wants: id, errs: true, mu: new(sync.Mutex)}
}

// Size returns the bytes of the message, without the framing's.
func (r *Request) Size() int { return len(r.msg) }

// Payload returns the part of the message that has no other purpose than its size. It may be
// altered, but for the number at either end.
func (r *Request) Payload() []byte { return r.msg[r.from:r.to] }

// Numbered reports whether answers tell which copy of the request they are to.
func (r *Request) Numbered() bool { return r.id >= 0 }

// WithID returns the message under another id, a JSON text.
func (r *Request) WithID(id string) []byte {
	return bytes.Join([][]byte{r.msg[:r.id], []byte(id), r.msg[r.id+idDigits:]}, nil)
}

// Clone copies the request and its buffer, for the goroutine that checks answers.
func (r *Request) Clone() *Request {
	c := *r
	c.msg = bytes.Clone(r.msg)
	c.mu = new(sync.Mutex)
	return &c
}

// Number makes the request's message its i-th copy, and returns it.
func (r *Request) Number(i int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.marks {
		decimals(r.msg[at:at+idDigits], firstID+i%manyIDs)
	}
	p := r.Payload()
	if len(p) >= 2*StampDigits {
		decimals(p[:StampDigits], i)
		decimals(p[len(p)-StampDigits:], i)
	}
	return r.msg
}

// decimals writes the last digits of n, as many as b takes.
func decimals(b []byte, n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}

// NumberOf reads an id that Number wrote.
func NumberOf(id []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n - firstID, err == nil && len(id) == idDigits && n >= firstID
}

// answeredBy reports whether the message answers the request, and not another one.
func (r *Request) answeredBy(e jsonrpc.Envelope) bool {
	switch {
	case r.wants != nil:
		return e.Kind().Answers() && bytes.Equal(e.ID, r.wants)
	case r.id < 0:
		return true
	}
	return e.Kind().Answers() && bytes.Equal(e.ID, r.msg[r.id:r.id+idDigits])
}
