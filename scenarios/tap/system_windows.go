package tap

import "os"

// open leaves a file as it is: Go's pipes are synchronous here, and wait in the kernel anyway.
func open(f *os.File) (stream, error) { return file{f}, nil }

// pipeLike makes a pipe, of a size that the system chooses. On Unix the file decides what it makes.
func pipeLike(*os.File) (w, r *os.File, err error) {
	r, w, err = os.Pipe()
	return w, r, err
}

// forwardedSignals are those that do not end the tap: here a console's Ctrl-C. It need not be
// forwarded, because the server has the same console and gets it, too. The tap only waits until the
// server has ended.
var forwardedSignals = []os.Signal{os.Interrupt}

// endingSignals are the forwardedSignals that ask a process to end.
var endingSignals = forwardedSignals

// mirrorMode does nothing: pipes always block here.
func mirrorMode(model, end *os.File) {}

// dieBySignal does nothing: here no process is ended by a signal.
func dieBySignal(int) {}
