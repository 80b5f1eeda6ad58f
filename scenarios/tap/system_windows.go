package tap

import "os"

// open returns a stream of Go's own reads and writes, which wait in the kernel on Windows.
func open(f *os.File) (stream, error) { return file{f}, nil }

// pipeLike makes a pipe of a size that the system chooses.
func pipeLike(*os.File) (w, r *os.File, err error) {
	r, w, err = os.Pipe()
	return w, r, err
}

// forwardedSignals are signals that do not end this process. Windows itself sends Ctrl-C to the
// server, too.
var forwardedSignals = []os.Signal{os.Interrupt}

// endingSignals are the forwardedSignals that ask a process to end.
var endingSignals = forwardedSignals

// mirrorMode does nothing, because on Windows pipes always block.
func mirrorMode(model, end *os.File) {}

// dieBySignal does nothing, because on Windows no process is ended by a signal.
func dieBySignal(int) {}
