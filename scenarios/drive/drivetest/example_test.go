package drivetest_test

import (
	"os/exec"
	"testing"

	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/drive/drivetest"
)

var t *testing.T

// A test of the server's author fails if a request of up to 16 MiB does not work, or if the time of
// a message grows faster than its size.
func ExampleCheck() {
	// in func TestServer(t *testing.T):
	drivetest.Check(t, exec.Command("./my-server"),
		drivetest.Limit(16<<20), drivetest.Slope(1.5))
}

// Any condition of drive --assert may stand beside these.
func ExampleAssert() {
	drivetest.Check(t, exec.Command("./my-server"), drivetest.Assert("p99<50ms@64KiB"))
}

// Without conditions the server has to work at every size from 1 KiB to 1 MiB.
func ExampleCheck_alone() {
	drivetest.Check(t, exec.Command("./my-server"))
}

// A tool of another name than "echo" is called only if the options name it.
func ExampleCheckWith() {
	o := drive.Options{Command: []string{"./my-server"}, Tool: "summarise"}
	drivetest.CheckWith(t, o, drivetest.Limit(200_000))
}
