package framers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
)

// A chunked framing splits each message into frames:
//
//	{uuid}:{index}:{total}:{data}\n
//
// A message that fits one frame is 0:1. A frame has at most size bytes, its header and newline
// among them.
//
// The adaptive form sends a message as a bare line where it fits one of size bytes, newline
// counted, so that a peer that knows nothing of chunks understands every message that fits:
//
//	{"jsonrpc":"2.0","method":"ping"}\n
//
// A message that a line cannot carry (empty, white space around it) or that looks like a frame goes
// as a chunk whatever its size. The compressed form splits what a packer makes of the message.
type chunked struct{ framing }

var plainChunks = &form{
	name:    "chunked",
	arg:     "size",
	make:    makeChunked,
	carries: chunksCarry,
	writer:  newChunkWriter,
	reader: func(f framing, r io.Reader, s settings) Reader {
		return newChunkReader(r, f, s)
	},
}

var adaptiveChunks = &form{
	name:    "adaptive",
	arg:     "size",
	bare:    true,
	make:    makeChunked,
	carries: chunksCarry,
	writer:  newChunkWriter,
	reader: func(f framing, r io.Reader, s settings) Reader {
		return newChunkReader(r, f, s)
	},
}

func makeChunked(f *form, size int) (Framing, error) { return newChunked(f, size) }

// Chunked returns the framing that splits messages into frames of at most size bytes, header and
// newline among them; 0 means DefaultChunk. It carries every message without a newline, the empty
// one too; a split may fall inside a character.
//
// A Reader takes any id of 1 to 64 bytes without a colon, chunks of several messages interleaved,
// and chunks out of order.
func Chunked(size int) (Chunker, error) { return newChunked(plainChunks, size) }

// Adaptive returns the framing that sends bare lines where message and newline fit size bytes, and
// chunks above; 0 means DefaultChunk. A Reader takes both on one stream. It takes a line for a
// chunk only if it begins with a UUID of 36 characters, so neither JSON nor a log line with colons
// is mistaken for one.
func Adaptive(size int) (Chunker, error) { return newChunked(adaptiveChunks, size) }

func newChunked(f *form, size int) (Chunker, error) {
	if size == 0 {
		size = DefaultChunk
	}
	if size < MinChunk {
		return nil, fmt.Errorf("%s: a frame of %d bytes cannot hold a header and a byte of data: "+
			"at least %d", f.name, size, MinChunk)
	}
	return chunked{framing{f, size}}, nil
}

func (f chunked) Frames(msg []byte) iter.Seq[[][]byte] {
	s := newSettings(nil)
	return f.frames(msg, &s, f.size)
}

// frames yields the frames of msg under an id of s, each of at most size bytes. Whether the
// adaptive form sends a bare line is decided by its own size.
func (f chunked) frames(msg []byte, s *settings, size int) iter.Seq[[][]byte] {
	if f.bare && bareLine(msg, f.size, s) && bytes.IndexByte(msg, '\n') < 0 {
		return func(yield func([][]byte) bool) { yield([][]byte{msg, newline}) }
	}
	if f.pack {
		var p packer
		msg = p.pack(msg)
	}
	id := s.ids()
	return func(yield func([][]byte) bool) {
		c := cutter{layout: newLayout(int64(len(msg)), size), id: id, msg: msg}
		var pieces [][]byte
		for c.index < int(c.total) {
			pieces, _ = c.cut(pieces[:0], 1)
			if !yield(pieces) {
				return
			}
		}
	}
}

// bareLine reports whether the adaptive form sends msg as a line, unless it holds a newline.
func bareLine(msg []byte, size int, s *settings) bool {
	if len(msg)+1 > size || checkEnds(msg, s.verbatim) != nil {
		return false
	}
	looksFramed := len(msg) >= uuidBytes && uuidPrefix(msg[:uuidBytes])
	return !looksFramed
}

