package drive

import (
	"os/exec"
	"testing"
	"time"
)

func TestAProcessThatWorksIsRunnableAndOneThatSleepsIsNot(t *testing.T) {
	for script, want := range map[string]bool{"while :; do :; done": true, "exec sleep 1000": false} {
		cmd := exec.Command("sh", "-c", script)
		if err := cmd.Start(); err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		for deadline := time.Now().Add(20 * time.Second); runnable(cmd.Process.Pid) != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Errorf("%s: runnable %v", script, !want)
				break
			}
		}
	}
}
