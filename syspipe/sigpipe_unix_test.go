//go:build linux || darwin || freebsd

package syspipe_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/pipebench/pipebench/syspipe"
)

// TestAResizedTerminalIsNoSIGPIPE counts after SIGWINCHs that somebody else sent.
func TestAResizedTerminalIsNoSIGPIPE(t *testing.T) {
	count := syspipe.CountSIGPIPE()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	w, r := open(t, syspipe.Anonymous, 0, syspipe.Poll)
	r.Close()
	for i := range 500 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		<-resized
		w.Write([]byte{1})
		n := count()
		if *n != 1 {
			t.Fatalf("%d signals were counted for broken write %d, want 1", *n, i)
		}
	}
}
