package drive

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// A shape is a request of one exact size, of which every copy has its own number: in its id, and at both ends of its payload, so that an
// answer in another's place shows.
//
//	{"jsonrpc":"2.0","id":1000000007,"method":"…","params":{"pad":"00000007…00000007"}}
//	 before                                              payload            after
type shape struct {
	msg      []byte
	id       int // where the id stands; -1 where there is none
	from, to int // the payload
	echoes   bool
	errs     bool   // an error is the answer that is due
	refusal  string // its code; "" is any
	demands  int    // bytes of payload that the answer is to have, where the message has none

	question *sequel // sent behind the message, and answered in its place; nil where the message itself is
	farewell *sequel // sent when the answer has come; nil where nothing is due

	mu sync.Mutex // numbering, and judging an answer, which a late one makes another goroutine do

	fixed bool   // the message is what it is, and not numbered
	wants []byte // then: its id; nil where it has none
}

// The ids of requests are numbers of one width, so that they do not change a message's size: ten digits, and below 2^31 for those who keep
// them in 32 bits.
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

// newShape makes a request of size bytes; before holds idMark where the id belongs, if the request has one.
func newShape(before, after string, size int, seed int64) (*shape, error) {
	least := len(before) + len(after)
	if least == 0 {
		least = 1 // an empty line asks nothing
	}
	if size < least {
		return nil, &SizeError{size, least}
	}
	s := &shape{msg: make([]byte, size), id: strings.Index(before, idMark), from: len(before), to: size - len(after)}
	copy(s.msg, before)
	copy(s.msg[s.to:], after)
	fill(s.payload(), seed)
	return s, nil
}

func (s *shape) payload() []byte { return s.msg[s.from:s.to] }

// carries is how many bytes of payload go back and forth with the message.
func (s *shape) carries() int {
	if s.demands > 0 {
		return s.demands
	}
	return s.to - s.from
}

// clone is the same shape over a buffer of its own, for the goroutine that compares.
func (s *shape) clone() *shape {
	return &shape{
		msg: append([]byte(nil), s.msg...), id: s.id, from: s.from, to: s.to,
		echoes: s.echoes, errs: s.errs, refusal: s.refusal, fixed: s.fixed, wants: s.wants,
	}
}

// number makes the shape's message its i-th copy.
func (s *shape) number(i int64) []byte {
	if s.fixed {
		return s.msg
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id >= 0 {
		decimals(s.msg[s.id:s.id+idDigits], idOf(i))
	}
	if p := s.payload(); len(p) >= 2*stampDigits {
		decimals(p[:stampDigits], i)
		decimals(p[len(p)-stampDigits:], i)
	}
	return s.msg
}

// idOf is the id of a shape's i-th copy.
func idOf(i int64) int64 { return firstID + i%manyIDs }

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

// period is after how many bytes a payload repeats: prime, so that a chunk that takes another's place shows.
const period = 65521

// fill writes letters that need no escape in any encoding.
func fill(b []byte, seed int64) {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(len(b))))
	first := b[:min(len(b), period)]
	for i := range first {
		first[i] = letters[r.IntN(len(letters))]
	}
	for n := len(first); n < len(b); {
		n += copy(b[n:], first)
	}
}
