package framers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// compressed is the chunked framing of messages that are compressed first. What is split into frames is
//
//	0 message                  as it is, where it is small or does not shrink
//	1 escape(zstd(message))    \n is =n, = is ==
//
// so that no frame holds a newline, though a message may.
type compressed struct{ size int }

const (
	plainForm  = '0'
	zstdForm   = '1'
	escapeByte = '='
	// compressFrom is the size from which compressing is tried, in bytes: below, the zstd header eats what it saves.
	compressFrom = 512
)

// Compressed returns the chunked framing with messages compressed by zstd at its fastest level; 0 means DefaultChunk. It
// carries every message. It is a format of this package, spoken by nobody else, and is not among [All]: it pays where the
// pipe, and not the processor, is what is scarce. The limit counts bytes of the message as it was sent; while a message is
// decompressed, its compressed form is held too.
func Compressed(size int) (Chunker, error) {
	size, err := chunkSize("chunked+zstd", size)
	return compressed{size}, err
}

func (f compressed) String() string { return fmt.Sprintf("chunked+zstd:%d", f.size) }

func (f compressed) NewWriter(w io.Writer, opts ...Option) Writer {
	return &zstdWriter{chunkWriter: chunkWriter{size: f.size, set: newSettings(opts), out: newOutlet(w)}}
}

func (f compressed) NewReader(r io.Reader, opts ...Option) Reader {
	s := newSettings(opts)
	limit := s.maxMessage
	if limit <= math.MaxInt/2 { // escapes add a 128th to what does not compress
		s.maxMessage += limit/16 + 1<<10
	}
	return &zstdReader{chunkReader: newChunkReader(r, f.size, false, s), limit: limit}
}

func (f compressed) Frames(msg []byte) iter.Seq[[][]byte] {
	s := newSettings(nil)
	return f.frames(msg, &s)
}

func (f compressed) frames(msg []byte, s *settings) iter.Seq[[][]byte] {
	var p packer
	return split(p.pack(msg), f.size, s.ids())
}

func (f compressed) frameSize() int            { return f.size }
func (f compressed) resized(size int) splitter { return compressed{size} }

func (f compressed) carries(msg []byte, _ *settings) error {
	if len(msg) > maxFrames && newLayout(int64(len(msg))*2, f.size).total > maxFrames {
		return &PayloadError{Offset: len(msg), Err: ErrFrames}
	}
	return nil
}

func (compressed) wireSize(int64) (int64, bool) { return 0, false }

// encoder serves every Writer: EncodeAll may be called concurrently, and keeps nothing between calls.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // only wrong options are refused
	}
	return e
})

// A packer turns messages into what is split. Its buffers are used again.
type packer struct{ small, packed []byte }

func (p *packer) pack(msg []byte) []byte {
	newlines := indexNewline(msg) >= 0
	if len(msg) >= compressFrom || newlines {
		p.small = encoder().EncodeAll(msg, p.small[:0])
		p.packed = escape(append(p.packed[:0], zstdForm), p.small)
		if newlines || len(p.packed) <= len(msg) {
			return p.packed
		}
	}
	p.packed = append(append(p.packed[:0], plainForm), msg...)
	return p.packed
}

// escape appends b with its newlines and escape bytes escaped.
func escape(to, b []byte) []byte {
	from := 0
	for i, c := range b {
		if c == '\n' || c == escapeByte {
			to = append(append(to, b[from:i]...), escapeByte, c)
			if c == '\n' {
				to[len(to)-1] = 'n'
			}
			from = i + 1
		}
	}
	return append(to, b[from:]...)
}

// unescape undoes escape in place.
func unescape(b []byte) ([]byte, bool) {
	at := bytes.IndexByte(b, escapeByte)
	if at < 0 {
		return b, true
	}
	for i := at; i < len(b); i++ {
		c := b[i]
		if c == escapeByte {
			if i++; i == len(b) {
				return nil, false
			}
			switch c = b[i]; c {
			case 'n':
				c = '\n'
			case escapeByte:
			default:
				return nil, false
			}
		}
		b[at] = c
		at++
	}
	return b[:at], true
}

type zstdWriter struct {
	chunkWriter
	packer packer
}

func (w *zstdWriter) WriteMessage(msg []byte) error {
	if err := w.set.admits(msg); err != nil {
		return err
	}
	if err := (compressed{w.size}).carries(msg, &w.set); err != nil {
		return err
	}
	packed := w.packer.pack(msg)
	if w.sole(packed) {
		return w.frame(packed)
	}
	return w.frames(packed)
}

// A zstdReader unpacks what a chunkReader assembles. ReadChunk gives chunks as they are on the wire.
type zstdReader struct {
	*chunkReader
	limit   int // of a message; the chunkReader's is of its packed form
	decoder *zstd.Decoder
	out     []byte
}

func (r *zstdReader) ReadMessage() ([]byte, error) {
	packed, err := r.chunkReader.ReadMessage()
	if err != nil {
		return nil, err
	}
	if len(packed) == 0 {
		return nil, r.damaged(errors.New("empty"))
	}
	form, packed := packed[0], packed[1:]
	switch form {
	case plainForm:
		if len(packed) > r.limit {
			return nil, r.refuse(head(packed, r.limit+1))
		}
		return packed, nil
	case zstdForm:
		return r.unpack(packed)
	}
	return nil, r.damaged(fmt.Errorf("form %q", form))
}

func (r *zstdReader) unpack(packed []byte) ([]byte, error) {
	b, ok := unescape(packed)
	if !ok {
		return nil, r.damaged(errors.New("bad escape"))
	}
	if r.decoder == nil {
		var err error
		r.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(r.limit, 1))))
		if err != nil {
			return nil, fmt.Errorf("decompress message: %w", err)
		}
	}
	if cap(r.out) > keepCompose && len(b) < keepCompose/64 {
		r.out = nil
	}
	out, err := r.decoder.DecodeAll(b, r.out[:0])
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), err == nil && len(out) > r.limit:
		return nil, r.refuse(r.beginning(b))
	case err != nil:
		return nil, r.damaged(err)
	}
	r.out = out
	return out, nil
}

// beginning decompresses the first bytes of a message beyond the limit, as far as they can be had.
func (r *zstdReader) beginning(b []byte) []byte {
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil
	}
	defer d.Close()
	begins := make([]byte, min(headBytes, r.limit+1))
	n, _ := io.ReadFull(d, begins)
	return begins[:n]
}

func (r *zstdReader) refuse(begins []byte) error {
	err := &TooLargeError{Size: int64(r.limit) + 1, Limit: int64(r.limit), Offset: r.offset, Head: begins}
	if r.set.policy == Close {
		r.lines.broken = err
	}
	return err
}

// damaged is the error for a message that was assembled and cannot be unpacked.
func (r *zstdReader) damaged(why error) error {
	f := &r.frame
	return &ChunkError{
		Offset: r.offset, ID: f.id.String(), Index: f.index, Total: f.total, Received: f.total,
		Err: fmt.Errorf("%w: %w", ErrPacked, why),
	}
}
