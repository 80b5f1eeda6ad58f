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

// A Request is a request of one exact size, to be sent many times. Each copy has its own number in
// its id and at both ends of its payload. So the answer to another copy is noticed.
//
//	{"jsonrpc":"2.0","id":1000000007,"method":"…","params":{"pad":"00000007…00000007"}}
//	 before                                              payload            after
type Request struct {
	Kind    Kind
	Echoes  bool     // the answer is to contain the payload
	Silent  bool     // nobody answers it
	Demands int      // bytes of payload that it asks for in the answer; 0 if it asks for none
	Query   *Request // sent right after this one, which gets no answer, to get one; nil: none
	Release *Request // sent after the answer has come; nil: none

	// Lead are messages that nobody answers. They are sent right before this request, in one write
	// with it.
	Lead [][]byte
	// Least is the shortest time limit for the answer.
	Least time.Duration

	// Heard, if set, gets an answer that is not an echo. The reading goroutine calls it. The answer
	// is valid only during the call.
	Heard func(answer []byte)

	msg      []byte
	marks    []int  // where in msg the number of the copy is, except in the payload
	id       int    // where in msg the id is, the first of marks; -1 if there is none
	from, to int    // where in msg the payload is
	echoAt   int    // where the payload was in the last answer
	errs     bool   // an error is a right answer
	refusal  string // the code of that error; "" means any code
	wants    []byte // the id of a recorded message, for Again; nil if it has none

	// mu is held while a copy is numbered and while an answer is checked, because another goroutine
	// checks answers that come late.
	mu *sync.Mutex
}

// The ids of requests are numbers of ten digits, so that they do not change the size of a message.
// They are below 2^31, because some servers keep an id in 32 bits.
const (
	firstID  = 1_000_000_000
	idDigits = 10
	idMark   = "##########"
	manyIDs  = 1 << 30
)

// StampDigits is the width of the number at both ends of a payload.
const StampDigits = 8

// letters need no escape in any encoding.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// period is the number of bytes after which a payload repeats. Because it is a prime, two chunks of
// a round size differ. So a server that swaps them is noticed.
const period = 65521

// asSmallAsCanBe is a size for newRequest. It makes a request without a payload.
const asSmallAsCanBe = 0

// newRequest makes a request of size bytes: before, a payload and after. If size is too small, the
// payload is empty and the request is larger than size. The text before contains idMark in place of
// the number of the copy.
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
	payload := r.Payload() // its bytes are the same for all requests of a size
	random := rand.New(rand.NewPCG(uint64(len(payload)), uint64(len(payload))))
	first := payload[:min(len(payload), period)]
	for i := range first {
		first[i] = letters[random.IntN(len(letters))]
	}
	for n := len(first); n < len(payload); {
		n += copy(payload[n:], first)
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

// Unanswerable makes a notification of size bytes, or the smallest one if size is too small. MCP
// and LSP both say that a server ignores unknown notifications.
func Unanswerable(size int) *Request {
	r := newRequest(`{"jsonrpc":"2.0","method":"$/pipebench","params":{"pad":"`, `"}}`, size)
	r.Silent = true
	return r
}

// Again makes a request that sends a recorded message again. The parameter id is the id of that
// message, or nil if it has none. An error counts as a right answer.
func Again(msg, id []byte) *Request {
	return &Request{msg: msg, id: -1, wants: id, errs: true, mu: new(sync.Mutex)}
}

// Size returns the number of bytes of the message, without those of the framing.
func (r *Request) Size() int { return len(r.msg) }

// Payload returns the part of the message that only makes it larger. The caller may change it,
// except for StampDigits bytes at either end.
func (r *Request) Payload() []byte { return r.msg[r.from:r.to] }

// Numbered reports whether the request has an id, so that an answer says which copy of the request
// it answers.
func (r *Request) Numbered() bool { return r.id >= 0 }

// WithID returns a copy of the message with another id, which is JSON text.
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

// Number turns the request's message into its i-th copy, and returns it. The next call changes the
// same bytes.
func (r *Request) Number(i int64) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, at := range r.marks {
		writeDigits(r.msg[at:at+idDigits], firstID+i%manyIDs)
	}
	payload := r.Payload()
	if len(payload) >= 2*StampDigits {
		writeDigits(payload[:StampDigits], i)
		writeDigits(payload[len(payload)-StampDigits:], i)
	}
	return r.msg
}

// writeDigits fills b with the last digits of n.
func writeDigits(b []byte, n int64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
}

// NumberOf returns the number of the copy whose id Number wrote. It returns false if Number cannot
// have written the id.
func NumberOf(id []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n - firstID, err == nil && len(id) == idDigits && n >= firstID
}

// answeredBy reports whether a message answers the request. If the request has no id, any message
// does.
func (r *Request) answeredBy(e jsonrpc.Envelope) bool {
	id := r.wants
	if id == nil && r.Numbered() {
		id = r.msg[r.id : r.id+idDigits]
	}
	return id == nil || e.Kind().Answers() && bytes.Equal(e.ID, id)
}
