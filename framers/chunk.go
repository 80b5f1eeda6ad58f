package framers

import (
	"fmt"
	"io"
	"iter"
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
type chunked struct {
	form chunkForm
	size int
}

// A chunkForm names what is split into frames, as the spec of the framing does.
type chunkForm string

const (
	plainChunks    chunkForm = "chunked"
	adaptiveChunks chunkForm = "adaptive"
	zstdChunks     chunkForm = "chunked+zstd"
)

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

// Compressed returns the chunked framing with messages compressed by zstd at its fastest level; 0
// means DefaultChunk. It carries every message. It is a format of this package, spoken by nobody
// else, and is not among [All]: it pays where the pipe, and not the processor, is what is scarce.
// The limit counts bytes of the message as it was sent; while a message is decompressed, its
// compressed form is held too.
func Compressed(size int) (Chunker, error) { return newChunked(zstdChunks, size) }

func newChunked(form chunkForm, size int) (Chunker, error) {
	if size == 0 {
		size = DefaultChunk
	}
	if size < MinChunk {
		return nil, fmt.Errorf("%s: a frame of %d bytes cannot hold a header and a byte of data: at least %d", form, size, MinChunk)
	}
	return chunked{form, size}, nil
}

func (f chunked) String() string { return fmt.Sprintf("%s:%d", f.form, f.size) }

func (f chunked) NewWriter(w io.Writer, opts ...Option) Writer {
	return &chunkWriter{f: f, set: newSettings(opts), out: newFrameWriter(w)}
}

func (f chunked) NewReader(r io.Reader, opts ...Option) Reader {
	s := newSettings(opts)
	if f.form == zstdChunks {
		return newZstdReader(r, f.size, s)
	}
	return newChunkReader(r, f.size, f.form == adaptiveChunks, s)
}

func (f chunked) Frames(msg []byte) iter.Seq[[][]byte] {
	s := newSettings(nil)
	return f.frames(msg, &s, f.size)
}

// frames yields the frames of msg under an id of s, each of at most size bytes. Whether the
// adaptive form sends a bare line is decided by its own size.
func (f chunked) frames(msg []byte, s *settings, size int) iter.Seq[[][]byte] {
	switch {
	case f.form == adaptiveChunks && bareLine(msg, f.size, s) && indexNewline(msg) < 0:
		return func(yield func([][]byte) bool) { yield([][]byte{msg, newline}) }
	case f.form == zstdChunks:
		var p packer
		msg = p.pack(msg)
	}
	return split(msg, size, s.ids())
}

// bareLine reports whether the adaptive form sends msg as a line, unless a newline in it forbids
// that, which is found out when it is sent.
func bareLine(msg []byte, size int, s *settings) bool {
	looksFramed := len(msg) >= uuidBytes && uuidPrefix(msg[:uuidBytes])
	return len(msg)+1 <= size && endsFit(msg, s.verbatim) == nil && !looksFramed
}

func (f chunked) carries(msg []byte, _ *settings) error {
	size := int64(len(msg))
	if f.form == zstdChunks {
		size *= 2 // every byte may have to be escaped
	} else if i := indexNewline(msg); i >= 0 {
		return newlineAt(i)
	}
	if len(msg) > maxFrames && newLayout(size, f.size).total > maxFrames {
		return &PayloadError{Offset: len(msg), Err: ErrFrames}
	}
	return nil
}

type chunkWriter struct {
	f       chunked
	set     settings
	out     frameWriter
	headers []byte
	packer  packer
}

func (w *chunkWriter) WriteMessage(msg []byte) error {
	if err := w.set.admits(msg); err != nil {
		return err
	}
	checked := false // whether the framing is known to carry msg
	switch {
	case w.f.form == adaptiveChunks && bareLine(msg, w.f.size, &w.set):
		return w.out.line(nil, msg)
	case w.f.form == zstdChunks:
		if err := w.f.carries(msg, &w.set); err != nil {
			return err
		}
		msg, checked = w.packer.pack(msg), true
	}
	if len(msg) <= w.f.size-soleHeader-1 { // fits one frame, which is searched for a newline as it is written
		id := w.set.ids()
		w.headers = appendHeader(w.headers[:0], &id, 0, 1)
		return w.out.line(w.headers, msg)
	}
	if !checked {
		if err := w.f.carries(msg, &w.set); err != nil {
			return err
		}
	}
	return w.writeFrames(msg)
}

// writeFrames sends msg in several frames: in one gather call of as many as it takes, or in one
// Write each.
func (w *chunkWriter) writeFrames(msg []byte) error {
	id := w.set.ids()
	l := newLayout(int64(len(msg)), w.f.size)
	batch := maxGather / 2 // frames in a call: header with the newline before it, data
	if w.out.v == nil {
		batch = 1
	}
	for index := 0; index < int(l.total); {
		n, total := w.gather(msg, &id, l, index, batch)
		if err := w.out.sendVec(total); err != nil {
			return err
		}
		msg = msg[n:]
		index += batch
	}
	return nil
}

// gather lists the pieces of up to batch frames from index on, whose data begins msg. It returns
// how much of msg they carry, and their bytes in all. The newline of a frame is in one piece with
// the header of the next.
func (w *chunkWriter) gather(msg []byte, id *[16]byte, l layout, index, batch int) (data, total int) {
	last := min(index+batch, int(l.total))
	w.headers = w.headers[:0]
	if need := (last - index) * (maxHeader + 1); cap(w.headers) < need {
		w.headers = make([]byte, 0, need) // whole at once: pieces point into it
	}
	for ; index < last; index++ {
		from := len(w.headers)
		if len(w.out.vec) > 0 {
			w.headers = append(w.headers, '\n')
		}
		w.headers = appendHeader(w.headers, id, index, l.total)
		n := min(l.data(index), len(msg)-data)
		w.out.vec = append(w.out.vec, w.headers[from:], msg[data:data+n])
		data += n
	}
	w.out.vec = append(w.out.vec, newline)
	return data, data + len(w.headers) + 1
}
