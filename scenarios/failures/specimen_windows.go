package failures

import (
	"errors"
	"fmt"
	"runtime"
)

// errStdout is the error of programs that need a non-blocking standard output, which Windows does
// not have.
var errStdout = fmt.Errorf("non-blocking standard output: %w on %s",
	errors.ErrUnsupported, runtime.GOOS)

func setStdoutNonblocking() error { return errStdout }

func writeStdout([]byte) (int, bool, error) { return 0, false, errStdout }
