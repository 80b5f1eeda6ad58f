//go:build unix

package drive

import (
	"os"
	"os/exec"

	"github.com/pipebench/pipebench/syspipe"
)

// lend makes a file of the end for exec.Cmd's standard streams, which take nothing else. It belongs to the end, and is closed with it.
func lend(e *syspipe.End) (*os.File, error) {
	var carrier exec.Cmd
	if _, err := e.Pass(&carrier); err != nil {
		return nil, err
	}
	return carrier.ExtraFiles[0], nil
}
