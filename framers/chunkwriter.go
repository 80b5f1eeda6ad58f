package framers

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"
)

// maxGather is the most pieces that one call of writev(2) takes: IOV_MAX of Linux, macOS and
// FreeBSD.
const maxGather = 1024

// A chunkWriter sends each message in one frame or in several, or as a line without a header.
type chunkWriter struct {
	framing
	set    settings
	out    frameWriter
	sole   [soleHeader]byte // the header of a message in one frame; WriteMessage sets its id
	head   []byte           // the headers of a message in several frames; the memory is reused
	packer packer
}

func newChunkWriter(f framing, w io.Writer, s settings) Writer {
	c := &chunkWriter{framing: f, set: s, out: newFrameWriter(w, s.writeSize)}
	copy(c.sole[uuidBytes:], soleFields)
	return c
}

func (w *chunkWriter) WriteMessage(msg []byte) error {
	if err := w.set.checkLimit(msg); err != nil {
		return err
	}
	if err := chunksCarry(w.framing, msg, &w.set); err != nil {
		return err
	}
	if w.bare && bareLine(msg, w.size, &w.set) {
		return w.out.writeFrame(nil, msg, newline)
	}
	if w.pack {
		msg = w.packer.pack(msg)
	}
	id := w.set.id()
	if len(msg) > w.size-soleHeader-1 {
		return w.sendMany(id, msg)
	}
	frame := w.out.compose(w.sole[:], msg, newline)
	if frame == nil { // the pieces are not to be copied together
		putUUID((*[uuidBytes]byte)(w.sole[:]), &id)
		return w.out.send(w.sole[:], msg, newline)
	}
	// Write the id into the frame itself. It would be slow to store the id elsewhere in small
	// pieces and then copy it as a whole.
	putUUID((*[uuidBytes]byte)(frame), &id)
	n, err := w.out.w.Write(frame)
	return w.out.wrote(n, len(frame), err)
}

// sendMany sends a message in several frames. If the underlying writer is a [Vectored], one call
// passes as many frames as it can take.
func (w *chunkWriter) sendMany(id [16]byte, msg []byte) error {
	c := cutter{layout: newLayout(int64(len(msg)), w.size), id: id, msg: msg, headers: w.head}
	batch := 1 // frames per call
	if w.out.vectored != nil {
		batch = (maxGather - 1) / 2 // a frame is two pieces, and a newline follows the last frame
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

type cutter struct {
	layout
	id      [16]byte
	index   int    // of the next frame
	msg     []byte // what is left of the message, for the next frames
	headers []byte // the headers of the frames that the latest cut returned
}

// cut appends the pieces of the next frames to vec. The parameter batch is the largest number of
// frames, and the result size counts the bytes in these pieces. The newline of a frame is in the
// same piece as the header of the next frame.
func (c *cutter) cut(vec [][]byte, batch int) (pieces [][]byte, size int) {
	end := min(c.index+batch, int(c.total))
	c.headers = c.headers[:0]
	if need := (end - c.index) * (maxHeader + 1); cap(c.headers) < need {
		c.headers = make([]byte, 0, need) // large enough now: pieces point into it
	}
	left := len(c.msg)
	for first := c.index; c.index < end; c.index++ {
		from := len(c.headers)
		if c.index > first {
			c.headers = append(c.headers, '\n')
		}
		c.headers = appendHeader(c.headers, &c.id, c.index, c.total)
		data := c.msg[:min(c.data, len(c.msg))]
		c.msg = c.msg[len(data):]
		vec = append(vec, c.headers[from:], data)
	}
	carried := left - len(c.msg)
	return append(vec, newline), carried + len(c.headers) + 1
}

// A layout is how a message is split: every frame but the last carries the same number of bytes.
type layout struct {
	data  int   // bytes of the message in each frame but the last
	total int64 // number of frames
}

// maxFrames is the largest number of frames that a message may have. It fits 31 bits.
const maxFrames = math.MaxInt32

// newLayout splits a message into frames. The parameter frame is the largest size of a frame in
// bytes. The resulting number of frames may be above maxFrames.
func newLayout(size int64, frame int) layout {
	for digits := 1; ; digits++ { // of index and total: as few as suffice
		data := frame - (uuidBytes + 2*digits + 3) - 1 // 3 colons and a newline
		total := max((size+int64(data)-1)/int64(data), 1)
		if digits == indexDigits || decimals(total) <= digits {
			return layout{data, total}
		}
	}
}

func appendHeader(b []byte, id *[16]byte, index int, total int64) []byte {
	var text [uuidBytes]byte
	putUUID(&text, id)
	b = append(b, text[:]...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, ':')
	b = strconv.AppendInt(b, total, 10)
	return append(b, ':')
}

// putUUID writes an id as a lower-case UUID.
func putUUID(text *[uuidBytes]byte, id *[16]byte) {
	be := binary.BigEndian
	be.PutUint64(text[:], hexadecimal(be.Uint32(id[:])))
	groups := hexadecimal(be.Uint32(id[4:]))
	be.PutUint32(text[9:], uint32(groups>>32))
	be.PutUint32(text[14:], uint32(groups))
	groups = hexadecimal(be.Uint32(id[8:]))
	be.PutUint32(text[19:], uint32(groups>>32))
	be.PutUint32(text[24:], uint32(groups))
	be.PutUint64(text[28:], hexadecimal(be.Uint32(id[12:])))
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
}

// hexadecimal returns the eight lower-case digits of x, the first in the highest byte. It makes all
// digits at once. Made one by one, they took a tenth of the time that a small message takes.
func hexadecimal(x uint32) uint64 {
	const each = 0x0101010101010101 // n*each has n in each byte
	v := uint64(x)                  // to be spread until each byte holds 4 bits
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 6*each) >> 4 & each // 1 where a digit is above 9
	return v + '0'*each + letters*('a'-'0'-10)
}
