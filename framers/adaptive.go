package framers

import (
	"fmt"
	"io"
	"iter"
)

// adaptive sends a message as a bare line where it fits one of size bytes, newline counted, and chunked above:
//
//	{"jsonrpc":"2.0","method":"ping"}\n
//	{uuid}:{index}:{total}:{data}\n
//
// so that a peer that knows nothing of chunks understands every message that fits. A message that a line cannot carry
// (empty, white space around it) or that looks like a frame goes as a chunk whatever its size.
type adaptive struct{ size int }

// Adaptive returns the framing that sends bare lines where message and newline fit size bytes, and chunks above; 0 means
// DefaultChunk. A Reader takes both on one stream. It takes a line for a chunk only if it begins with a UUID of 36
// characters, so neither JSON nor a log line with colons is mistaken for one. It is a [ChunkReader].
func Adaptive(size int) (Chunker, error) {
	size, err := chunkSize("adaptive", size)
	return adaptive{size}, err
}

func (f adaptive) String() string { return fmt.Sprintf("adaptive:%d", f.size) }

func (f adaptive) NewWriter(w io.Writer, opts ...Option) Writer {
	return &adaptiveWriter{chunkWriter{size: f.size, set: newSettings(opts), out: newOutlet(w)}}
}

func (f adaptive) NewReader(r io.Reader, opts ...Option) Reader {
	return newChunkReader(r, f.size, true, newSettings(opts))
}

func (f adaptive) Frames(msg []byte) iter.Seq[[][]byte] {
	s := newSettings(nil)
	return f.frames(msg, &s)
}

func (f adaptive) frames(msg []byte, s *settings) iter.Seq[[][]byte] {
	if f.bare(msg, s) {
		return func(yield func([][]byte) bool) { yield([][]byte{msg, newline}) }
	}
	return split(msg, f.size, s.ids())
}

func (f adaptive) frameSize() int            { return f.size }
func (f adaptive) resized(size int) splitter { return adaptiveResized{f, size} }

// adaptiveResized splits by another size what does not go as a line.
type adaptiveResized struct {
	adaptive
	frame int
}

func (f adaptiveResized) frames(msg []byte, s *settings) iter.Seq[[][]byte] {
	if f.bare(msg, s) {
		return f.adaptive.frames(msg, s)
	}
	return split(msg, f.frame, s.ids())
}

// bare reports whether msg goes as a line.
func (f adaptive) bare(msg []byte, s *settings) bool {
	return lined(msg, f.size, s) && indexNewline(msg) < 0
}

// lined reports whether msg goes as a line unless a newline in it forbids that, which is found out when it is sent.
func lined(msg []byte, size int, s *settings) bool {
	return len(msg)+1 <= size && endsFit(msg, s.verbatim) == nil && !looksFramed(msg)
}

// looksFramed reports whether a line that begins with b may be taken for a chunk.
func looksFramed(b []byte) bool { return len(b) >= uuidBytes && uuidPrefix(b[:uuidBytes]) }

func (f adaptive) carries(msg []byte, s *settings) error { return chunked(f).carries(msg, s) }

func (f adaptive) wireSize(size int64) (int64, bool) {
	if size > 0 && size+1 <= int64(f.size) {
		return size + 1, true
	}
	return chunked(f).wireSize(size)
}

type adaptiveWriter struct{ chunkWriter }

func (w *adaptiveWriter) WriteMessage(msg []byte) error {
	if !lined(msg, w.size, &w.set) {
		return w.chunkWriter.WriteMessage(msg)
	}
	if err := w.set.admits(msg); err != nil {
		return err
	}
	return w.out.line(nil, msg)
}
