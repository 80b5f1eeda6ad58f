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
