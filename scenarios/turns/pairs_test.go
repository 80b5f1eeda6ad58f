package turns

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// fake is a contest of this test binary against itself, and its folder.
func fake(t *testing.T, how string) (*Builds, string) {
	t.Helper()
	t.Setenv(fakeEnv, how)
	self, err := Find(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b, err := OpenBuilds(self, self, dir)
	if err != nil {
		t.Fatal(err)
	}
	return b, dir
}

func TestPairsAreKept(t *testing.T) {
	b, dir := fake(t, "")
	c, err := Run(deadline(t), b, Plan{Pairs: 3, MaxTime: time.Hour})
	err = errors.Join(err, b.Close())
	if err != nil || c.Pairs != 3 || len(b.Before) != 3 || len(b.After) != 3 {
		t.Fatalf("%+v of %d and %d runs: %v", c, len(b.Before), len(b.After), err)
	}
	for _, name := range []string{OldFile, NewFile} {
		kept, err := results.Read(filepath.Join(dir, name))
		if err != nil || len(kept.Environments) != 3 || len(kept.Records) != 3 {
			t.Errorf("%s: %+v, %v", name, kept, err)
		}
	}
}

func TestWhatEndsAPairOfBuilds(t *testing.T) {
	for _, c := range []struct {
		name, how, said string
		code            int
	}{
		{"flags that run does not take", "usage", "unknown flag: --zork", 2},
		{"a binary that leaves nothing", "nothing", "is it a pipebench?", 0},
		{"a binary that dies between two turns", "die", "exited 7: panic: the build is broken", 7},
		{"a binary that hangs", "hang", "still ran when", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := fake(t, c.how)
			p := Plan{Pairs: 3, MaxTime: time.Hour}
			if c.how == "hang" {
				p.MaxTime = time.Second
			}
			_, err := Run(deadline(t), b, p)
			if err == nil || !strings.Contains(err.Error(), c.said) ||
				!strings.Contains(err.Error(), "pair 1") {
				t.Errorf("got %v, want %q", err, c.said)
			}
			if len(b.Before)+len(b.After) != 0 {
				t.Errorf("%d and %d runs came of it", len(b.Before), len(b.After))
			}
			var failed *FailedError
			if is := errors.As(err, &failed); is != (c.code != 0) || is && failed.Code != c.code {
				t.Errorf("exit code: %v", err)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPairsBeforeAnInterruptionAreWhole(t *testing.T) {
	scratch := t.TempDir()
	t.Setenv("TMPDIR", scratch)
	t.Setenv("TMP", scratch) // Windows
	b, _ := fake(t, "")
	ctx, cancel := context.WithCancel(deadline(t))
	p := Plan{MaxTime: time.Hour}
	p.Observe = func(pair int, _ time.Duration) {
		if pair == 2 {
			cancel()
		}
	}
	c, err := Run(ctx, b, p)
	if !errors.Is(err, context.Canceled) || c.Pairs != 2 || len(b.Before) != 2 {
		t.Errorf("%+v of %d runs: %v", c, len(b.Before), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(scratch)
	if err != nil || len(left) != 0 {
		t.Errorf("folders of single runs are left: %v, %v", left, err)
	}
}

func TestRecordsOfAnotherTimeAreLeftAlone(t *testing.T) {
	b, dir := fake(t, "")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := OpenBuilds(b.old.Name, b.new.Name, dir)
	if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("into the same folder: %v", err)
	}
	old := filepath.Join(dir, OldFile)
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	_, err = OpenBuilds(b.old.Name, b.new.Name, dir)
	if _, left := os.Stat(old); !errors.Is(err, fs.ErrExist) || left == nil {
		t.Errorf("an empty file is left behind: %v, %v", err, left)
	}
}
