package framers

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// lengthPrefix puts a 4-byte big-endian length before the message:
//
//	00 00 00 05 h e l l o
var lengthPrefix = &form{
	name: "length-prefix",
	carries: func(_ framing, msg []byte, _ *settings) error {
		most := uint64(math.MaxUint32)
		if uint64(len(msg)) > most {
			return &PayloadError{Offset: int(most), Err: ErrLength}
		}
		return nil
	},
	header: func(b []byte, size int) []byte {
		return binary.BigEndian.AppendUint32(b, uint32(size))
	},
	reader: func(_ framing, r io.Reader, s settings) Reader {
		b := newBodyReader(r, s)
		b.receive = b.prefix
		return &b
	},
}

const prefixBytes = 4

// LengthPrefix returns the framing that puts a 4-byte big-endian length before each message. It
// carries every message of less than 4 GiB.
func LengthPrefix() Framing { return framing{lengthPrefix, 0} }

// A bodyReader receives messages whose length is known before they come. After a read error the
// next call goes on without losing bytes.
type bodyReader struct {
	in       readBuffer
	set      settings
	receive  func() error // receives what stands before a message, and calls declare
	declared bool         // the length of the next message is known
	length   int64        // the length of that message in bytes
	start    int64        // where in the stream the frame of the next message begins
	skipping int64        // bytes that are still to come of a message that is too large
	broken   error        // the error that ended the stream; every later call returns it
}

func newBodyReader(r io.Reader, s settings) bodyReader {
	return bodyReader{in: newReadBuffer(r, &s), set: s}
}

// prefix receives the length before a message.
func (b *bodyReader) prefix() error {
	in := &b.in
	start := in.offset(in.base)
	if err := in.need(prefixBytes); err != nil {
		return err
	}
	length := int64(binary.BigEndian.Uint32(in.held()))
	in.base += prefixBytes
	in.pos = in.base
	return b.declare(length, start)
}

// declare stores the length of the next message, and where its frame began. A negative length ends
// the stream.
func (b *bodyReader) declare(length, start int64) error {
	if length < 0 {
		b.broken = fmt.Errorf("frame at byte %d declares %d bytes", start, length)
		return b.broken
	}
	b.declared = true
	b.length = length
	b.start = start
	return nil
}

// Pending implements [LengthReader].
func (b *bodyReader) Pending() Pending {
	came := len(b.in.held())
	switch {
	case b.declared:
		return Pending{Length: b.length, Came: came}
	case came > 0:
		return Pending{Length: -1, Came: came}
	}
	return Pending{}
}

func (b *bodyReader) ReadMessage() (msg []byte, err error) {
	if b.broken != nil {
		return nil, b.broken
	}
	if b.skipping > 0 {
		b.skipping, err = b.in.skip(b.skipping)
		if err != nil {
			return nil, err
		}
	}
	if !b.declared {
		// Wait here, not in receive: it is faster with fewer functions above the system call.
		if b.in.base == b.in.end {
			err := b.in.fill(readSize)
			if err != nil && err != io.EOF { // receive handles the end of the stream
				return nil, err
			}
		}
		if err := b.receive(); err != nil {
			return nil, err
		}
	}
	if b.length > int64(b.set.maxMessage) {
		return nil, b.refuse()
	}
	msg, err = b.in.take(int(b.length))
	if err != nil {
		return nil, err
	}
	b.declared = false
	return msg, nil
}

// refuse returns the error for a message larger than the limit. With the policy Resync it first
// waits for the beginning of the message, which the error quotes.
func (b *bodyReader) refuse() error {
	in := &b.in
	if b.set.policy == Resync {
		if err := in.need(int(min(b.length, headBytes))); err != nil {
			return inside(err)
		}
	}
	err := &TooLargeError{
		Size: b.length, Declared: true, Limit: int64(b.set.maxMessage), Offset: b.start,
		Head: head(in.held(), int(min(b.length, headBytes))),
	}
	b.declared = false
	b.skipping = b.length
	return b.set.refuse(err, &b.broken)
}
