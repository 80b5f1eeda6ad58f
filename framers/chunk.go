package framers

import (
	"bytes"
	"fmt"
	"io"
	"iter"
)

// A chunked framing splits each message into frames of at most size bytes, newline included:
//
//	{uuid}:{index}:{total}:{data}\n
//
// There are two variants: "adaptive" sends a small message as a line without a header, and
// "chunked+zstd" compresses messages first.
type chunked struct{ framing }

var (
	plainChunks    = chunkForm(form{name: "chunked", reader: readChunks})
	adaptiveChunks = chunkForm(form{name: "adaptive", reader: readChunks, bare: true})
)

// chunkForm returns f with all that the forms of chunks have in common.
func chunkForm(f form) *form {
	f.arg = "size"
	f.newSized = func(f *form, size int) (Framing, error) { return newChunked(f, size) }
	f.carries = chunksCarry
	f.writer = newChunkWriter
	return &f
}

func readChunks(f framing, r io.Reader, s settings) Reader { return newChunkReader(r, f, s) }

// Chunked returns the framing that splits messages into frames of at most size bytes, header and
// newline included. Size 0 means DefaultChunk. A message must not hold a newline. A frame may end
// inside a UTF-8 character.
//
// A Reader accepts chunks out of order, and interleaved chunks of several messages.
func Chunked(size int) (Chunker, error) { return newChunked(plainChunks, size) }

// Adaptive returns the framing that sends a message as a line without a header if the line has at
// most size bytes, else as chunks. Size 0 means DefaultChunk. A Reader treats a line as a chunk
// only if the line begins with a UUID.
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

// frames yields the frames of msg, each of at most size bytes. A Mux may ask for a smaller size
// than f.size.
func (f chunked) frames(msg []byte, s *settings, size int) iter.Seq[[][]byte] {
	if f.bare && bareLine(msg, f.size, s) && bytes.IndexByte(msg, '\n') < 0 {
		return func(yield func([][]byte) bool) { yield([][]byte{msg, newline}) }
	}
	if f.pack {
		var p packer
		msg = p.pack(msg)
	}
	id := s.id()
	return func(yield func([][]byte) bool) {
		c := cutter{layout: newLayout(int64(len(msg)), size), id: id, msg: msg}
		var pieces [][]byte
		for c.index < int(c.total) {
			pieces, _ = c.cut(pieces[:0], 1) // frame
			if !yield(pieces) {
				return
			}
		}
	}
}

// bareLine reports whether the framing "adaptive" may send msg as a line without a header. The
// caller checks that msg has no newline.
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
	// Each frame carries at least a byte, so a message of up to maxFrames bytes needs no check.
	if len(msg) > maxFrames && newLayout(size, f.size).total > maxFrames {
		return &PayloadError{Offset: len(msg), Err: ErrFrames}
	}
	return nil
}

const (
	// DefaultChunk is the default size of a frame in bytes. Such a frame fits a 64 KiB pipe.
	DefaultChunk = 60 << 10
	// MinChunk is the least size of a frame in bytes: header, a byte of data and the newline.
	MinChunk = 64

	uuidBytes   = 36
	maxIDBytes  = 64      // the longest id that a Reader accepts
	indexDigits = 10      // the most digits of an index or a total: both are below 2^31
	soleFields  = ":0:1:" // index and total of a message in one frame
	soleHeader  = uuidBytes + len(soleFields)
	maxHeader   = maxIDBytes + 2*indexDigits + 3 // with 3 colons
)

// A chunkID is a message's id, as a comparable value without pointers.
type chunkID struct {
	n uint8 // length of the id in bytes
	b [maxIDBytes]byte
}

// set stores text as the id. A UUID, the usual id, is copied without a function call.
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

// parse reads the header at the beginning of b. If uuid is true, the id must be a UUID.
func (h *chunkHeader) parse(b []byte, uuid bool) verdict {
	id := b[:min(len(b), maxIDBytes+1)]
	n := bytes.IndexByte(id, ':') // bytes of the id
	if n >= 0 {
		id = id[:n]
	}
	switch {
	case bytes.IndexByte(id, '\n') >= 0, n == 0, uuid && !uuidPrefix(id):
		return noChunk
	case n < 0 && len(id) <= maxIDBytes: // the colon may still come
		return undecided
	case n < 0, uuid && n != uuidBytes: // the id is too long, or too short
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

// uuidPrefix reports whether id is a UUID or the beginning of one, in upper or lower case.
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

// number reads a decimal number that ends at a colon, and stores it in *to. The result used counts
// the digits of the number.
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
