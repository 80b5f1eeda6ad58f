package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/results"
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

// A busy machine is told of before anything is measured, unless nothing but results is to be printed.
func TestABusyMachineIsToldOf(t *testing.T) {
	load := 5.4
	busy := results.Environment{CPUs: 2, Load1: &load}
	for _, row := range []struct {
		f     sharedFlags
		env   results.Environment
		wants string
	}{
		{sharedFlags{}, busy, "load 5.4 on 2 CPUs: expect wide intervals\n"},
		{sharedFlags{}, results.Environment{CPUs: 16, Load1: &load}, ""},
		{sharedFlags{}, results.Environment{CPUs: 2}, ""},
		{sharedFlags{quiet: true}, busy, ""},
	} {
		var stderr bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(&stderr)
		s := &session{cmd: cmd, flags: &row.f, env: row.env}
		s.warnOfLoad()
		if stderr.String() != row.wants {
			t.Errorf("%+v, %v: said %q", row.f, row.env, stderr.String())
		}
	}
}

// Who starts a server or client by hand is told what it waits for.
func TestAPersonIsToldWhatACommandWaitsFor(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !term.IsTerminal(int(terminal.Fd())) {
		t.Skipf("no terminal to be had: %v", err)
	}
	defer terminal.Close()
	for _, in := range []io.Reader{terminal, strings.NewReader("")} {
		var stderr bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetIn(in)
		cmd.SetErr(&stderr)
		if atTerminal(cmd, "waiting"); (stderr.String() == "waiting\n") != (in == terminal) {
			t.Errorf("at %T: said %q", in, stderr.String())
		}
	}
}

// Names and words of other programs are shown with their control characters spelt out.
func TestForeignTextIsEscaped(t *testing.T) {
	const hostile = "a\x1b]0;owned\x07server"
	var stderr bytes.Buffer
	p := (&sharedFlags{}).newProgress(&stderr)
	p.note(hostile)
	p.finish(1, hostile)
	exitCode(t.Context(), errors.New("its last words: "+hostile), &stderr)
	if said := stderr.String(); strings.ContainsAny(said, "\x1b\x07") || strings.Count(said, `a\x1b]0;owned\x07server`) != 3 {
		t.Errorf("printed %q", said)
	}
}

// When the time is over, only what says so is no error.
func TestTheEndOfTheTimeHidesNoOtherError(t *testing.T) {
	full := errors.New("disk full")
	for _, row := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errMaxTime, ""},
		{fmt.Errorf("cell: %w", context.DeadlineExceeded), ""},
		{errors.Join(context.DeadlineExceeded, full), "disk full"},
		{fmt.Errorf("write: %w", full), "write: disk full"},
	} {
		got := ""
		if err := withoutTimeUp(row.err); err != nil {
			got = err.Error()
		}
		if got != row.want {
			t.Errorf("%v: got %q, want %q", row.err, got, row.want)
		}
	}
}

// Cells that this machine lacks leave no benchmark text, and that is no failure.
func TestARunWithoutSamplesLeavesNoBenchmarkText(t *testing.T) {
	s := &session{dir: t.TempDir(), flags: &sharedFlags{quiet: true}, cmd: &cobra.Command{}}
	all := &results.Set{Records: []results.Record{{
		Kind: results.KindMeasurement, Run: "r", Unsupported: "no such pipe here",
		Cell: results.UsualCell("ndjson", "stream", "same", 256),
	}}}
	if err := s.writeFiles(all); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, benchFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", benchFile, err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, reportFile)); err != nil {
		t.Error(err)
	}
}
