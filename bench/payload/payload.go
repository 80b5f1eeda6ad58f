// Package payload makes the messages of a measurement, and checks them at the other end.
//
//	src, err := payload.Generate("json", 4096, 1)
//	msg := src.Message(7)          // 4,096 bytes of JSON-RPC, numbered 7
//	err = src.Check(7, received)   // number and length, cheap enough for the timed part
//	err = src.Compare(7, received) // every byte
//
// Sources made from the same arguments give the same messages, so two processes agree on them
// without talking. A Source belongs to one goroutine.
package payload

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stampLen is the width of a message's number: eight hexadecimal digits.
const stampLen = 8

// A Source is an endless sequence of numbered messages.
type Source struct {
	bodies [][]byte // message i is bodies[i mod len]
	copies [][]byte // copies of bodies[0] that are sent in turn, or nil
	// Message 0 is sent from the copy with the number skipped mod len(copies).
	skipped int64

	head, tail int // where a message carries its number, at two offsets; -1: nowhere
}

// Message returns message i. Its bytes are valid until the next call, and the caller must not alter
// them.
func (s *Source) Message(i int64) []byte {
	m := s.Body(i)
	number := digits(i)
	if s.head >= 0 {
		binary.BigEndian.PutUint64(m[s.head:], number)
	}
	if s.tail >= 0 {
		binary.BigEndian.PutUint64(m[s.tail:], number)
	}
	return m
}

// Body returns message i without writing the number i into the message. That is enough for a reader
// that does not tell messages apart.
func (s *Source) Body(i int64) []byte {
	if s.copies != nil {
		return s.copies[(s.skipped+i)%int64(len(s.copies))]
	}
	if len(s.bodies) == 1 {
		return s.bodies[0]
	}
	return s.bodies[i%int64(len(s.bodies))]
}

// Size returns the length of message i in bytes.
func (s *Source) Size(i int64) int { return len(s.Body(i)) }

// Bytes returns the total length in bytes of n messages, of which the first has the number from.
func (s *Source) Bytes(from, n int64) int64 {
	var total int64
	for _, b := range s.bodies {
		total += int64(len(b))
	}
	rounds := n / int64(len(s.bodies)) // how often every body is sent
	total *= rounds
	for i := from + rounds*int64(len(s.bodies)); i < from+n; i++ {
		total += int64(s.Size(i))
	}
	return total
}

// Distinct returns how many messages the source has that differ in more than their number.
func (s *Source) Distinct() int64 { return int64(len(s.bodies)) }

// Largest returns the length of the longest message in bytes.
func (s *Source) Largest() int {
	n := 0
	for _, b := range s.bodies {
		n = max(n, len(b))
	}
	return n
}

// Check returns an error if msg is certainly not message i. It compares only the length and eight
// bytes at each of two places.
func (s *Source) Check(i int64, msg []byte) error {
	want := s.Body(i)
	if len(msg) != len(want) {
		why := fmt.Sprintf("has %d bytes, not %d", len(msg), len(want))
		return mismatch(i, min(len(msg), len(want)), why)
	}
	hasTwoNumbers := s.head >= 0 && s.tail >= 0
	if !hasTwoNumbers { // the message is too short, or recorded
		want = s.Message(i)
		n := min(stampLen, len(want))
		if bytes.Equal(msg[:n], want[:n]) && bytes.Equal(msg[len(msg)-n:], want[len(want)-n:]) {
			return nil
		}
		const why = "does not begin and end as it was sent"
		return mismatch(i, firstDifference(want, msg), why)
	}
	number := digits(i)
	wrong := s.head
	if binary.BigEndian.Uint64(msg[s.head:]) == number {
		if binary.BigEndian.Uint64(msg[s.tail:]) == number {
			return nil
		}
		wrong = s.tail
	}
	why := fmt.Sprintf("carries number %q, not %08x", msg[wrong:wrong+stampLen], uint32(i))
	return mismatch(i, wrong, why)
}

// Number returns the number that a message of the source carries at its head.
func (s *Source) Number(msg []byte) (int64, error) {
	if s.head < 0 || len(msg) < s.head+stampLen {
		return 0, fmt.Errorf("a message of %d bytes carries no number", len(msg))
	}
	text := msg[s.head : s.head+stampLen]
	n, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil {
		return 0, fmt.Errorf("%q, where a message carries its number, is none", text)
	}
	return int64(n), nil
}

// Compare returns an error if msg differs from message i in any byte.
func (s *Source) Compare(i int64, msg []byte) error {
	want := s.Message(i)
	if bytes.Equal(want, msg) {
		return nil
	}
	at := firstDifference(want, msg)
	why := fmt.Sprintf("differs from what was sent (%d bytes received, %d sent)",
		len(msg), len(want))
	return mismatch(i, at, why)
}

// mismatch returns the error for a message that arrived altered. The parameter offset is the
// position of the first byte that is known to be wrong.
func mismatch(message int64, offset int, why string) error {
	return fmt.Errorf("message %d, byte %d: the message %s", message, offset, why)
}

