package main

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What a user has to act on stays on the screen, also on a terminal that states no width.
func TestALineStaysOnATerminal(t *testing.T) {
	for _, columns := range []uint16{0, 80} {
		near, far := terminal(t)
		size := unix.Winsize{Row: 24, Col: columns}
		if err := unix.IoctlSetWinsize(int(far.Fd()), unix.TIOCSWINSZ, &size); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TERM", "xterm")
		p := (&sharedFlags{}).newProgress(far)
		p.say("python3 (process 7) speaks lsp")
		p.step("sending")
		p.stop()
		far.WriteString("END")
		drawn, buf := "", make([]byte, 4096)
		for !strings.Contains(drawn, "END") {
			n, err := near.Read(buf)
			drawn += string(buf[:n])
			if err != nil {
				t.Fatalf("%d columns: drawn is %q, %v", columns, drawn, err)
			}
		}
		if !strings.Contains(drawn, "python3 (process 7) speaks lsp\r\n") {
			t.Errorf("%d columns: drawn is %q", columns, drawn)
		}
	}
}
