package failures

import (
	"errors"
	"fmt"
	"runtime"
)

// errStdout says why the specimens that need a non-blocking standard output do not exist on
// Windows. There, a standard handle has no non-blocking mode that a program could inherit without
// knowing it.
var errStdout = fmt.Errorf("non-blocking standard output: %w on %s",
	errors.ErrUnsupported, runtime.GOOS)

func setStdoutNonblocking() error { return errStdout }

func writeStdout([]byte) (int, bool, error) { return 0, false, errStdout }
