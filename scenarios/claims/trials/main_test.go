package trials

import (
	"os"
	"testing"

	"github.com/pipebench/pipebench/syspipe/proc"
)

func TestMain(m *testing.M) {
	proc.Main(Jobs(), map[string]proc.Job{
		serverWork: func(*proc.Work) error { return serveLines(true) },
		mutedWork:  func(*proc.Work) error { return serveLines(false) },
	})
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}
