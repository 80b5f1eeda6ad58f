package framers

import (
	"fmt"
	"io"
)

// raw puts nothing on the wire: both ends know the size.
type raw struct{ size int } // 0: not known

// Raw returns the framing that adds nothing. With a size in bytes, a message is that many bytes. With size 0 the stream
// has no messages: a Reader delivers what each read gives, which is the floor that every framing is compared with.
func Raw(size int) (Framing, error) {
	if size < 0 {
		return nil, fmt.Errorf("raw: size %d is negative", size)
	}
	return raw{size}, nil
}

func (f raw) String() string {
	if f.size == 0 {
		return "raw"
	}
	return fmt.Sprintf("raw:%d", f.size)
}

func (f raw) NewWriter(w io.Writer, opts ...Option) Writer {
	return &plainWriter{own: f, set: newSettings(opts), out: newOutlet(w)}
}

func (f raw) NewReader(r io.Reader, opts ...Option) Reader {
	s := newSettings(opts)
	return &rawReader{in: newInlet(r, &s), size: f.size, limit: s.maxMessage}
}

func (f raw) carries(msg []byte, _ *settings) error {
	if len(msg) == 0 {
		return &PayloadError{Err: ErrEmpty}
	}
	if f.size != 0 && len(msg) != f.size {
		return &PayloadError{Offset: min(len(msg), f.size), Err: ErrLength}
	}
	return nil
}

func (f raw) wireSize(size int64) (int64, bool) { return size, true }

// A plainWriter sends messages as they are.
type plainWriter struct {
	own own
	set settings
	out outlet
}

func (w *plainWriter) WriteMessage(msg []byte) error {
	if err := check(w.own, msg, &w.set); err != nil {
		return err
	}
	return w.out.send(msg)
}

type rawReader struct {
	in    inlet
	size  int
	limit int
}

func (r *rawReader) ReadMessage() ([]byte, error) {
	if r.size == 0 {
		return r.anything()
	}
	if r.size > r.limit {
		return nil, &TooLargeError{Size: int64(r.size), Declared: true, Limit: int64(r.limit), Offset: r.in.offset(r.in.base)}
	}
	if r.in.base == r.in.end {
		if err := r.in.fill(0); err != nil {
			return nil, err
		}
	}
	return r.in.take(r.size)
}

// anything delivers what has come, at most limit bytes.
func (r *rawReader) anything() ([]byte, error) {
	in := &r.in
	if in.base == in.end {
		if err := in.fill(0); err != nil {
			return nil, err
		}
	}
	return in.take(min(in.end-in.base, r.limit))
}
