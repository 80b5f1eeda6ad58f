package framers

import (
	"encoding/binary"
	"iter"
	"math"
	"strconv"
)

const (
	// DefaultChunk bounds a frame unless the spec says otherwise: 60 KiB in bytes, header and newline counted, so that
	// one fits a 64 KiB pipe.
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

// newLayout splits size bytes into frames of at most frame bytes; total is beyond maxFrames where that cannot be done.
// The header holds the total, so the total depends on its own number of digits: the smallest number of digits that
// suffices is right, as more digits never make fewer frames.
func newLayout(size int64, frame int) layout {
	total := int64(0)
	for digits := 1; digits <= indexDigits; digits++ {
		if total = framesNeeded(size, frame, digits); decimals(total) <= digits {
			break
		}
	}
	return layout{frame, total}
}

// framesNeeded counts the frames of size bytes if the total took so many digits.
func framesNeeded(size int64, frame, digits int) int64 {
	first := int64(0)
	for d := 1; d <= indexDigits; d++ { // indices of d digits begin at first
		past := pow10(d)
		data := int64(frame - (uuidBytes + d + digits + 3) - 1)
		if need := size / data; need < past-first {
			if size%data != 0 || size == 0 && first == 0 {
				need++
			}
			return first + need
		}
		size -= (past - first) * data
		first = past
	}
	return math.MaxInt64
}

func pow10(d int) int64 {
	n := int64(1)
	for range d {
		n *= 10
	}
	return n
}

// data returns how many bytes of the message a full frame of this index carries.
func (l layout) data(index int) int {
	return l.frame - headerBytes(uuidBytes, index, int(l.total)) - 1
}

// overhead returns the bytes of headers and newlines.
func (l layout) overhead() int64 {
	sum := l.total * int64(uuidBytes+decimals(l.total)+3+1)
	for d, first := 1, int64(0); first < l.total; d++ {
		past := min(pow10(d), l.total)
		sum += int64(d) * (past - first)
		first = past
	}
	return sum
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

// hexadecimal returns the eight lower-case digits of x, the first in the highest byte. It makes them all at once: digit
// by digit, an id was a tenth of what a small message costs.
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
