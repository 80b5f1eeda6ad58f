// Package subrun runs a pipebench binary's own run command in a process of its own, and reads what
// it left: how several invocations, or several builds, are set beside each other.
//
//	old, err := subrun.Find("./pipebench-old")
//	set, err := old.Run(ctx, dir, []string{"--framing", "ndjson", "--size", "64KiB"})
//
// Invocations may be concurrent, but those that share a machine disturb each other's figures. It is
// not promised that a binary of another version knows the same flags: what it says of them is in
// the error.
package subrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Binary is a build of pipebench.
type Binary struct {
	Name string // as it was asked for
	Path string // where it is, absolute
}

// Find looks a binary up: a path to it, or the name of a command.
func Find(name string) (Binary, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) || errors.Is(err, exec.ErrNotFound) {
		if local, localErr := exec.LookPath("." + string(filepath.Separator) + name); localErr == nil {
			path, err = local, nil // a file here needs no ./ before it
		}
	}
	if err != nil {
		return Binary{}, fmt.Errorf("find the binary: %w", err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return Binary{}, fmt.Errorf("find the binary %s: %w", name, err)
	}
	return Binary{Name: name, Path: path}, nil
}

// Same tells whether two binaries are one file.
func (b Binary) Same(o Binary) bool {
	one, err1 := os.Stat(b.Path)
	other, err2 := os.Stat(o.Path)
	return err1 == nil && err2 == nil && os.SameFile(one, other)
}

// reserved are flags of run that would take the results elsewhere, or leave none, and why they
// cannot be passed on.
var reserved = map[string]string{
	"-o":         "where records are kept is decided here",
	"--out":      "where records are kept is decided here",
	"--dry-run":  "it measures nothing",
	"--scenario": "it measures nothing",
	"--assert":   "it would judge a single run; give it to the command itself",
	"-h":         "it measures nothing",
	"--help":     "it measures nothing",
}

// CheckFlags refuses flags of run that leave nothing to read.
func CheckFlags(flags []string) error {
	for _, f := range flags {
		name, _, _ := strings.Cut(f, "=")
		if strings.HasPrefix(name, "-o") {
			name = "-o"
		}
		if why, ok := reserved[name]; ok {
			return fmt.Errorf("flags for run: %s cannot be passed on: %s", name, why)
		}
	}
	return nil
}

// A FailedError is returned when an invocation exits with another code than 0.
type FailedError struct {
	Binary string
	Code   int    // -1: ended by a signal
	Said   string // the last of what it wrote to standard error
}

func (e *FailedError) Error() string {
	how := fmt.Sprintf("exited %d", e.Code)
	if e.Code < 0 {
		how = "was killed"
	}
	if e.Said == "" {
		return fmt.Sprintf("%s %s and said nothing", e.Binary, how)
	}
	return fmt.Sprintf("%s %s: %s", e.Binary, how, e.Said)
}

// recordsAlone is the variable by which an invocation is told that nobody looks at charts and
// reports of its own, which take several times as long as a short run. A build that does not know
// it makes them.
const recordsAlone = "PIPEBENCH_RECORDS_ALONE"

// RecordsAlone reports whether this process was invoked by [Binary.Run], which reads its records and
// nothing else.
func RecordsAlone() bool { return os.Getenv(recordsAlone) != "" }

// patience is what an invocation that was told to stop has for that.
const patience = 5 * time.Second

// Run invokes run with flags, records going into dir, and reads them. The flags come last but for
// those that say where results go, so that they win over defaults given before them. When ctx ends
// the invocation is interrupted, and killed if it does not heed that.
func (b Binary) Run(ctx context.Context, dir string, flags []string) (*results.Set, error) {
	if err := CheckFlags(flags); err != nil {
		return nil, err
	}
	p := proc.Command(b.Path, slices.Concat([]string{"run"}, flags, []string{"--quiet", "--no-progress", "--out", dir})...)
	p.Grace = patience
	p.Cmd.Env = append(os.Environ(), recordsAlone+"=1")
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	defer p.Close()
	err := p.Wait()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", b.Name, context.Cause(ctx))
	case err != nil:
		said := strings.TrimPrefix(p.Stderr().String(), "pipebench: ") // the name that the command puts before it
		return nil, &FailedError{Binary: b.Name, Code: p.Cmd.ProcessState.ExitCode(), Said: said}
	}
	set, err := results.Read(dir)
	if err != nil {
		return nil, fmt.Errorf("%s left no results; is it a pipebench? %w", b.Name, err)
	}
	return set, nil
}

// FakeCell is the cell that [Fake] records.
var FakeCell = results.Cell{Framing: "ndjson", Size: 10, Pipe: "anonymous", IO: "blocking",
	Placement: "same", Peer: "process", Pattern: "stream", Payload: "json"}

// Fake stands in for the run command in tests of packages that invoke it: it leaves a record of
// [FakeCell] with one sample, of 1,000 ns a message, in dir, which it makes, and measures nothing.
//
//	func TestMain(m *testing.M) {
//		if _, fake := os.LookupEnv("FAKE_RUN"); fake {
//			err := subrun.Fake(os.Args[len(os.Args)-1]) // the folder behind --out
//			…
//		}
//		os.Exit(m.Run())
//	}
func Fake(dir string) error {
	run, err := results.NewRun()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	w, err := results.Create(filepath.Join(dir, results.FileName))
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(
		w.Write(results.Environment{Run: run, Machine: "m1", Time: now}),
		w.Write(results.Record{Run: run, Time: now, Stopped: "samples", Cell: FakeCell,
			Samples: []results.Sample{{ElapsedNS: 1_000_000, Messages: 1000, PayloadBytes: 10_000, WireBytes: 11_000}}}),
		w.Close())
}
