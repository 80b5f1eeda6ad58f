//go:build unix

package check_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// What each program is wrong in is found in the situation that is about it.
func TestWhatIsWrongIsNamed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sizes of pipes and what is told of processes are those of Linux")
	}
	t.Parallel()
	for name, s := range specimens {
		if s.situation == "" {
			continue // another test is about it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := check.Options{
				Command: []string{self(t)}, Only: []string{s.situation}, Timeout: s.timeout,
				Deterministic: name == "throws dice",
			}
			mark := fmt.Sprintf("CHECK_TEST_OF=%d %s", os.Getpid(), name)
			o.Env = append(
				os.Environ(),
				specimenEnv+"="+name,
				mark,
				specimenFile+"="+filepath.Join(t.TempDir(), "starts"),
			)
			if s.stdin != "" {
				o.Stdin = []byte(s.stdin)
			}
			want := s.verdict
			if want == "" {
				want = results.Fails
			}
			c := program(t, o)[s.situation]
			if c.Verdict != want || !strings.Contains(c.Found, s.found) ||
				(c.Advice == "") != (want == results.OK || want == results.CannotTell) {
				t.Errorf("%+v, want %s: %s", c, want, s.found)
			}
			if left, _ := proc.EndMarked(mark, 0); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// Scripts fail in ways of their runtimes, and get the advice for them.
func TestScriptsGetTheAdviceOfTheirRuntime(t *testing.T) {
	t.Parallel()
	for _, s := range []struct{ name, text, situation, verdict, found, advice string }{
		{"node", `process.stdout.write("x".repeat(1 << 20)); process.exit(0)`, "late-reader", "fails", "cut at 65,536 B: what one pipe holds", "process.exitCode"},
		{"node", `console.log("x")`, "full-device", "fails", "exit 0, though", "process.stdout"},
		{"node", `process.stdout.write("x"); process.exit(0)`, "full-device", "fails",
			"exit 0, though", "process.exit"},
		{"python3", "import time\nfor i in range(10): print(i); time.sleep(.2)", "block-buffer",
			"slow", "it gathers them in a buffer", "flush=True"},
		{"python3", "import os\nos.write(1, b'x' * 100_000)", "nonblocking-pipe", "fails", "cut at 65,536 B", "os.write"},
		{"python3", "import os, sys\nos.execv(sys.executable, " +
			"[sys.executable, '-u', '-c', 'print(100_000 * chr(120))'])",
			"nonblocking-pipe", "fails", "cut at 65,536 B", "os.set_blocking(1, True)"},
		{"sh", "[ -e /dev/fd/0 ] || kill -ABRT $$", "stdin-closed", "fails", "killed by SIGABRT", "cannot be read"},
	} {
		t.Run(s.name+" "+s.situation, func(t *testing.T) {
			t.Parallel()
			command, err := exec.LookPath(s.name)
			if err != nil {
				t.Skip(err)
			}
			if s.name == "python3" { // what is called so may be a script that looks for it
				path, err := exec.Command("python3", "-c",
					"import sys; print(sys.executable, end='')").
					Output()
				if command = string(path); err != nil {
					t.Skip(err)
				}
			}
			flag := map[string]string{"node": "-e", "python3": "-c", "sh": "-c"}[s.name]
			c := program(t, check.Options{Command: []string{command, flag, s.text}, Env: append(os.Environ(), "PYTHONUNBUFFERED="), Only: []string{s.situation}})[s.situation]
			if c.Verdict != results.Verdict(s.verdict) || !strings.Contains(c.Found, s.found) ||
				!strings.Contains(c.Advice, s.advice) {
				t.Errorf("%+v", c)
			}
		})
	}
}

// An unbuffered script that prints has nothing to flush, and no counts to look at.
func TestAnUnbufferedScriptIsToldToBlock(t *testing.T) {
	t.Parallel()
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable, end='')").Output()
	if err != nil {
		t.Skip(err)
	}
	script := []string{"-c", "print(100_000 * 'x')"}
	for _, o := range []check.Options{
		{Command: append([]string{string(path), "-u"}, script...)},
		{Command: append([]string{string(path)}, script...),
			Env: append(os.Environ(), "PYTHONUNBUFFERED=1")},
	} {
		o.Only = []string{"nonblocking-pipe"}
		c := program(t, o)["nonblocking-pipe"]
		const want = "call os.set_blocking(1, True): "
		if c.Verdict != results.Fails || !strings.HasPrefix(c.Advice, want) {
			t.Errorf("%v: %+v", o.Command, c)
		}
		isNamed := c.About[0] == "PYTHONUNBUFFERED=1" // as in a line for a shell
		if isNamed != (o.Env != nil) {
			t.Errorf("%v: about %q", o.Command, c.About)
		}
	}
}

