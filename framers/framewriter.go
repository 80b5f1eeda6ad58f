package framers

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
)

const (
	// atomicBytes is PIPE_BUF of Linux: a pipe takes a write of up to this many bytes whole or not
	// at all. A frame of at most this size always goes out in one call.
	atomicBytes = 4096
	// gatherFrom is the size in bytes of the smallest frame that a Vectored gets as a list of
	// pieces. For a smaller frame, it is cheaper to copy the pieces together.
	gatherFrom = 16 << 10
	// fileCopy is the most bytes that are copied together for one write to an *os.File: the usual
	// capacity of a pipe.
	fileCopy = 64 << 10
	// keepCompose is the largest buffer, in bytes, that is kept even if it is not needed.
	keepCompose = 1 << 20
)

// A frameWriter writes frames of up to three pieces: header, message, tail. The underlying writer
// decides how:
//
//	*bufio.Writer  each piece in a call of its own
//	Vectored       one copy below 16 KiB, else a list of the pieces
//	*os.File       one copy up to 64 KiB, else copies of up to 64 KiB and parts without a copy
//	any other      one copy
//
// If writeSize is set, it bounds the bytes of each call for a frame of more than 4 KiB.
type frameWriter struct {
	w         io.Writer
	vectored  Vectored // w, if it takes gather lists; else nil
	buffered  bool     // w is a bufio.Writer, which copies anyway
	writeSize int      // the most bytes of a call, 0 for no bound
	copyMost  int      // the largest frame, in bytes, whose pieces are copied together for one call
	buf       []byte   // where pieces are copied together
	vec       [][]byte // the pieces to be sent
	list      [][]byte // the gather list of one call
	broken    error    // set when only a part of a frame was sent; every later call returns it
}

func newFrameWriter(w io.Writer, writeSize int) frameWriter {
	o := frameWriter{w: w, writeSize: writeSize}
	switch typed := w.(type) {
	case *bufio.Writer:
		o.buffered = true
		o.copyMost = -1 // copy no frame
		return o
	case Vectored:
		o.vectored = typed
		o.copyMost = gatherFrom - 1
	case *os.File:
		o.copyMost = fileCopy
	default:
		o.copyMost = math.MaxInt
	}
	if writeSize > 0 {
		o.copyMost = max(min(o.copyMost, writeSize), atomicBytes)
	}
	return o
}

// writeFrame writes a message, with head before it and tail behind it.
func (o *frameWriter) writeFrame(head, msg, tail []byte) error {
	frame := o.compose(head, msg, tail)
	if frame == nil {
		return o.send(head, msg, tail)
	}
	n, err := o.w.Write(frame)
	return o.wrote(n, len(frame), err)
}

// compose copies the pieces of a frame together. It returns nil if the caller should call send
// instead: for a large frame, for one that is only the message, and after a failure.
func (o *frameWriter) compose(head, msg, tail []byte) []byte {
	total := len(head) + len(msg) + len(tail)
	if total > o.copyMost || total == len(msg) || o.broken != nil {
		return nil
	}
	frame := o.frameBuffer(len(head), total)
	at := 0
	if len(head) > 8 {
		at = copy(frame, head)
	} else {
		for _, c := range head { // a loop this short is faster than a call of copy
			frame[at] = c
			at++
		}
	}
	at += copy(frame[at:], msg)
	for _, c := range tail {
		frame[at] = c
		at++
	}
	return frame
}

func (o *frameWriter) send(pieces ...[]byte) error {
	o.vec = o.vec[:0]
	total := 0
	for _, p := range pieces {
		if len(p) > 0 {
			o.vec = append(o.vec, p)
			total += len(p)
		}
	}
	return o.sendVec(total)
}

// sendVec writes the pieces in o.vec, which have total bytes.
func (o *frameWriter) sendVec(total int) error {
	err := o.broken
	switch {
	case err != nil || total == 0:
	case o.buffered:
		err = o.sendPieces(total)
	default:
		err = o.sendCalls(total)
	}
	clear(o.vec) // the caller's message is not retained
	o.vec = o.vec[:0]
	return err
}

// sendPieces writes the pieces in o.vec one by one, to a bufio.Writer.
func (o *frameWriter) sendPieces(total int) error {
	sent := 0
	for _, piece := range o.vec {
		n, err := o.w.Write(piece)
		sent += n
		if err != nil {
			return o.wrote(sent, total, err)
		}
	}
	return nil
}

