package main

import (
	"context"
	"errors"
	"testing"
)

func TestRunsOfOneSecondHaveFoldersOfTheirOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	seen := map[string]bool{}
	for range 20 { // of which two begin in the same second, at least
		dir, err := new(sharedFlags).makeFolder()
		if err != nil {
			t.Fatal(err)
		}
		if seen[dir] {
			t.Errorf("%s is another run's", dir)
		}
		seen[dir] = true
	}
}

func TestAFolderThatIsNamedIsGoneOnIn(t *testing.T) {
	t.Chdir(t.TempDir())
	f := &sharedFlags{out: "a/b"}
	for range 2 {
		if dir, err := f.makeFolder(); dir != "a/b" || err != nil {
			t.Errorf("%s, %v", dir, err)
		}
	}
}

// A file that never ends, or that nobody writes, does not keep a command from ending.
func TestReadingEndsWithTheCommand(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never := make(chan struct{})
	defer close(never)
	_, err := interruptibly(ctx, "a FIFO", func(string) (int, error) {
		cancel()
		<-never
		return 1, nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n, err := interruptibly(t.Context(), "a file", func(path string) (int, error) { return len(path), nil }); n != 6 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}
