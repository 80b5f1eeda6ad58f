package framers

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The framing chunked+zstd puts a message into one of two forms, and splits the form into frames:
//
//	0 message                  as it is, if it is small or does not shrink
//	1 escape(zstd(message))    escape makes =n of a newline, and == of =
//
// A message with a newline always takes the second form.
const (
	plainForm  = '0'
	zstdForm   = '1'
	escapeByte = '='
	// compressFrom is the size in bytes from which messages are compressed. Below that size, the
	// zstd header takes as many bytes as compression saves.
	compressFrom = 512
	// maxBlock is the most bytes that one block of a zstd frame can decompress to.
	maxBlock = 128 << 10
	// undeclared is the size in bytes of the largest message whose zstd frame may leave out the
	// size of the message.
	undeclared = 255
)

var zstdChunks = chunkForm(form{
	name:     "chunked+zstd",
	pack:     true,
	unlisted: true,
	reader: func(f framing, r io.Reader, s settings) Reader {
		limit := s.maxMessage
		if limit <= math.MaxInt/4 {
			// In the worst case every byte is escaped, and each block of the zstd frame has a
			// header.
			s.maxMessage = 2*limit + limit/1024 + 1<<10
		}
		return &zstdReader{chunkReader: newChunkReader(r, f, s), limit: limit}
	},
})

// Compressed returns the chunked framing with messages compressed by zstd. Size 0 means
// DefaultChunk. No other program speaks this framing. It pays only where the pipe is slower than
// the processor.
//
// The limit of WithMaxMessage is for the message before compression.
func Compressed(size int) (Chunker, error) { return newChunked(zstdChunks, size) }

// encoder serves every Writer: EncodeAll keeps no state, and may be called concurrently.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err) // only wrong options are refused
	}
	return e
})

// A packer compresses and escapes messages. The result of pack is valid until the next call.
type packer struct {
	compressed []byte
	packed     []byte // what pack returns
}

func (p *packer) pack(msg []byte) []byte {
	newlines := bytes.IndexByte(msg, '\n') >= 0
	if len(msg) >= compressFrom || newlines {
		p.compressed = encoder().EncodeAll(msg, p.compressed[:0])
		p.packed = escape(append(p.packed[:0], zstdForm), p.compressed)
		if newlines || len(p.packed) <= len(msg) {
			return p.packed
		}
	}
	p.packed = append(append(p.packed[:0], plainForm), msg...)
	return p.packed
}

// escape appends b to the first slice, with newlines and escape bytes escaped.
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

// unescape undoes escape in place. The second result is false if b cannot be a result of escape.
func unescape(b []byte) (text []byte, ok bool) {
	at := bytes.IndexByte(b, escapeByte)
	if at < 0 {
		return b, true
	}
	for i := at; i < len(b); i++ {
		c := b[i]
		if c == escapeByte {
			i++
			if i == len(b) {
				return nil, false
			}
			c = b[i]
			switch c {
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

// A zstdReader unpacks the messages that a chunkReader puts together.
type zstdReader struct {
	*chunkReader
	limit   int // the most bytes of a message; the chunkReader has a limit for the packed form
	decoder *zstd.Decoder
	out     []byte
}

func (r *zstdReader) ReadMessage() ([]byte, error) {
	packed, err := r.chunkReader.ReadMessage()
	var large *TooLargeError
	if errors.As(err, &large) && large.Limit > int64(r.limit) {
		// The chunkReader's error is about the packed form. Make it an error about the message.
		large.Limit = int64(r.limit)
		large.Size = large.Limit + 1
		begins, plain := bytes.CutPrefix(large.Head, []byte{plainForm})
		large.Head = nil
		if plain { // else the beginning is compressed
			large.Head = begins
		}
	}
	if err != nil {
		return nil, err
	}
	if len(packed) == 0 {
		return nil, r.damaged(errors.New("empty"))
	}
	first, packed := packed[0], packed[1:]
	switch first {
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
	return nil, r.damaged(fmt.Errorf("form %q", first))
}

// decompress returns the message in a zstd frame. A hostile frame may declare a huge message, so no
// more is allocated than the limit and the frame's blocks allow.
func (r *zstdReader) decompress(b []byte) ([]byte, error) {
	if r.decoder == nil {
		var err error
		r.decoder, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, fmt.Errorf("decompress message: %w", err)
		}
	}
	var h zstd.Header
	if err := h.Decode(b); err != nil {
		return nil, r.damaged(err)
	}
	if h.Skippable {
		return nil, r.damaged(errors.New("skippable frame"))
	}
	blocks := b[h.HeaderSize:]
	most := decompressedBound(blocks)
	declared := uint64(undeclared)
	if h.HasFCS { // the frame declares its content's size
		declared = h.FrameContentSize
	}
	switch {
	case h.HasFCS && declared > uint64(most):
		return nil, r.damaged(fmt.Errorf("declares %d bytes, its blocks make %d at most",
			declared, most))
	case h.HasFCS && declared > uint64(r.limit):
		return nil, r.refuse(r.beginning(blocks))
	}
	room := int(declared)
	if cap(r.out) < room || cap(r.out) > keepCompose && room < cap(r.out)/64 {
		r.out = make([]byte, 0, room)
	}
	out, err := r.decoder.DecodeAll(b, r.out[:0:room])
	if err != nil {
		return nil, r.damaged(err)
	}
	if len(out) > r.limit {
		return nil, r.refuse(head(out, r.limit+1))
	}
	return out, nil
}

// decompressedBound returns the most bytes that the blocks of a zstd frame can decompress to.
func decompressedBound(b []byte) int {
	most := 0
	for len(b) > 3 {
		bits := int(b[0]) | int(b[1])<<8 | int(b[2])<<16 // the block's header
		last := bits&1 == 1
		kind := bits >> 1 & 3
		size := bits >> 3
		switch kind {
		case 0: // not compressed
			most += min(size, maxBlock, len(b)-3)
		case 1: // one byte, to be repeated
			most += min(size, maxBlock)
			size = 1
		default: // compressed
			most += maxBlock
		}
		if last || size > len(b)-3 {
			break
		}
		b = b[3+size:]
	}
	return most
}

// beginning decompresses the first block of a message that is too large, so that the error can
// quote it. The block is put into a frame of its own, which needs only a small window.
func (r *zstdReader) beginning(blocks []byte) []byte {
	// The frame's header: the magic number, no declared size, and a window of maxBlock.
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3}
	// The block's header. Its lowest three bits are no part of the size.
	size := (int(blocks[0]) | int(blocks[1])<<8 | int(blocks[2])<<16) >> 3
	kind := blocks[0] >> 1 & 3
	if kind == 1 {
		size = 1
	}
	frame = append(frame, blocks[:min(3+size, len(blocks))]...)
	frame[6] |= 1 // say that the block is the last
	out, err := r.decoder.DecodeAll(frame, make([]byte, 0, maxBlock))
	if err != nil {
		return nil
	}
	return head(out, r.limit+1)
}

func (r *zstdReader) refuse(begins []byte) error {
	return r.set.refuse(tooLong(begins, r.limit, r.offset), &r.broken)
}

// damaged returns the error for a message that is complete but cannot be unpacked.
func (r *zstdReader) damaged(why error) error {
	return r.chunkError(fmt.Errorf("%w: %w", ErrPacked, why), r.frame.total)
}
