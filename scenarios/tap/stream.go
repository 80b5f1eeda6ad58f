package tap

import "os"

// A stream is one end of a pipe, or whatever else a standard stream is.
type stream interface {
	// read waits until there is something. It returns io.EOF at the end.
	read(p []byte) (int, error)
	writeAll(p []byte) error
	close()
}

// A file is a stream that is read and written as Go does. Every system has these; where open makes others, it is for their speed.
type file struct{ *os.File }

func (f file) read(p []byte) (int, error) { return f.Read(p) }

func (f file) writeAll(p []byte) error {
	_, err := f.Write(p)
	return err
}

func (f file) close() { f.Close() }