// sendCalls writes the pieces in o.vec in as few calls as the settings allow.
func (o *frameWriter) sendCalls(total int) error {
	left := o.vec
	for sent := 0; sent < total; {
		n := total // bytes of the next call
		if total > o.copyMost {
			n = o.callBytes(left, total-sent, total)
		}
		written, err := o.call(left, n, total <= o.copyMost)
		sent += written
		if err != nil || written != n {
			return o.wrote(sent, total, err)
		}
		left = drop(left, n)
	}
	return nil
}

// callBytes returns how many bytes to write in the next call. The parameter left has those pieces
// of a frame that are not sent yet, and total is the size of the frame.
func (o *frameWriter) callBytes(left [][]byte, unsent, total int) int {
	n := unsent
	if o.writeSize > 0 && total > atomicBytes {
		n = min(n, o.writeSize)
	}
	isFirst := unsent == total
	if o.vectored == nil {
		n = min(n, o.plainBytes(left, unsent))
	} else if isFirst && n >= gatherFrom && slowTogether(left) {
		// Send the header alone. If one call sent both, the kernel would copy the message slowly.
		return len(left[0])
	}
	if isFirst && n < unsent {
		n = toPageStart(left, n)
	}
	return n
}

// plainBytes returns how many bytes to pass to the next Write of a writer that takes one slice per
// call.
func (o *frameWriter) plainBytes(left [][]byte, unsent int) int {
	first := len(left[0])
	switch {
	case unsent <= fileCopy, first == unsent: // little is left, or one piece
		return unsent
	case first <= fileCopy: // copy the piece together with the beginning of the next
		return fileCopy
	}
	// Write the whole pages of a large piece without a copy, the rest with the next piece.
	return first &^ (pageSize - 1)
}

// call writes the first n bytes of the pieces left in one call. It passes a single slice if copied
// is true, or if the writer takes no list of pieces.
func (o *frameWriter) call(left [][]byte, n int, copied bool) (written int, err error) {
	if o.vectored == nil || copied {
		return o.w.Write(o.together(left, n))
	}
	o.list = o.list[:0]
	for _, piece := range left {
		piece = piece[:min(len(piece), n)]
		o.list = append(o.list, piece)
		n -= len(piece)
		if n == 0 {
			break
		}
	}
	sent, err := o.vectored.Writev(o.list)
	clear(o.list)
	return int(sent), err
}

// drop returns pieces without their first n bytes.
func drop(pieces [][]byte, n int) [][]byte {
	for len(pieces) > 0 && n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	if n > 0 {
		pieces[0] = pieces[0][n:]
	}
	return pieces
}

// together returns the first n bytes of pieces as one slice. It copies only if these bytes lie in
// several pieces.
func (o *frameWriter) together(pieces [][]byte, n int) []byte {
	if len(pieces[0]) >= n {
		return pieces[0][:n]
	}
	frame := o.frameBuffer(len(pieces[0]), n)
	at := 0
	for i := 0; at < n; i++ {
		at += copy(frame[at:], pieces[i])
	}
	return frame
}

// cacheLine is the size of a cache line in bytes.
const cacheLine = 64

// frameBuffer returns memory for a frame, such that the message behind the header starts at the
// start of a cache line. With messages of 4 KiB this saves 5 % of the time.
func (o *frameWriter) frameBuffer(headerSize, frameSize int) []byte {
	skew := -headerSize & (cacheLine - 1)
	need := skew + frameSize
	if cap(o.buf) < need || cap(o.buf) > keepCompose && need < keepCompose/4 {
		o.buf = make([]byte, max(need, 512))
	}
	return o.buf[skew:need]
}

// wrote returns nil if all total bytes of a frame were written. If the write failed after n bytes,
// it returns the error and, unless n is 0, makes every later call fail, too.
func (o *frameWriter) wrote(n, total int, err error) error {
	switch {
	case err == nil && n == total:
		return nil
	case err == nil:
		err = io.ErrShortWrite
	}
	if n == 0 {
		return fmt.Errorf("write message: %w", err)
	}
	o.broken = fmt.Errorf("write message: stream broken after %d of %d bytes of a frame: %w",
		n, total, err)
	return o.broken
}
