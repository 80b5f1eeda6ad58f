package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/framers"
)

// terminal opens a pseudo-terminal: what is written to far is read from near.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { near.Close() })
	raw, err := near.SyscallConn() // Fd would take its deadlines away
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	raw.Control(func(fd uintptr) {
		unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
		n, err = unix.IoctlGetUint32(int(fd), unix.TIOCGPTN)
	})
	if err == nil {
		far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { far.Close() })
	near.SetReadDeadline(time.Now().Add(time.Minute))
	return near, far
}

func TestALargeAnswerHasABarOnATerminal(t *testing.T) {
	near, far := terminal(t)
	b := answerBar{stderr: far}
	b.chunk(framers.Chunk{ID: []byte("small"), Total: 2, Received: 1})
	b.chunk(framers.Chunk{ID: []byte("a"), Total: 40, Received: 1})
	b.chunk(framers.Chunk{ID: []byte("b"), Total: 50, Received: 1}) // meanwhile
	b.chunk(framers.Chunk{ID: []byte("a"), Total: 40, Received: 3})
	drawn, buf := "", make([]byte, 4096)
	for !strings.Contains(drawn, "3 of 40") {
		n, err := near.Read(buf)
		if drawn += string(buf[:n]); err != nil {
			t.Fatalf("drawn is %q, %v", drawn, err)
		}
	}
	if !strings.Contains(drawn, "frames of an answer") || strings.Contains(drawn, "of 50") {
		t.Errorf("drawn is %q", drawn)
	}
	b.chunk(framers.Chunk{ID: []byte("a"), Total: 40, Received: 40})
	if b.shown != nil {
		t.Error("the bar is still there")
	}
	b.chunk(framers.Chunk{ID: []byte("c"), Total: 40, Received: 1}) // which never becomes whole
	b.stop()
	b.stop()
}
