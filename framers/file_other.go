//go:build !linux && !darwin && !freebsd

package framers

// gathers says whether Writev is one system call here. Windows has a gather write for unbuffered
// files only.
const gathers = false

// A vector is where gather lists are composed.
type vector struct{ buf []byte }

// Writev writes bufs in order. It returns the bytes written, and an error if those are not all.
func (f *File) Writev(bufs [][]byte) (int64, error) {
	f.buf = f.buf[:0]
	for _, b := range bufs {
		f.buf = append(f.buf, b...)
	}
	n, err := f.Write(f.buf)
	if cap(f.buf) > keepCompose {
		f.buf = nil
	}
	return int64(n), err
}
