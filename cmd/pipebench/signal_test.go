//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// hearHangUps has children get SIGHUP, though whoever started the tests had it ignored, as nohup does.
func hearHangUps(t *testing.T) {
	t.Helper()
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
}

// A closed terminal, or Ctrl-C pressed twice, ends each command as one Ctrl-C does: no process and
// no folder is left, and what was finished is in the file.
func TestSignalsLeaveNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("finds processes in /proc")
	}
	hearHangUps(t)
	stubborn := []string{"--", "sh", "-c", `trap "" TERM HUP; while read -r l; do echo "$l"; done; sleep 3600`}
	raw := []string{"--framing", "raw", "--size", "256", "--pattern", "stream", "--placement", "free", "--samples", "1", "--duration", "1ms"}
	for _, c := range []struct {
		name, after string
		args        []string
	}{
		{"run", "1/2 ", append([]string{"run", "--repeat", "2", "--over", "10h"}, raw...)},
		{"compare", "pair 1/", append([]string{"compare", os.Args[0], os.Args[0], "--pairs", "1000", "--max-time", "10h", "--"}, raw...)},
		{"drive", "1 KiB: ", append([]string{"drive", "--protocol", "lines", "--size", "1KiB,2KiB,64MiB", "--small-pipe", "none"}, stubborn...)},
	} {
		for _, signals := range [][]os.Signal{{syscall.SIGHUP}, {os.Interrupt, os.Interrupt}} {
			t.Run(c.name+" "+signals[0].String(), func(t *testing.T) {
				t.Parallel()
				dir, temporary := t.TempDir(), t.TempDir()
				mark := commandEnv + "=" + dir
				at := len(c.args)
				for i, a := range c.args {
					if a == "--" {
						at = i
						break
					}
				}
				args := append(append(append([]string{}, c.args[:at]...), "--out", filepath.Join(dir, "out")), c.args[at:]...)
				cmd := command(t, mark, args...)
				cmd.Env = append(cmd.Env, "TMPDIR="+temporary, "XDG_CACHE_HOME="+temporary+"/cache")
				stderr, err := cmd.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				heard := bufio.NewReader(stderr)
				awaitProgress(t, heard, c.after, "")
				for _, s := range signals {
					if err := cmd.Process.Signal(s); err != nil {
						t.Fatal(err)
					}
				}
				heard.WriteTo(&bytes.Buffer{})
				cmd.Wait() // the code is looked at
				if got := cmd.ProcessState.ExitCode(); got != exitInterrupted {
					t.Errorf("exit %d, want %d", got, exitInterrupted)
				}
				awaitNobody(t, mark)
				left, err := os.ReadDir(temporary)
				if err != nil || len(left) > 1 || len(left) == 1 && left[0].Name() != "cache" {
					t.Errorf("left behind: %v, %v", left, err)
				}
			})
		}
	}
}

func TestCallEndsItsServerWithTheTerminal(t *testing.T) {
	hearHangUps(t)
	cmd, in, _ := caller(t)
	in.Write([]byte("sleep {\"seconds\":3600}\n"))
	cmd.Process.Signal(syscall.SIGHUP)
	if code := exitOf(cmd); code != exitInterrupted {
		t.Errorf("exit %d, want %d", code, exitInterrupted)
	}
}

// Under nohup a closed terminal is nothing to a command.
func TestNohupKeepsACommandAlive(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0" serve`, os.Args[0])
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.WaitDelay = time.Minute
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip("needs sh")
	}
	out := bufio.NewReader(stdout)
	for id := range 2 {
		in.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
		if line, err := out.ReadString('\n'); !strings.Contains(line, "result") {
			t.Fatalf("answer %d: %q, %v", id, line, err)
		}
		cmd.Process.Signal(syscall.SIGHUP)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want exit 0", err)
	}
}

// Ctrl-C in a run keeps the samples that were taken, and shows them. How soon there are some is up
// to the machine: the signal comes later until it finds them.
func TestAnInterruptedRunKeepsItsSamples(t *testing.T) {
	t.Parallel()
	for wait := 250 * time.Millisecond; wait < time.Minute; wait *= 2 {
		dir := t.TempDir()
		cmd := command(t, commandEnv+"=1", "run", "--framing", "raw", "--size", "256", "--pattern", "stream", "--placement", "free",
			"--samples", "1000000", "--duration", "1ms", "--max-time", "1h", "--out", dir)
		var stdout bytes.Buffer
		cmd.Stdout = &stdout
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the file was begun", func() bool {
			info, err := os.Stat(filepath.Join(dir, recordsFile))
			return err == nil && info.Size() > 0
		})
		time.Sleep(wait)
		cmd.Process.Signal(os.Interrupt)
		if code := exitOf(cmd); code != exitInterrupted {
			t.Fatalf("exit %d, want %d", code, exitInterrupted)
		}
		set, err := results.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Records) == 1 && len(set.Records[0].Samples) > 0 {
			said := stdout.String()
			if !strings.Contains(said, "raw") ||
				!strings.Contains(said, "\nInterrupted: 1 cell measured") {
				t.Errorf("shown:\n%s", said)
			}
			return
		}
	}
	t.Error("no sample was kept")
}
