package framers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The compressed form of the chunked framing turns a message into one of these two, and splits that
// into frames:
//
//	0 message                  as it is, if it is small or does not shrink
//	1 escape(zstd(message))    \n is =n, = is ==
//
// So no frame holds a newline, though a message may.
const (
	plainForm  = '0'
	zstdForm   = '1'
	escapeByte = '='
	// compressFrom is the size from which compressing is tried, in bytes: below it, the zstd header
	// takes what compressing saves.
	compressFrom = 512
	// largestWindow is the most memory, in bytes, that a frame may ask the decoder to keep. The
	// encoder asks for half of it at most.
	largestWindow = 8 << 20
)

var zstdChunks = &form{
	name:    "chunked+zstd",
	arg:     "size",
	pack:    true,
	make:    makeChunked,
	carries: chunksCarry,
	writer:  newChunkWriter,
	reader:  newZstdReader,
}

// Compressed returns the chunked framing with messages compressed by zstd at its fastest level; 0
// means DefaultChunk. It carries every message. The format is this package's own and spoken by
// nobody else. It is not among [All]: it pays only if the pipe, and not the processor, is the
// bottleneck. The limit counts bytes of the message as it was sent; while a message is
// decompressed, its compressed form is held too.
func Compressed(size int) (Chunker, error) { return newChunked(zstdChunks, size) }

// encoder serves every Writer: EncodeAll may be called concurrently, and keeps nothing between
// calls.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // only wrong options are refused
	}
	return e
})

// A packer turns a message into the bytes that are split into frames. Its buffers are used again.
type packer struct{ small, packed []byte }

func (p *packer) pack(msg []byte) []byte {
	newlines := bytes.IndexByte(msg, '\n') >= 0
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

// A zstdReader unpacks what a chunkReader puts together.
type zstdReader struct {
	*chunkReader
	limit   int // of a message; the chunkReader's limit is for the packed form
	decoder *zstd.Decoder
	source  bytes.Reader // what the decoder reads
	out     []byte       // the last message that was decompressed
}

func newZstdReader(f framing, r io.Reader, s settings) Reader {
	limit := s.maxMessage
	if limit <= maxInt/4 {
		// At the worst every byte is escaped, and zstd puts something before each block.
		s.maxMessage = 2*limit + limit/1024 + 1<<10
	}
	return &zstdReader{chunkReader: newChunkReader(r, f, s), limit: limit}
}

func (r *zstdReader) ReadMessage() ([]byte, error) {
	packed, err := r.chunkReader.ReadMessage()
	var large *TooLargeError
	if errors.As(err, &large) && large.Limit > int64(r.limit) {
		large.Limit = int64(r.limit)
		large.Size = large.Limit + 1
		begins, plain := bytes.CutPrefix(large.Head, []byte{plainForm})
		large.Head = nil
		if plain { // else it is compressed
			large.Head = begins
		}
	}
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
		b, ok := unescape(packed)
		if !ok {
			return nil, r.damaged(errors.New("bad escape"))
		}
		return r.decompress(b)
	}
	return nil, r.damaged(fmt.Errorf("form %q", form))
}

// decompress returns the message of a zstd frame. Memory for it grows with what comes out of the
// decoder, whatever size the frame declares: 26 bytes may declare 2^62.
func (r *zstdReader) decompress(b []byte) ([]byte, error) {
	if r.decoder == nil {
		var err error
		r.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(largestWindow))
		if err != nil {
			return nil, fmt.Errorf("decompress message: %w", err)
		}
	}
	r.source.Reset(b)
	if err := r.decoder.Reset(&r.source); err != nil {
		return nil, r.damaged(err)
	}
	if cap(r.out) > keepCompose && len(r.out) < cap(r.out)/64 {
		r.out = nil
	}
	r.out = r.out[:0]
	for len(r.out) <= r.limit {
		if len(r.out) == cap(r.out) {
			r.out = slices.Grow(r.out, 4<<10)
		}
		n, err := r.decoder.Read(r.out[len(r.out):cap(r.out)])
		r.out = r.out[:len(r.out)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, r.damaged(err)
		}
	}
	if len(r.out) > r.limit {
		return nil, r.refuse(head(r.out, r.limit+1))
	}
	return r.out, nil
}

func (r *zstdReader) refuse(begins []byte) error {
	return r.set.refuse(tooLong(begins, r.limit, r.offset), &r.broken)
}

// damaged returns the error for a message that is complete but cannot be unpacked.
func (r *zstdReader) damaged(why error) error {
	return r.chunkError(fmt.Errorf("%w: %w", ErrPacked, why), r.frame.total)
}
