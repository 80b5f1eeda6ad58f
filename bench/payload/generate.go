package payload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// A Kind is what generated messages are made of.
type Kind struct {
	Name string
	What string // a line for a list

	fill func(b []byte, r *rand.Rand) (head, tail int)
}

// Recorded names the payload of a recording; see [ReadRecording].
const Recorded = "recorded"

// Kinds returns the kinds that [Generate] knows.
func Kinds() []Kind {
	return []Kind{
		{"json", "JSON-RPC requests of exactly the cell's size, on one line", fillJSON},
		{"utf8", "text of 1-, 2-, 3- and 4-byte characters, on one line", fillUTF8},
		{"random", "binary, newlines and all: for framings that carry any byte", fillRandom},
	}
}

// Generate makes a source of messages of one kind and of exactly size bytes. A message of fewer
// than 16 bytes has no room for its number twice; its length and its bytes at both ends are then
// what [Source.Check] looks at.
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

// number stands in a shape for the message's number, and filler for as much text as the message's
// size asks for.
const (
	number = "########"
	filler = "…"
)

// shapes of a JSON message, the richest first; the first that fits is used.
var shapes = []string{
	`{"jsonrpc":"2.0","id":"########","method":"tools/call","params":{"name":"echo","arguments":{"message":"…"},"_meta":{"progressToken":"########"}}}`,
	`{"jsonrpc":"2.0","id":"########","method":"m","params":["…########"]}`,
	`{"########":"…"}`,
	`"…"`,
	`…`,
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,;-+"

func fillJSON(b []byte, r *rand.Rand) (head, tail int) {
	for _, shape := range shapes {
		if room := len(b) - (len(shape) - len(filler)); room >= 0 {
			before, after, _ := strings.Cut(shape, filler)
			copy(b, before)
			fill(b[len(before):len(before)+room], func() byte { return letters[r.IntN(len(letters))] })
			copy(b[len(before)+room:], after)
			break
		}
	}
	if len(b) == 1 {
		b[0] = '0' + byte(r.IntN(10))
	}
	head, tail = bytes.Index(b, []byte(number)), bytes.LastIndex(b, []byte(number))
	if head == tail {
		tail = -1
	}
	return head, tail
}

// characters of one to four bytes, those of one the most frequent, as in text.
var characters = []rune("eeeeeetttaaaooiinn   éßñøшλ€漢字語한…😀🜁")

func fillUTF8(b []byte, r *rand.Rand) (head, tail int) {
	head, tail, body := ends(b)
	var block []byte
	for len(block) < min(len(body), period) {
		block = utf8.AppendRune(block, characters[r.IntN(len(characters))])
	}
	for n := 0; n < len(body); {
		n += copy(body[n:], block)
	}
	end := len(body) - len(body)%max(1, len(block))
	for i := end; i < len(body); { // the last repetition may have been cut inside a character
		_, n := utf8.DecodeRune(body[i:])
		if n == 1 && body[i] >= utf8.RuneSelf {
			body[i] = 'e'
		}
		i += n
	}
	return head, tail
}

func fillRandom(b []byte, r *rand.Rand) (head, tail int) {
	head, tail, body := ends(b)
	fill(body, func() byte { return byte(r.Uint32()) })
	return head, tail
}

// period is after how many bytes the filling of a message begins again: enough to be cheap, and
// prime, so that a chunk taken for its neighbour shows.
const period = 65521

// fill writes random bytes to b, which repeat after a period.
func fill(b []byte, random func() byte) {
	block := b[:min(len(b), period)]
	for i := range block {
		block[i] = random()
	}
	for n := len(block); n < len(b); {
		n += copy(b[n:], block)
	}
}

// ends reserves room for the number at both ends of b, if there is any.
func ends(b []byte) (head, tail int, body []byte) {
	if len(b) < 2*stampLen {
		return -1, -1, b
	}
	return 0, len(b) - stampLen, b[stampLen : len(b)-stampLen]
}
