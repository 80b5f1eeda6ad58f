package framers

import (
	"fmt"
	"io"
	"iter"
)

// chunked splits each message into frames:
//
//	{uuid}:{index}:{total}:{data}\n
//
// A message that fits one frame is 0:1. A frame has at most size bytes, its header and newline among them.
type chunked struct{ size int }

// Chunked returns the framing that splits messages into frames of at most size bytes, header and newline among them; 0
// means DefaultChunk. It carries every message without a newline, the empty one too; a split may fall inside a character.
//
// A Reader takes any id of 1 to 64 bytes without a colon, chunks of several messages interleaved, and chunks out of
// order. It is a [ChunkReader].
func Chunked(size int) (Chunker, error) {
	size, err := chunkSize("chunked", size)
	return chunked{size}, err
}

func chunkSize(name string, size int) (int, error) {
	if size == 0 {
		return DefaultChunk, nil
	}
	if size < MinChunk {
		return 0, fmt.Errorf("%s: a frame of %d bytes cannot hold a header and a byte of data: at least %d", name, size, MinChunk)
	}
	return size, nil
}

func (f chunked) String() string { return fmt.Sprintf("chunked:%d", f.size) }

func (f chunked) NewWriter(w io.Writer, opts ...Option) Writer {
	return &chunkWriter{size: f.size, set: newSettings(opts), out: newOutlet(w)}
}

func (f chunked) NewReader(r io.Reader, opts ...Option) Reader {
	return newChunkReader(r, f.size, false, newSettings(opts))
}

func (f chunked) Frames(msg []byte) iter.Seq[[][]byte] { return split(msg, f.size, randomID()) }

func (f chunked) frames(msg []byte, s *settings) iter.Seq[[][]byte] {
	return split(msg, f.size, s.ids())
}

func (f chunked) frameSize() int            { return f.size }
func (f chunked) resized(size int) splitter { return chunked{size} }

func (f chunked) carries(msg []byte, _ *settings) error {
	if i := indexNewline(msg); i >= 0 {
		return newlineAt(i)
	}
	if len(msg) > maxFrames && newLayout(int64(len(msg)), f.size).total > maxFrames {
		return &PayloadError{Offset: len(msg), Err: ErrFrames}
	}
	return nil
}

func (f chunked) wireSize(size int64) (int64, bool) {
	l := newLayout(size, f.size)
	if l.total > maxFrames {
		return 0, false
	}
	return size + l.overhead(), true
}

type chunkWriter struct {
	size    int
	set     settings
	out     outlet
	headers []byte
}

func (w *chunkWriter) WriteMessage(msg []byte) error {
	if err := w.set.admits(msg); err != nil {
		return err
	}
	if w.sole(msg) {
		return w.frame(msg)
	}
	if err := (chunked{w.size}).carries(msg, &w.set); err != nil {
		return err
	}
	return w.frames(msg)
}

// sole reports whether msg fits one frame.
func (w *chunkWriter) sole(msg []byte) bool { return len(msg) <= w.size-soleHeader-1 }

// frame sends msg in one frame, or refuses it if there is a newline in it.
func (w *chunkWriter) frame(msg []byte) error {
	id := w.set.ids()
	w.headers = appendHeader(w.headers[:0], &id, 0, 1)
	return w.out.line(w.headers, msg)
}

// frames sends msg in several frames: in one gather call of as many as it takes, or in one Write each.
func (w *chunkWriter) frames(msg []byte) error {
	id := w.set.ids()
	l := newLayout(int64(len(msg)), w.size)
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

// gather lists the pieces of up to batch frames from index on, whose data begins msg. It returns how much of msg they
// carry, and their bytes in all. The newline of a frame is in one piece with the header of the next.
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
