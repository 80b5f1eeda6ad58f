package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of a file in pieces of 4 KiB is as many reads and writes as there are pieces, whatever
// else the machine does, and those of a child are its parent's when it was waited for.
func TestCallsAreCounted(t *testing.T) {
	if !TellsOfOthers {
		t.Skip("this system counts no calls")
	}
	input := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(input, []byte(strings.Repeat("x", 64<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	count := func(argv ...string) Counts {
		p := Command(argv[0], argv[1:]...)
		defer p.Close()
		if _, ok := p.Counts(); ok {
			t.Error("a process that was not started has counts")
		}
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		c, ok := p.Counts()
		if !ok {
			t.Skip("this kernel counts no calls")
		}
		return c
	}
	dd := func(size string) []string {
		return []string{"dd", "if=" + input, "of=/dev/null", "bs=" + size, "status=none"}
	}
	few, many := count(dd("64K")...), count(dd("4K")...)
	if many.Reads-few.Reads != 15 || many.Writes-few.Writes != 15 ||
		many.ReadBytes != few.ReadBytes {
		t.Errorf("one piece: %+v; sixteen: %+v; want 15 more reads and writes", few, many)
	}
	if again := count(dd("4K")...); again.Reads != many.Reads || again.Writes != many.Writes {
		t.Errorf("the same again: %+v, after %+v", again, many)
	}
	shell := []string{"sh", "-c", `"$@"; exit`, "sh"}
	child := count(append(shell, dd("4K")...)...)
	if child.ReadBytes < many.ReadBytes || child.Reads < many.Reads {
		t.Errorf("in a shell: %+v, without: %+v", child, many)
	}
}
