package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe/inspect"
)

// stuck starts a child that fills its standard output, which nobody reads, and waits until it hangs
// in that.
func stuck(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat", "/dev/zero")
	unread, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); unread.Close(); cmd.Wait() })
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		report, err := inspect.Process(cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		full := func(d inspect.Diagnosis) bool { return d.Kind == inspect.Undrained }
		if slices.ContainsFunc(report.Diagnoses, full) { // a descriptor that was inherited has its own
			return cmd
		}
		if time.Now().After(end) {
			t.Fatalf("standard output did not fill: %+v", report)
		}
	}
}

func TestInspectNamesAFullPipe(t *testing.T) {
	pid := strconv.Itoa(stuck(t).Process.Pid)
	for format, want := range map[string]string{
		"table":    "stdout is full and nobody drains it",
		"markdown": "- stdout is full and nobody drains it",
		"csv":      ",FULL",
		"json":     `"kind": "undrained"`,
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"inspect", "--format", format, pid}, nil, &stdout, &stderr); code != exitDone {
			t.Errorf("%s: exit %d: %s", format, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: no %q in\n%s", format, want, stdout.String())
		}
	}
}

// A child that comes, goes, and one that stays behind are told as they do.
func TestInspectFollowsATree(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read a; sleep 100 & read b; kill $!; wait; read c; sleep 101 0<&- & read d")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	go cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	r, w := io.Pipe()
	go func() {
		run(ctx, []string{"inspect", "--watch", "--look", "10ms", strconv.Itoa(cmd.Process.Pid)}, nil, w, w)
		w.Close()
	}()
	// A child is a copy of the shell until it runs its program.
	lines, want := bufio.NewScanner(r), []string{`Its channels`, ` \+ `, ` - `, ` \+ \d+ sleep$`, `^left behind: \d+ sleep$`}
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if len(want) == 0 || !regexp.MustCompile(want[0]).MatchString(lines.Text()) {
			continue
		}
		if want = want[1:]; len(want) == 1 {
			stdin.Close()
		} else {
			io.WriteString(stdin, "\n")
		}
	}
	if len(want) > 0 || !strings.HasSuffix(said[len(said)-1], " sleep") {
		t.Errorf("missing %q in\n%s", want, strings.Join(said, "\n"))
	}
}

func TestInspectWritesTheReportAsJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	pid := os.Getpid()
	if code := run(t.Context(), []string{"inspect", "--format", "json", strconv.Itoa(pid)}, nil, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var report inspect.Report
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil || report.PID != pid {
		t.Errorf("report of %d: %v", report.PID, err)
	}
}

// A process of another user is an error that says what to do.
func TestInspectRefusedByAnotherUsersProcess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become somebody else")
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	dir, err := os.MkdirTemp("", "pipebench-inspect-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "pipebench")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(file, self); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "inspect", "1")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), commandEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	said, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("another user cannot reach the folder for temporary files")
	}
	if cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(string(said), "belongs to another user") {
		t.Errorf("%v: %s", err, said)
	}
}
