package tap

import "os"

// open returns a stream that reads and writes the file as Go does. Pipes are synchronous in Go on
// Windows, and wait in the kernel anyway.
func open(f *os.File) (stream, error) { return file{f}, nil }

// pipeLike makes a pipe of a size that the system chooses. On Unix, the kind of the given file
// decides what pipeLike makes.
func pipeLike(*os.File) (w, r *os.File, err error) {
	r, w, err = os.Pipe()
	return w, r, err
}

// forwardedSignals are the signals that do not end the tap. On Windows that is the Ctrl-C of a
// console. Ctrl-C need not be forwarded, because the server has the same console and gets it, too.
// The tap only waits until the server has ended.
var forwardedSignals = []os.Signal{os.Interrupt}

// endingSignals are those of the forwardedSignals that ask a process to end.
var endingSignals = forwardedSignals

// mirrorMode does nothing, because on Windows pipes always block.
func mirrorMode(model, end *os.File) {}

// dieBySignal does nothing, because on Windows no process is ended by a signal.
func dieBySignal(int) {}
