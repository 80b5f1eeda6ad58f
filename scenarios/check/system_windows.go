package check

import (
	"errors"

	"github.com/pipebench/pipebench/syspipe/proc"
)

// separate has nothing to do: what is started has the streams that it is given, and no console of
// its own.
func separate(*proc.Process) {}

// withoutInput has no way here.
func withoutInput([]string) ([]string, error) {
	return nil, errors.New("Windows starts no process without a standard input")
}
