package framers

import (
	"io"
	"os"
)

// A File is an *os.File that is a [Vectored]: on Linux, macOS and FreeBSD one writev(2) through SyscallConn, which
// net.Buffers does not do for files. A file that Go polls stays polled, with its deadlines. Elsewhere Writev copies the
// pieces together and calls Write once.
//
// A Writer over a plain *os.File makes one for itself; a File is for other uses of Writev. It belongs to one goroutine.
type File struct {
	*os.File
	vector
}

// NewFile returns f as a Vectored.
func NewFile(f *os.File) (*File, error) {
	file := &File{File: f}
	if err := file.open(f); err != nil {
		return nil, err
	}
	return file, nil
}

// Writev writes bufs in order. It returns the bytes written, and an error if those are not all.
func (f *File) Writev(bufs [][]byte) (int64, error) { return f.writev(bufs) }

// vectoredFile returns w as a Vectored if it is a file that can be one, or nil.
func vectoredFile(w io.Writer) Vectored {
	f, ok := w.(*os.File)
	if !ok || !gathers {
		return nil
	}
	file, err := NewFile(f)
	if err != nil {
		return nil
	}
	return file
}
