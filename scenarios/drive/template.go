package drive

import (
	"fmt"
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
	demands  int    // bytes of payload that the answer is to have, where the message has none

	query   *followUp // sent behind the message, and answered in its place; nil where the message itself is
	release *followUp // sent when the answer has come; nil where nothing is due

	mu sync.Mutex // numbering, and checking an answer, which a late one makes another goroutine do

	fixed bool   // the message is what it is, and not numbered
	wants []byte // then: its id; nil where it has none
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

// A SizeError is returned for a message that is too small to be a request at all.
type SizeError struct{ Size, Least int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("a request of %d bytes cannot be made: the smallest has %d", e.Size, e.Least)
}

// newTemplate makes a request of size bytes; before holds idMark where the id belongs, if the
// request has one.
func newTemplate(before, after string, size int) (*requestTemplate, error) {
	least := len(before) + len(after)
	if least == 0 {
		least = 1 // an empty line asks nothing
	}
	if size < least {
		return nil, &SizeError{size, least}
	}
	t := &requestTemplate{
		msg: make([]byte, size), id: strings.Index(before, idMark),
		from: len(before), to: size - len(after),
	}
	copy(t.msg, before)
	copy(t.msg[t.to:], after)
	fill(t.payload())
	return t, nil
}

// refusable makes a request for an unknown method, padded to size.
func refusable(size int, meta string) (*requestTemplate, error) {
	before := `{"jsonrpc":"2.0","id":` + idMark + `,"method":"` + unknownMethod + `","params":{` + meta + `"pad":"`
	t, err := newTemplate(before, `"}}`, size)
	if err == nil {
		t.errs = true
	}
	return t, err
}

func (t *requestTemplate) payload() []byte { return t.msg[t.from:t.to] }

// carries returns how many bytes of payload go back and forth with the message.
func (t *requestTemplate) carries() int {
	if t.demands > 0 {
		return t.demands
	}
	return t.to - t.from
}

// clone copies the template over a buffer of its own, for the goroutine that checks answers.
func (t *requestTemplate) clone() *requestTemplate {
	return &requestTemplate{
		msg: append([]byte(nil), t.msg...), id: t.id, from: t.from, to: t.to,
		echoes: t.echoes, errs: t.errs, refusal: t.refusal, fixed: t.fixed, wants: t.wants,
	}
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
