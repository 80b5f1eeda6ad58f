package inspect

import (
	"os"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Where /proc is not mounted every process seems to be gone.
func TestNoProcIsNoEndOfAProcess(t *testing.T) {
	old := procfs.Root
	t.Cleanup(func() { procfs.Root = old })
	for name, root := range map[string]string{"an empty folder": t.TempDir(), "nothing": t.TempDir() + "/none"} {
		procfs.Root = root
		_, err := Process(os.Getpid())
		if err == nil || strings.Contains(err.Error(), "has ended") || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Other versions of the kernel give these names to the functions in which threads sleep.
func TestKernelFunctionsBelongToCalls(t *testing.T) {
	for function, want := range map[string]string{
		"pipe_read":                "read",
		"anon_pipe_write":          "write",
		"unix_stream_read_generic": "read",
		"ep_poll":                  "poll",
		"do_select":                "poll",
		"do_wait":                  "wait",
		"futex_wait_queue":         "futex",
		"futex_do_wait":            "futex",
		"msleep":                   "",
	} {
		if got := callOf(function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}