// PYTHONUNBUFFERED in the environment hides that a program does not flush; an option -u does not,
// since clients start the program so, too.
func TestWhatHidesAMissingFlush(t *testing.T) {
	for _, row := range []struct {
		variable string
		command  []string
		want     bool
	}{
		{"PYTHONUNBUFFERED=1", []string{"python3", "server.py"}, true},
		{"PYTHONUNBUFFERED=", []string{"python3", "server.py"}, false},
		{"PYTHONUNBUFFERED=1", []string{"python3", "-u", "server.py"}, false},
		{"PYTHONUNBUFFERED=1", []string{"echo", "1"}, false},
	} {
		o := check.Options{Command: row.command, Env: append(os.Environ(), row.variable)}
		if (o.FlushWarning() != "") != row.want {
			t.Errorf("%s %s: %t", row.variable, row.command, !row.want)
		}
	}
}

// Programs that are right fail nowhere, and what they do is told.
func TestRightProgramsPass(t *testing.T) {
	t.Parallel()
	input := []byte(strings.Repeat("some words, and more of them, in a line\n", 5000) + "last\n")
	commands := []string{
		"cat", "sort -r", "grep -n words", "sed s/words/others/", "tee", "head -n 100", "wc", "tr a-z A-Z", "od", "base64", "awk {print$2}",
		"seq 100000", "true", "yes", "sh -c cat|cat",
	}
	if testing.Short() {
		commands = commands[:4]
	}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			argv := strings.SplitN(command, " ", 3)
			if _, err := exec.LookPath(argv[0]); err != nil {
				t.Skip(err)
			}
			found := program(t, check.Options{Command: argv, Stdin: input})
			for _, m := range catalogue.For(catalogue.Program) {
				c, ok := found[m.Name]
				if !ok || c.Verdict == results.Fails || c.Verdict == results.Slow ||
					runtime.GOOS == "linux" && c.Verdict != results.OK && command != "yes" {
					t.Errorf("%s: %s: %s", m.Name, c.Verdict, c.Found)
				}
			}
		})
	}
}

// A command that is wrong itself is not judged.
func TestACommandThatOnlyFailsIsAnError(t *testing.T) {
	t.Parallel()
	command := []string{"sh", "-c", "echo this cannot work >&2; exit 3"}
	err := check.Program(t.Context(), check.Options{Command: command}, func(l results.Line) error {
		t.Errorf("kept %+v", l)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "exit 3") ||
		!strings.Contains(err.Error(), "this cannot work") ||
		!strings.Contains(err.Error(), "--expect-exit 3") {
		t.Errorf("err = %v", err)
	}
	for status, verdict := range map[int]results.Verdict{3: results.OK, 4: results.Fails} {
		found := program(t, check.Options{Command: command, ExpectExit: &status})
		if c := found["reference"]; c.Verdict != verdict {
			t.Errorf("exit %d expected: %s: %s", status, c.Verdict, c.Found)
		}
	}
}

// What had not ended when its time was up, and was at work, may end or not.
func TestAProgramThatIsStillAtWorkIsNotJudged(t *testing.T) {
	t.Parallel()
	o := check.Options{
		Command: []string{self(t)},
		Env:     append(os.Environ(), specimenEnv+"=computes"),
		Timeout: time.Second,
	}
	found := program(t, o)
	c := found["reference"]
	if len(found) != 1 || c.Verdict != results.CannotTell ||
		!strings.Contains(c.Found, "--timeout 6s") {
		t.Errorf("found %+v", found)
	}
}

// An output that varies may be shorter because there is less to say.
func TestALittleLessOfWhatVariesIsNoFailure(t *testing.T) {
	found := program(t, check.Options{
		Command: []string{
			self(t),
		}, Only: []string{"fast-reader", "late-reader", "small-pipe", "socketpair"},
		Env: append(os.Environ(), specimenEnv+"=lists what is there",
			specimenFile+"="+filepath.Join(t.TempDir(), "starts")),
	})
	for _, c := range found {
		if c.Verdict == results.Fails {
			t.Errorf("%s: %s: %s", c.ID, c.Verdict, c.Found)
		}
	}
}

// What no two runs have in common is not judged, and the rest is.
func TestProgramsThatVaryAreJudgedByTheRest(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]results.Verdict{
		"begins alike by chance": results.OK,
		"tells the time":         results.OK,
		"prints its environment": results.OK,
		"shuffles":               results.OK,
		"takes so long":          results.OK,
		"babbles":                results.CannotTell,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := program(t, check.Options{
				Command: []string{
					self(t),
				}, Only: []string{"fast-reader", "late-reader", "small-pipe", "socketpair"},
				Env: append(
					os.Environ(),
					specimenEnv+"="+name,
					specimenFile+"="+filepath.Join(t.TempDir(), "starts"),
				),
			})
			for _, c := range found {
				if c.Verdict != verdict {
					t.Errorf("%s: %s: %s", c.Name(), c.Verdict, c.Found)
				}
			}
		})
	}
}

func TestWhatCannotBeCheckedIsAnError(t *testing.T) {
	for _, o := range []check.Options{{}, {Command: []string{"cat"}, Only: []string{"late"}}, {Command: []string{"no-such-program-anywhere"}}} {
		if err := check.Program(t.Context(), o, func(results.Line) error { return nil }); err == nil {
			t.Errorf("%+v was checked", o)
		}
	}
}
