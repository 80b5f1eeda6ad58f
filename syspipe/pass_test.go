package syspipe_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// childJobs is what this binary does as a child of a test.
var childJobs = map[string]func(args []string) error{
	"upper": upper,
}

// child prepares this binary to do a job.
func child(t *testing.T, job string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), childJob+"="+job, "GORACE=atexit_sleep_ms=0") // else a child takes a second to exit under -race
	cmd.Stderr = os.Stderr
	return cmd
}

// upper copies what it reads from one inherited end to another, in capitals. Its arguments are an
// io and the two references.
func upper(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want an io and two references, got %q", args)
	}
	how, err := syspipe.ParseIO(args[0])
	if err != nil {
		return err
	}
	r, rerr := syspipe.Inherited(args[1])
	w, werr := syspipe.Inherited(args[2])
	if err := errors.Join(rerr, werr); err != nil {
		return err
	}
	if err := errors.Join(r.SetIO(how), w.SetIO(how)); err != nil {
		return err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	_, err = w.Write(bytes.ToUpper(text))
	return errors.Join(err, w.Close(), r.Close())
}

func TestPassedEndsWorkInAChild(t *testing.T) {
	everyPipe(t, func(t *testing.T, kind syspipe.Kind, how syspipe.IO) {
		toChild, in := open(t, kind, 0, syspipe.Blocking)
		out, fromChild := open(t, kind, 0, syspipe.Blocking)
		for _, e := range []*syspipe.End{toChild, fromChild} {
			if err := e.SetIO(how); err != nil {
				t.Skip(err)
			}
		}
		cmd := child(t, "upper", how.String())
		for _, e := range []*syspipe.End{in, out} {
			ref, err := e.Pass(cmd)
			if err != nil {
				t.Fatal(err)
			}
			cmd.Args = append(cmd.Args, ref)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(in.Close(), out.Close()); err != nil {
			t.Fatal(err)
		}
		within(t, "talk to the child", func() {
			toChild.Write([]byte("as you like it"))
			toChild.Close()
			if got := <-drain(fromChild); string(got) != "AS YOU LIKE IT" {
				t.Errorf("the child answered %q", got)
			}
		})
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestPassKeepsTheModeOfTheParent: os/exec must not turn an end blocking that the parent still uses
// without. On a busy machine a writer may have no time to fill the pipe before its end is closed.
func TestPassKeepsTheModeOfTheParent(t *testing.T) {
	var c syspipe.Counters
	for delay := time.Millisecond; c.EAGAIN == 0 && delay < deadline; delay *= 10 {
		c = writeAfterPass(t, delay)
	}
	if c.EAGAIN == 0 {
		t.Errorf("%+v: the writer was never refused, so it had become blocking", c)
	}
}

// writeAfterPass passes an end to a child, writes more than the pipe holds for a while, and returns
// what was counted.
func writeAfterPass(t *testing.T, d time.Duration) syspipe.Counters {
	t.Helper()
	w, _ := open(t, syspipe.Anonymous, 0, syspipe.Spin)
	cmd := child(t, "upper", "blocking")
	cmd.Stderr = nil // the job misses its arguments and fails, which is of no interest here
	if _, err := w.Pass(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	closeDuring(t, w, d, func() (int, error) { return w.Write(make([]byte, 2<<20)) })
	return w.Counters()
}

// TestAFileOutlivesItsEnd: it is the caller's, and a stream of a child when the end is closed here.
func TestAFileOutlivesItsEnd(t *testing.T) {
	for _, kind := range syspipe.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			w, r := open(t, kind, 0, syspipe.Blocking)
			f, err := w.File()
			skipUnsupported(t, err)
			if err != nil {
				t.Fatal(err)
			}
			w.Close()
			f.WriteString("still there")
			f.Close()
			if got := string(<-drain(r)); got != "still there" {
				t.Errorf("got %q", got)
			}
			if _, err := w.File(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("a file of a closed end: %v", err)
			}
		})
	}
}

func TestInheritedSaysThatTextIsNoReference(t *testing.T) {
	for _, text := range []string{"", "9999", "abc"} {
		_, err := syspipe.Inherited(text)
		if err == nil || !strings.HasSuffix(err.Error(), ": not a reference of End.Pass") {
			t.Errorf("Inherited(%q): %v", text, err)
		}
	}
}

func TestInheritedRefusesWhatIsNoEnd(t *testing.T) {
	for name, ref := range map[string]string{
		"empty":             "",
		"not a reference":   "3",
		"no number":         `{"number":"x","kind":"anonymous","direction":1}`,
		"unknown kind":      `{"number":3,"kind":"tube","direction":1}`,
		"no direction":      `{"number":3,"kind":"anonymous"}`,
		"unknown direction": `{"number":3,"kind":"anonymous","direction":4}`,
		"nothing there":     `{"number":4093,"kind":"anonymous","direction":1}`,
	} {
		t.Run(name, func(t *testing.T) {
			if e, err := syspipe.Inherited(ref); err == nil {
				e.Close()
				t.Error("no error")
			} else if !strings.Contains(err.Error(), "inherited") {
				t.Errorf("error %q does not say what was tried", err)
			}
		})
	}
}