func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// digits returns the low 32 bits of i as eight hexadecimal digits, the first digit in the highest
// byte. A loop would make the measured times longer.
func digits(i int64) uint64 {
	x := uint64(uint32(i)) // the next three lines spread its digits: one per byte
	x = (x<<16 | x) & 0x0000ffff0000ffff
	x = (x<<8 | x) & 0x00ff00ff00ff00ff
	x = (x<<4 | x) & 0x0f0f0f0f0f0f0f0f
	// Adding 6 to a digit from 10 to 15 carries into the upper half of its byte.
	aToF := (x + 0x0606060606060606) >> 4 & 0x0101010101010101 // 1 in each such byte
	return x + 0x3030303030303030 + aToF*('a'-'0'-10)
}

// A Kind is a kind of content for generated messages.
type Kind struct {
	Name string
	What string // a description, for lists of kinds

	// fill writes a message into b. It returns the two offsets at which the message carries its
	// number, or -1 if there is no room.
	fill func(b []byte, r *rand.Rand) (head, tail int)
}

// Recorded is the name of the payload in measurements that send recorded messages; see
// [ReadRecording].
const Recorded = "recorded"

// Kinds returns the kinds that [Generate] knows.
func Kinds() []Kind {
	return []Kind{
		{"json", "JSON-RPC requests of exactly the cell's size, on one line", fillJSON},
		{"utf8", "text of 1-, 2-, 3- and 4-byte characters, on one line", fillUTF8},
		{"random", "binary, newlines and all: for framings that carry any byte", fillRandom},
	}
}

// Generate makes a source of messages of exactly size bytes. Messages of less than 16 bytes (JSON:
// 68 bytes) are too short to carry their number twice.
func Generate(kind string, size int, seed int64) (*Source, error) {
	if size < 0 {
		return nil, fmt.Errorf("payload %s: a message cannot have %d bytes", kind, size)
	}
	var known []string
	for _, k := range Kinds() {
		known = append(known, k.Name)
		if k.Name == kind {
			b := make([]byte, size)
			r := rand.New(rand.NewPCG(uint64(seed), uint64(size)))
			head, tail := k.fill(b, r)
			return &Source{bodies: [][]byte{b}, head: head, tail: tail}, nil
		}
	}
	return nil, fmt.Errorf("payload %q is unknown; known are %s", kind, strings.Join(known, ", "))
}

// Placeholders in the shapes: for a message's number, and for text that makes the message as long
// as it has to be.
const (
	numberMark = "########"
	textMark   = "…"
)

// shapes are the forms of a JSON message, the longest first. A message has the first form that fits
// into its size.
var shapes = []string{
	`{"jsonrpc":"2.0","id":"########","method":"tools/call",` +
		`"params":{"name":"echo","arguments":{"message":"…"},` +
		`"_meta":{"progressToken":"########"}}}`,
	`{"jsonrpc":"2.0","id":"########","method":"m","params":["…########"]}`,
	`{"########":"…"}`,
	`"…"`,
	`…`,
}

const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,;-+"

func fillJSON(b []byte, r *rand.Rand) (head, tail int) {
	for _, shape := range shapes {
		before, after, _ := strings.Cut(shape, textMark)
		room := len(b) - len(before) - len(after)
		if room < 0 {
			continue
		}
		copy(b, before)
		letter := func() byte { return alphabet[r.IntN(len(alphabet))] }
		fillRepeating(b[len(before):len(before)+room], letter)
		copy(b[len(before)+room:], after)
		break
	}
	if len(b) == 1 { // a digit is the only JSON of one byte
		b[0] = '0' + byte(r.IntN(10))
	}
	head = bytes.Index(b, []byte(numberMark))
	tail = bytes.LastIndex(b, []byte(numberMark))
	if head == tail {
		tail = -1
	}
	return head, tail
}

// characters make up the messages of the kind "utf8". Most have one byte in UTF-8, as in most
// texts.
var characters = []rune("eeeeeetttaaaooiinn   éßñøшλ€漢字語한…😀🜁")

func fillUTF8(b []byte, r *rand.Rand) (head, tail int) {
	head, tail, body := reserveEnds(b)
	var block []byte
	for len(block) < min(len(body), period) {
		block = utf8.AppendRune(block, characters[r.IntN(len(characters))])
	}
	for n := 0; n < len(body); {
		n += copy(body[n:], block)
	}
	// The last block may have been cut inside a character. Replace the bytes of that character.
	lastBlock := len(body) - len(body)%max(1, len(block))
	for i := lastBlock; i < len(body); {
		_, n := utf8.DecodeRune(body[i:])
		if n == 1 && body[i] >= utf8.RuneSelf {
			body[i] = 'e'
		}
		i += n
	}
	return head, tail
}

func fillRandom(b []byte, r *rand.Rand) (head, tail int) {
	head, tail, body := reserveEnds(b)
	fillRepeating(body, func() byte { return byte(r.Uint32()) })
	return head, tail
}

// period is the number of bytes after which the content of a message repeats. It is a prime number.
// So neighbouring parts of a message differ, and a check notices if one stands in place of another.
const period = 65521

// fillRepeating fills b with random bytes that repeat after a period.
func fillRepeating(b []byte, random func() byte) {
	block := b[:min(len(b), period)]
	for i := range block {
		block[i] = random()
	}
	for n := len(block); n < len(b); {
		n += copy(b[n:], block)
	}
}

// reserveEnds reserves room for a message's number at the beginning and at the end of b, if b is
// long enough. The result body is the rest of b.
func reserveEnds(b []byte) (head, tail int, body []byte) {
	if len(b) < 2*stampLen {
		return -1, -1, b
	}
	return 0, len(b) - stampLen, b[stampLen : len(b)-stampLen]
}
