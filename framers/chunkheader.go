package framers

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"strconv"
)

const (
	// DefaultChunk bounds a frame unless the spec says otherwise: 60 KiB in bytes, header and
	// newline counted, so that one fits a 64 KiB pipe.
	DefaultChunk = 60 << 10
	// MinChunk is the smallest bound: the longest header, a byte of data and the newline.
	MinChunk = 64

	uuidBytes   = 36
	maxIDBytes  = 64
	indexDigits = 10            // of an index or total: below 2^31 as written, and as read
	soleHeader  = uuidBytes + 5 // of a message in one frame
	maxHeader   = maxIDBytes + 2*indexDigits + 3
)

// headerBytes returns the length of the header of chunk index of total.
func headerBytes(id, index, total int) int {
	return id + decimals(int64(index)) + decimals(int64(total)) + 3
}

// A layout is how a message is split: every frame but the last is full.
type layout struct {
	frame int   // bound of a frame in bytes
	total int64 // frames
}

// maxFrames bounds a total, as written and as read: it has at most 10 digits and fits 31 bits.
const maxFrames = math.MaxInt32

// newLayout splits size bytes into frames of at most frame bytes; total is beyond maxFrames where
// that cannot be done. The header holds the total, so the total depends on its own number of
// digits: the smallest number of digits that suffices is right, as more digits never make fewer
// frames.
func newLayout(size int64, frame int) layout {
	for digits := 1; ; digits++ {
		total, left := int64(0), size
		for d, past := 1, int64(10); d <= indexDigits && (left > 0 || total == 0); d, past = d+1, past*10 {
			data := int64(frame - (uuidBytes + d + digits + 3) - 1) // in a frame whose index has d digits
			frames := min(max((left+data-1)/data, 1), past-total)
			total += frames
			left -= frames * data
		}
		if left > 0 {
			total = math.MaxInt64
		}
		if digits == indexDigits || decimals(total) <= digits {
			return layout{frame, total}
		}
	}
}

// data returns how many bytes of the message a full frame of this index carries.
func (l layout) data(index int) int {
	return l.frame - headerBytes(uuidBytes, index, int(l.total)) - 1
}

// appendHeader appends the header of a chunk: the id as a lower-case UUID.
func appendHeader(b []byte, id *[16]byte, index int, total int64) []byte {
	be := binary.BigEndian
	var text [uuidBytes + 1]byte
	be.PutUint64(text[:], hexadecimal(be.Uint32(id[:])))
	groups := hexadecimal(be.Uint32(id[4:]))
	be.PutUint32(text[9:], uint32(groups>>32))
	be.PutUint32(text[14:], uint32(groups))
	groups = hexadecimal(be.Uint32(id[8:]))
	be.PutUint32(text[19:], uint32(groups>>32))
	be.PutUint32(text[24:], uint32(groups))
	be.PutUint64(text[28:], hexadecimal(be.Uint32(id[12:])))
	text[8], text[13], text[18], text[23], text[36] = '-', '-', '-', '-', ':'
	b = append(b, text[:]...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, total, 10)
	return append(b, ':')
}

// hexadecimal returns the eight lower-case digits of x, the first in the highest byte. It makes
// them all at once: digit by digit, an id was a tenth of what a small message costs.
func hexadecimal(x uint32) uint64 {
	const each = 0x0101010101010101
	v := uint64(x)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 6*each) >> 4 & each // 1 where a digit is above 9
	return v + '0'*each + letters*('a'-'0'-10)
}

// split yields the frames of msg under id.
func split(msg []byte, frame int, id [16]byte) iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		l := newLayout(int64(len(msg)), frame)
		header := make([]byte, 0, maxHeader)
		pieces := [3][]byte{2: newline}
		for index := range int(l.total) {
			data := msg[:min(l.data(index), len(msg))]
			msg = msg[len(data):]
			header = appendHeader(header[:0], &id, index, l.total)
			pieces[0], pieces[1] = header, data
			if !yield(pieces[:]) {
				return
			}
		}
	}
}

// A chunkID is a message's id, comparable and without a pointer.
type chunkID struct {
	n uint8
	b [maxIDBytes]byte
}

// set makes the id text. Nearly all are UUIDs, which are copied by a few instructions and not by
// calls.
func (id *chunkID) set(text []byte) {
	if len(text) == uuidBytes && id.n == uuidBytes {
		*(*[uuidBytes]byte)(id.b[:]) = [uuidBytes]byte(text)
		return
	}
	id.n = uint8(len(text))
	clear(id.b[copy(id.b[:], text):])
}

func (id *chunkID) bytes() []byte  { return id.b[:id.n] }
func (id *chunkID) String() string { return string(id.bytes()) }

// A chunkHeader is what stands before the data of a frame.
type chunkHeader struct {
	id           chunkID
	index, total int
	length       int // bytes of the header itself
}

// A verdict says what the beginning of a line is.
type verdict int

const (
	undecided verdict = iota // more bytes must come
	aChunk
	noChunk
)

// parse reads the header that b begins with. With uuid set, the id must be a UUID of 36 characters.
func (h *chunkHeader) parse(b []byte, uuid bool) verdict {
	id := b[:min(len(b), maxIDBytes+1)]
	n := bytes.IndexByte(id, ':')
	if n >= 0 {
		id = id[:n]
	}
	switch {
	case bytes.IndexByte(id, '\n') >= 0, n == 0, uuid && !uuidPrefix(id):
		return noChunk
	case n < 0 && len(id) <= maxIDBytes:
		return undecided
	case n < 0, uuid && n != uuidBytes:
		return noChunk
	}
	at := n + 1
	for _, field := range [...]*int{&h.index, &h.total} {
		used, v := number(b[at:], field)
		if v != aChunk {
			return v
		}
		at += used + 1
	}
	h.length = at
	h.id.set(id)
	return aChunk
}

// uuidPrefix reports whether id is a UUID of 36 characters, of either case, or begins like one.
func uuidPrefix(id []byte) bool {
	if len(id) > uuidBytes {
		return false
	}
	for i, c := range id {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
		if dash && c != '-' || !dash && !hex {
			return false
		}
	}
	return true
}

// number reads decimal digits and the colon behind them; used counts the digits.
func number(b []byte, to *int) (used int, v verdict) {
	n := int64(0)
	for i, c := range b {
		switch {
		case c == ':' && i > 0 && n <= maxFrames:
			*to = int(n)
			return i, aChunk
		case c < '0' || c > '9' || i == indexDigits:
			return 0, noChunk
		}
		n = n*10 + int64(c-'0')
	}
	return 0, undecided
}
