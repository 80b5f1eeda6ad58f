package failures

import (
	"errors"
	"fmt"
	"runtime"
)

// errStdout says why Windows does not have the specimens that need a non-blocking standard output.
// A standard handle of Windows has no non-blocking mode that a program could inherit unknowingly.
var errStdout = fmt.Errorf("non-blocking standard output: %w on %s",
	errors.ErrUnsupported, runtime.GOOS)

func setStdoutNonblocking() error { return errStdout }

func writeStdout([]byte) (int, bool, error) { return 0, false, errStdout }
