package syspipe_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// skipUnsupported skips the test where the system lacks what it is about. An error that says so
// without naming the system is a failure.
func skipUnsupported(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		return
	}
	if !strings.Contains(err.Error(), runtime.GOOS) {
		t.Fatalf("error %q does not name %s", err, runtime.GOOS)
	}
	t.Skip(err)
}
