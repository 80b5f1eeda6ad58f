package framers

import "io"

// A body receives messages whose length is declared before them. What is under way is kept in it, so that a read error
// loses nothing.
type body struct {
	in       inlet
	set      settings
	declared bool  // the length is known and the message is being received
	length   int64 // of that message
	start    int64 // where in the stream its frame begins
	skipping int64 // bytes of a message beyond the limit that are still to come
	broken   error // ends the stream
}

func newBody(r io.Reader, s settings) body { return body{in: newInlet(r, &s), set: s} }

// ready brings the stream to the next message: it drops what remains of one beyond the limit.
func (b *body) ready() error {
	if b.broken != nil {
		return b.broken
	}
	if b.skipping == 0 {
		return nil
	}
	left, err := b.in.skip(b.skipping)
	b.skipping = left
	return err
}

func (b *body) declare(length, start int64) { b.declared, b.length, b.start = true, length, start }

// deliver returns the message declared.
func (b *body) deliver() ([]byte, error) {
	if b.length > int64(b.set.maxMessage) {
		return nil, b.refuse()
	}
	msg, err := b.in.take(int(b.length))
	if err == nil {
		b.declared = false
	}
	return msg, err
}

// refuse returns the error for a message beyond the limit. Under Resync it waits for as much as the error is to show.
func (b *body) refuse() error {
	in := &b.in
	if b.set.policy == Resync {
		for want := min(b.length, headBytes); int64(in.end-in.base) < want; {
			if err := in.fill(0); err != nil {
				return inside(err)
			}
		}
	}
	err := &TooLargeError{
		Size: b.length, Declared: true, Limit: int64(b.set.maxMessage), Offset: b.start,
		Head: head(in.held(), int(min(b.length, headBytes))),
	}
	b.declared = false
	if b.set.policy == Resync {
		b.skipping = b.length
	} else {
		b.broken = err
	}
	return err
}
