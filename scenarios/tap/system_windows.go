package tap

import "os"

// open leaves a file as it is: Go's pipes are synchronous here, and wait in the kernel anyway.
func open(f *os.File) (stream, error) { return file{f}, nil }

// pipeLike makes a pipe. Its size is left to the system.
func pipeLike(*os.File) (w, r *os.File, err error) {
	r, w, err = os.Pipe()
	return w, r, err
}

// forwardedSignals holds a console's Ctrl-C. The server has the same console and gets it, too; the
// tap only has to wait until the server has ended.
var forwardedSignals = []os.Signal{os.Interrupt}

var endingSignals = forwardedSignals

// mirrorMode does nothing: pipes always block here.
func mirrorMode(model, end *os.File) {}

func dieBySignal(int) {}
