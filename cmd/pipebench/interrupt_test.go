package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A run is interrupted at several moments: before its first sample, after some samples, and by a
// death that lets it do nothing. No worker may be left.
func TestAnInterruptedRunLeavesNobody(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds processes in /proc")
	}
	for _, c := range []struct {
		name   string
		after  string // what the run prints before the signal is sent
		signal os.Signal
		code   int
	}{
		{"while it rehearses", "", os.Interrupt, exitInterrupted},
		{"while it samples", "1/2 ", os.Interrupt, exitInterrupted},
		{"by a kill", "1/2 ", os.Kill, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			set := interrupted(t, dir, interruption{c.after, c.signal, c.code}, nil, "run", "--framing", "raw", "--size", "256", "--pattern", "stream",
				"--placement", "free,far", "--samples", "1000000", "--duration", "1ms", "--max-time", "1h", "--out", dir)
			if len(set.Environments) != 1 || len(set.Problems) != 0 {
				t.Errorf("the file: %+v", set)
			}
		})
	}
}

// An interruption is a signal, when it is sent, and how the command then ends.
type interruption struct {
	after  string // what a line of progress holds; "" is when the file was begun
	signal os.Signal
	code   int
}

// interrupted runs the command, which keeps its results in dir, and interrupts it. It returns what
// is in the file when the command and its workers are gone.
func interrupted(t *testing.T, dir string, by interruption, env []string, args ...string) *results.Set {
	t.Helper()
	mark := commandEnv + "=" + dir // in the environment of the command and of all its workers
	cmd := command(t, mark, args...)
	cmd.Env = append(cmd.Env, env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	heard, file := bufio.NewReader(stderr), filepath.Join(dir, recordsFile)
	awaitProgress(t, heard, by.after, file)
	if err := cmd.Process.Signal(by.signal); err != nil {
		t.Fatal(err)
	}
	heard.WriteTo(&bytes.Buffer{})
	cmd.Wait() // the code is looked at
	if got := cmd.ProcessState.ExitCode(); got != by.code {
		t.Errorf("exit %d, want %d", got, by.code)
	}
	awaitNobody(t, mark)
	set, err := results.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// command is this test binary as the command.
func command(t *testing.T, mark string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), mark)
	return cmd
}

// awaitProgress waits for a line of progress that holds a text, or with none to wait for until the
// file was begun.
func awaitProgress(t *testing.T, heard *bufio.Reader, want, file string) {
	t.Helper()
	if want == "" {
		await(t, "the file was begun", func() bool {
			info, err := os.Stat(file)
			return err == nil && info.Size() > 0
		})
		return
	}
	for {
		line, err := heard.ReadString('\n')
		if err != nil {
			t.Fatalf("it ended before it said %q: %v", want, err)
		}
		if strings.Contains(line, want) {
			return
		}
	}
}

// awaitNobody waits until no process has the mark in its environment. A killed run tells its
// workers nothing; they see that it is gone, and go.
func awaitNobody(t *testing.T, mark string) {
	t.Helper()
	await(t, "all workers are gone", func() bool {
		environments, err := filepath.Glob("/proc/[0-9]*/environ")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range environments {
			if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(mark)) {
				return false
			}
		}
		return true
	})
}

// await looks again until something has come about, for a minute at most. It leaves the CPU between
// two looks to what it waits for.
func await(t *testing.T, what string, came func() bool) {
	t.Helper()
	for began := time.Now(); !came(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("it never came about that %s", what)
		}
	}
}
