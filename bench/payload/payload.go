// Package payload makes the messages that a cell sends, and knows them again at the other end.
//
//	src, err := payload.Generate("json", 4096, 1)
//	msg := src.Message(7)          // 4,096 bytes of JSON-RPC, numbered 7
//	err = src.Check(7, received)   // number and length, cheap enough for the timed part
//	err = src.Compare(7, received) // every byte
//
// Two sources made from the same arguments give the same messages, so that a writer and a reader in
// two processes agree without talking. A Source keeps one buffer and belongs to one goroutine.
package payload

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// stampLen is the width of a message's number: eight hexadecimal digits.
const stampLen = 8

// A Source is an endless sequence of numbered messages.
type Source struct {
	bodies [][]byte // message i is bodies[i mod len]
	head   int      // where a generated message carries its number, -1 where it is too small
	tail   int
}

// Message returns message i. It is valid until the next call; its length never changes, and it may
// be written to the pipe but not altered.
func (s *Source) Message(i int64) []byte {
	m, number := s.Body(i), digits(i)
	if s.head >= 0 {
		binary.BigEndian.PutUint64(m[s.head:], number)
	}
	if s.tail >= 0 {
		binary.BigEndian.PutUint64(m[s.tail:], number)
	}
	return m
}

// Body returns message i as it is without its number, for a stream that nobody takes messages from.
func (s *Source) Body(i int64) []byte {
	if len(s.bodies) == 1 {
		return s.bodies[0]
	}
	return s.bodies[i%int64(len(s.bodies))]
}

// Size returns the length of message i in bytes.
func (s *Source) Size(i int64) int { return len(s.Body(i)) }

// Bytes returns the length of messages from to from+n, together.
func (s *Source) Bytes(from, n int64) int64 {
	var round, rest int64
	for _, b := range s.bodies {
		round += int64(len(b))
	}
	rounds := n / int64(len(s.bodies))
	for i := from + rounds*int64(len(s.bodies)); i < from+n; i++ {
		rest += int64(s.Size(i))
	}
	return rounds*round + rest
}

// Distinct returns how many messages differ in more than their number.
func (s *Source) Distinct() int64 { return int64(len(s.bodies)) }

// Largest returns the length of the longest message in bytes.
func (s *Source) Largest() int {
	n := 0
	for _, b := range s.bodies {
		n = max(n, len(b))
	}
	return n
}

// Check tells whether msg can be message i: its length, and eight bytes at its head and at its
// tail.
func (s *Source) Check(i int64, msg []byte) error {
	want := s.Body(i)
	if len(msg) != len(want) {
		return &Mismatch{Message: i, Offset: min(len(msg), len(want)), Why: fmt.Sprintf("has %d bytes, not %d", len(msg), len(want))}
	}
	if s.head < 0 || s.tail < 0 { // it carries its number at most once, or was recorded
		want = s.Message(i)
		n := min(stampLen, len(want))
		if bytes.Equal(msg[:n], want[:n]) && bytes.Equal(msg[len(msg)-n:], want[len(want)-n:]) {
			return nil
		}
		return &Mismatch{Message: i, Offset: firstDifference(want, msg), Why: "does not begin and end as it was sent"}
	}
	at, number := s.head, digits(i)
	if binary.BigEndian.Uint64(msg[at:]) == number {
		if at = s.tail; binary.BigEndian.Uint64(msg[at:]) == number {
			return nil
		}
	}
	return &Mismatch{Message: i, Offset: at, Why: fmt.Sprintf("carries number %q, not %08x", msg[at:at+stampLen], uint32(i))}
}

// Compare tells whether msg is message i, byte for byte.
func (s *Source) Compare(i int64, msg []byte) error {
	want := s.Message(i)
	if bytes.Equal(want, msg) {
		return nil
	}
	at := firstDifference(want, msg)
	return &Mismatch{Message: i, Offset: at, Why: fmt.Sprintf("differs from what was sent (%d bytes received, %d sent)", len(msg), len(want))}
}

// A Mismatch is a message that did not arrive as it was sent.
type Mismatch struct {
	Message int64  // its number, from 0
	Offset  int    // of the first byte known to be wrong
	Why     string // "carries number …"
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("message %d, byte %d: the message %s", m.Message, m.Offset, m.Why)
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

// digits returns the low 32 bits of i as eight hexadecimal digits, the first in the highest byte.
// It works on all eight at once: a number is written twice a message inside the timed part, where a
// loop over the digits was seen.
func digits(i int64) uint64 {
	x := uint64(uint32(i))
	x = (x<<16 | x) & 0x0000ffff0000ffff
	x = (x<<8 | x) & 0x00ff00ff00ff00ff
	x = (x<<4 | x) & 0x0f0f0f0f0f0f0f0f
	letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101
	return x + 0x3030303030303030 + letters*('a'-'0'-10)
}
