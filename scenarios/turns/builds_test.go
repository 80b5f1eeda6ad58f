package turns

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestInvocationsTakeTurns(t *testing.T) {
	self, err := Find(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		sides []string
		want  string
	}{
		{[]string{"a", "b"}, "a b a b a b "},
		{[]string{"a"}, "a a a "},
		{[]string{"rude", "a"}, "rude rude rude a a a "},
		{[]string{"a", "rude"}, "rude rude rude a a a "},
	} {
		folder := t.TempDir()
		t.Setenv(logEnv, filepath.Join(folder, "log"))
		var sides []Side
		for _, name := range tt.sides {
			sides = append(sides, Side{"self", self, filepath.Join(folder, name)})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		sets, err := Together(ctx, nil, sides...)
		cancel()
		if err != nil || len(sets) != len(sides) {
			t.Fatalf("%v: %d sets, %v", tt.sides, len(sets), err)
		}
		for i, set := range sets {
			if set == nil || len(set.Records) != 1 {
				t.Errorf("%v: side %d left %+v", tt.sides, i, set)
			}
		}
		got, err := os.ReadFile(filepath.Join(folder, "log"))
		if err != nil || string(got) != tt.want {
			t.Errorf("%v: rounds %q, %v; want %q", tt.sides, got, err, tt.want)
		}
	}
}

// One that fails ends those that wait for their turn.
func TestOneThatFailsEndsTheOthers(t *testing.T) {
	self, err := Find(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Setenv(logEnv, filepath.Join(folder, "log"))
	taken := filepath.Join(folder, "taken")
	if err := os.WriteFile(taken, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var failed *FailedError
	first := Side{"self", self, filepath.Join(folder, "a")}
	_, err = Together(t.Context(), nil, first, Side{"self", self, taken})
	if !errors.As(err, &failed) || failed.Code != 1 {
		t.Errorf("got %v, want that the second failed", err)
	}
}

func TestFind(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	name := "old-build" + filepath.Ext(self)
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for _, asked := range []string{self, name, "." + string(filepath.Separator) + name} {
		path, err := Find(asked)
		if err != nil || !filepath.IsAbs(path) {
			t.Errorf("%s: got %s, %v", asked, path, err)
		}
	}
	_, err = Find("no-such-build")
	if !errors.Is(err, exec.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a binary that is not there: %v", err)
	}
}

// A test binary of this module, or any other program, is compared by what it does.
func TestOtherProgramsAreNoBuilds(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{own, "go", "no-such-command"} {
		if IsBuild(word) {
			t.Errorf("%s is taken for a build of pipebench", word)
		}
	}
}