func chunksCarry(f framing, msg []byte, _ *settings) error {
	size := int64(len(msg))
	if f.pack {
		size *= 2 // every byte may have to be escaped
	} else if i := bytes.IndexByte(msg, '\n'); i >= 0 {
		return newlineAt(i)
	}
	if len(msg) > maxFrames && newLayout(size, f.size).total > maxFrames {
		return &PayloadError{Offset: len(msg), Err: ErrFrames}
	}
	return nil
}

// A chunkWriter sends each message as the bare line that it may be, in one frame, or in several.
type chunkWriter struct {
	framing
	set    settings
	out    frameWriter
	head   []byte // what stands before a message, or before the chunks of one
	packer packer
}

func newChunkWriter(f framing, w io.Writer, s settings) Writer {
	return &chunkWriter{framing: f, set: s, out: newFrameWriter(w, s.writeSize)}
}

func (w *chunkWriter) WriteMessage(msg []byte) error {
	if err := w.set.checkLimit(msg); err != nil {
		return err
	}
	if err := w.carries(w.framing, msg, &w.set); err != nil {
		return err
	}
	if w.bare && bareLine(msg, w.size, &w.set) {
		return w.out.frame(nil, msg, newline)
	}
	if w.pack {
		msg = w.packer.pack(msg)
	}
	id := w.set.ids()
	if len(msg) > w.size-soleHeader-1 {
		return w.sendMany(id, msg)
	}
	w.head = appendHeader(w.head[:0], &id, 0, 1)
	return w.out.frame(w.head, msg, newline)
}

// sendMany sends a message in several frames: to a Vectored as many together as a gather list has
// room for, to any other writer one at a time.
func (w *chunkWriter) sendMany(id [16]byte, msg []byte) error {
	c := cutter{layout: newLayout(int64(len(msg)), w.size), id: id, msg: msg, headers: w.head}
	batch := 1
	if w.out.v != nil {
		batch = maxGather / 2 // each is a header with the newline before it, and data
	}
	if w.set.writeSize > 0 {
		batch = max(min(batch, w.set.writeSize/w.size), 1)
	}
	for c.index < int(c.total) {
		var total int
		w.out.vec, total = c.cut(w.out.vec, batch)
		if err := w.out.sendVec(total); err != nil {
			return err
		}
	}
	w.head = c.headers
	return nil
}

// A cutter cuts a message into frames.
type cutter struct {
	layout
	id      [16]byte
	index   int    // of the next frame
	msg     []byte // what the frames from there on carry
	headers []byte // of the frames cut last
}

// cut appends the pieces of up to batch further frames to vec, and returns how many bytes they
// have. The newline of a frame is in one piece with the header of the next.
func (c *cutter) cut(vec [][]byte, batch int) ([][]byte, int) {
	last := min(c.index+batch, int(c.total))
	c.headers = c.headers[:0]
	if need := (last - c.index) * (maxHeader + 1); cap(c.headers) < need {
		c.headers = make([]byte, 0, need) // whole at once: pieces point into it
	}
	carried := len(c.msg)
	for first := c.index; c.index < last; c.index++ {
		from := len(c.headers)
		if c.index > first {
			c.headers = append(c.headers, '\n')
		}
		c.headers = appendHeader(c.headers, &c.id, c.index, c.total)
		data := c.msg[:min(c.data(c.index), len(c.msg))]
		c.msg = c.msg[len(data):]
		vec = append(vec, c.headers[from:], data)
	}
	return append(vec, newline), carried - len(c.msg) + len(c.headers) + 1
}

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
		total := framesNeeded(size, frame, digits)
		if digits == indexDigits || decimals(total) <= digits {
			return layout{frame, total}
		}
	}
}

// framesNeeded returns how many frames size bytes take whose total is written with so many digits.
func framesNeeded(size int64, frame, totalDigits int) int64 {
	total := int64(0)
	left := size
	past := int64(10) // the first index that has more than d digits
	for d := 1; d <= indexDigits; d++ {
		data := int64(frame - (uuidBytes + d + totalDigits + 3) - 1)
		frames := min(max((left+data-1)/data, 1), past-total)
		total += frames
		left -= frames * data
		if left <= 0 {
			return total
		}
		past *= 10
	}
	return math.MaxInt64
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
