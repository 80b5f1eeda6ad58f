package inspect

import (
	"os"
	"strings"
	"testing"
)

// Where /proc is not mounted every process seems to be gone.
func TestNoProcIsNoEndOfAProcess(t *testing.T) {
	old := procRoot
	t.Cleanup(func() { procRoot = old })
	for name, root := range map[string]string{"an empty folder": t.TempDir(), "nothing": t.TempDir() + "/none"} {
		procRoot = root
		_, err := Process(os.Getpid())
		if err == nil || strings.Contains(err.Error(), "has ended") || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
