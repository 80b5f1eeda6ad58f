//go:build !linux

package inspect_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/syspipe/inspect"
)

func TestUnsupportedNamesTheSystem(t *testing.T) {
	_, err := inspect.Process(os.Getpid())
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), runtime.GOOS) {
		t.Errorf("error %v", err)
	}
}
