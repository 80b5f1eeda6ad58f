package drive

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"sync"
)

// A requestTemplate is a request of one exact size, of which every copy has its own number: in its
// id, and at both ends of its payload, so that an answer in another's place shows.
//
//	{"jsonrpc":"2.0","id":1000000007,"method":"…","params":{"pad":"00000007…00000007"}}
//	 before                                              payload            after
type requestTemplate struct {
	msg      []byte
	id       int // where the id stands; -1 where there is none
	from, to int // the payload
	echoes   bool
	errs     bool   // an error is the answer that is due
	refusal  string // its code; "" is any
	demands  int    // bytes of payload that the answer is to have; 0 where it is to have those of the message

	query   *followUp // sent behind the message, and answered in its place; nil where the message itself is
	release *followUp // sent when the answer has come; nil where nothing is due

	mu *sync.Mutex // numbering, and checking an answer, which a late one makes another goroutine do

	fixed    bool     // the message is what it is, and not numbered
	silent   bool     // then: nobody answers it
	wants    []byte   // then: its id; nil where it has none
	recorded []byte   // then: the answer that it got; nil where none is known
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

// newTemplate makes a request of size bytes, or of as few as it takes; before holds idMark where the
// id belongs, if the request has one.
func newTemplate(before, after string, size int) *requestTemplate {
	size = max(size, len(before)+len(after))
	t := &requestTemplate{
		msg: make([]byte, size), id: strings.Index(before, idMark),
		from: len(before), to: size - len(after), mu: new(sync.Mutex),
	}
	copy(t.msg, before)
	copy(t.msg[t.to:], after)
	fill(t.payload())
	return t
}

// refusable makes a request for an unknown method, padded to size.
func refusable(size int, meta string) *requestTemplate {
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"` + unknownMethod + `","params":{` + meta + `"pad":"`
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
	if t.fixed {
		return t.msg
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.id >= 0 {
		decimals(t.msg[t.id:t.id+idDigits], firstID+i%manyIDs)
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
	if len(id) != idDigits {
		return 0, false
	}
	var n int64
	for _, c := range id {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n - firstID, n >= firstID
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// period is after how many bytes a payload repeats: prime, so that a chunk that takes another's
// place shows.
const period = 65521

// fill writes letters that need no escape in any encoding; which ones depends on the length alone.
func fill(b []byte) {
	r := rand.New(rand.NewPCG(uint64(len(b)), uint64(len(b))))
	first := b[:min(len(b), period)]
	for i := range first {
		first[i] = letters[r.IntN(len(letters))]
	}
	for n := len(first); n < len(b); {
		n += copy(b[n:], first)
	}
}

// A followUp is a small message that goes with a larger one, and carries its number wherever idMark
// stood.
type followUp struct {
	msg []byte
	at  []int // where the number stands
}

func newFollowUp(text string) *followUp {
	f := &followUp{msg: []byte(text)}
	for from := 0; ; {
		i := strings.Index(text[from:], idMark)
		if i < 0 {
			return f
		}
		f.at = append(f.at, from+i)
		from += i + idDigits
	}
}

// number makes f the follow-up of the i-th copy of its template.
func (f *followUp) number(i int64) []byte {
	for _, at := range f.at {
		decimals(f.msg[at:at+idDigits], firstID+i%manyIDs)
	}
	return f.msg
}
