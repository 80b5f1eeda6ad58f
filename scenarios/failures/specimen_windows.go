package failures

import (
	"errors"
	"fmt"
	"runtime"
)

// errStdout is why these specimens do not exist here: a standard handle has no non-blocking mode
// that a program could inherit unawares.
var errStdout = fmt.Errorf("non-blocking standard output: %w on %s",
	errors.ErrUnsupported, runtime.GOOS)

func setStdoutNonblocking() error { return errStdout }

func writeStdout([]byte) (int, bool, error) { return 0, false, errStdout }
