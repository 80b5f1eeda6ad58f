package target

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Request is a request of one exact size. Each copy that is sent has its own number, in its id
// and at both ends of its payload:
//
//	{"jsonrpc":"2.0","id":1000000007,"method":"…","params":{"pad":"00000007…00000007"}}
//	 before                                              payload            after
type Request struct {
	Kind    Kind
	Echoes  bool     // the answer is to contain the payload
	Demands int      // bytes of payload that it asks for in the answer
	Query   *Request // sent right after this one, to get an answer; nil: none
	Release *Request // sent after the answer has come; nil: none

	// Lead holds messages that get no answer. They are sent in one write with this request.
	Lead [][]byte
	// Least is the shortest time limit for the answer.
	Least time.Duration
	// Brief says that it only matters whether an answer comes soon, and not why none does.
	Brief bool
	// AtEnd says that the server's input may be ended to see whether the answer comes then.
	AtEnd bool

	// Heard, if set, gets an answer that is not an echo. The answer is valid only during the call.
	Heard func(answer []byte)

	msg      []byte
	marks    []int  // where in msg the number of the copy is, except in the payload
	id       int    // where in msg the id is, the first of marks; -1 if there is none
	from, to int    // where in msg the payload is
	echoAt   int    // where the payload was in the last answer
	errs     bool   // an error is a right answer
	refusal  string // the code of that error; "" means any code
	wants    []byte // the id of the recorded message that Again sends; nil if it has none
	isCall   bool   // a result with "isError" is an error
	escapes  bool   // the payload has JSON escapes

	// mu guards msg, because another goroutine checks answers that come late.
	mu *sync.Mutex
}

// Ids have ten digits, so that all copies of a request have one size. They are below 2^31, because
// some servers keep an id in 32 bits.
const (
	firstID  = 1_000_000_000
	idDigits = 10
	idMark   = "##########"
	manyIDs  = 1 << 30
)

// StampDigits is how many digits the number at each end of a payload has.
const StampDigits = 8

// letters need no escape in any encoding.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// period is the number of bytes after which a payload repeats. It is a prime, so that consecutive
// chunks of a round size differ.
const period = 65521

// asSmallAsCanBe is the size of a request without a payload.
const asSmallAsCanBe = 0

// newRequest makes a request of size bytes, with a payload between two given texts. If size is too
// small, the request has no payload and is larger. The first text has idMark in place of the id.
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

// refusable makes a request that may be refused, padded to size. The params begin with members.
func refusable(method, members string, size int) *Request {
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"` + method +
		`","params":{` + members + `"pad":"`
	r := newRequest(before, `"}}`, size)
	r.errs = true
	return r
}

// Unanswerable makes a notification of size bytes or a few more. MCP and LSP say that servers
// ignore unknown notifications.
func Unanswerable(size int) *Request {
	return newRequest(`{"jsonrpc":"2.0","method":"$/pipebench","params":{"pad":"`, `"}}`, size)
}

// Again makes a request that sends a recorded message again. The parameter id is the id of that
// message, or nil if it has none. An error counts as a right answer.
func Again(msg, id []byte) *Request {
	return &Request{msg: msg, id: -1, wants: id, errs: true, mu: new(sync.Mutex)}
}

// Size returns the number of bytes of the message, without what the framing adds.
func (r *Request) Size() int { return len(r.msg) }

// characters have 2, 3, 1, 2, 3 and 4 bytes.
const characters = "é漢aß語🜁"

// escapes are JSON text for characters that an answer has to escape, and for others that it may
// escape. There are two quotes, so that an answer without escapes still has a last brace, and 16
// bytes, so that the characters of 4 bytes behind them stay where they are in a piece of text.
const escapes = `\n\"</&>\"\\\t\r`

// WithCharacters returns a copy of the request whose payload has characters of several bytes,
// behind shift letters. After the first few, all have 4 bytes: of two copies whose shifts differ by
// less than 4, a server damages at least one if it decodes pieces of text that end at the same
// places. All protocols here speak UTF-8. If the answer is to repeat the payload as JSON, there are
// also escapes in it.
func (r *Request) WithCharacters(shift int) *Request {
	c := r.Clone()
	b := c.Payload()
	n := StampDigits
	if r.Echoes && r.Numbered() && n+len(escapes) <= len(b)-StampDigits {
		n += copy(b[n:], escapes)
		c.escapes = true
	}
	text := characters
	for n += shift; n+len(text) <= len(b)-StampDigits; text = "😀" {
		n += copy(b[n:], text)
	}
	return c
}

// Payload returns the part of the message that only makes the message larger. The caller may change
// this part, except for StampDigits bytes at its beginning and at its end.
func (r *Request) Payload() []byte { return r.msg[r.from:r.to] }

// Numbered reports whether the request has an id, by which its answer is found.
func (r *Request) Numbered() bool { return r.id >= 0 }

// WithID returns a copy of the message with another id, which is JSON text.
func (r *Request) WithID(id string) []byte {
	return bytes.Join([][]byte{r.msg[:r.id], []byte(id), r.msg[r.id+idDigits:]}, nil)
}

// Clone copies the request and its buffer.
func (r *Request) Clone() *Request {
	c := *r
	c.msg = bytes.Clone(r.msg)
	c.mu = new(sync.Mutex)
	return &c
}

// Number returns the i-th copy of the message. The next call of Number overwrites the bytes.
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

// NumberOf returns the number of the copy that has this id. The second result is false if Number
// does not write such ids.
func NumberOf(id []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n - firstID, err == nil && len(id) == idDigits && n >= firstID
}

// answerID returns the id that the answer has to have. If the request has no id, answerID returns
// nil, and any message is an answer.
func (r *Request) answerID() []byte {
	if r.wants == nil && r.Numbered() {
		return r.msg[r.id : r.id+idDigits]
	}
	return r.wants
}
