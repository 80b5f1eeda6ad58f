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
	"bufio"
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
	"github.com/pipebench/pipebench/syspipe/script"
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

// Variables by which an invocation is told what it is part of. A build that does not know them makes
// everything, and keeps its turn to its end.
const (
	// turns: it shares the machine with others, round by round.
	turns = "PIPEBENCH_TURNS"
	// recordsOnly: nobody looks at charts and reports of its own, which take several times as long as
	// a short run.
	recordsOnly = "PIPEBENCH_RECORDS_ONLY"
)

// enquiry is what an invocation writes to standard output when its turn is over. It goes on when it
// is given any byte on standard input.
const enquiry = '\x05'

// RecordsOnly reports whether nobody wants more of this process than its records: those who invoked it
// by [Together] or [Binary.Run] read them.
func RecordsOnly() bool { return os.Getenv(recordsOnly) != "" }

// InTurns reports whether this process takes turns with others, so that each invocation is one of
// many, and needs no further starts of its workers to see what luck each start has.
func InTurns() bool { return os.Getenv(turns) != "" }

// Turn gives up this process's turn, and waits until it has the next. That of a process which has
// the machine to itself never ends.
func Turn(ctx context.Context) error {
	if !InTurns() {
		return nil
	}
	if _, err := os.Stdout.Write([]byte{enquiry}); err != nil {
		return fmt.Errorf("give up the turn: %w", err)
	}
	given := make(chan struct{})
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // its end, too, says that nobody else has a turn
		close(given)
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-given:
		return nil
	}
}

// A Side is a binary to invoke, and the folder for its records.
type Side struct {
	Binary
	Dir string
}

// patience is what an invocation that was told to stop has for that.
const patience = 5 * time.Second

// Run invokes run with flags, records going into dir, and reads them. The flags come last but for
// those that say where results go, so that they win over defaults given before them. When ctx ends
// the invocation is interrupted, and killed if it does not heed that.
func (b Binary) Run(ctx context.Context, dir string, flags []string) (*results.Set, error) {
	sets, err := Together(ctx, flags, Side{b, dir})
	if err != nil {
		return nil, err
	}
	return sets[0], nil
}

// Together invokes several binaries as [Binary.Run] does one, with the same flags, and has them take
// turns: each measures a round while the others wait, so that what moves the machine moves all. One
// that knows no turns runs from its start to its end in one.
func Together(ctx context.Context, flags []string, sides ...Side) ([]*results.Set, error) {
	if err := CheckFlags(flags); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends those that are left when one fails
	sets, begun := make([]*results.Set, len(sides)), make([]*invocation, len(sides))
	return sets, script.Run(func() {
		for slices.Contains(sets, nil) {
			for i, side := range sides {
				switch {
				case sets[i] != nil:
					continue
				case begun[i] == nil:
					begun[i] = side.start(ctx, flags, len(sides) > 1)
					defer begun[i].process.Close()
				default:
					script.Must(begun[i].stdin.Write([]byte{enquiry}))
				}
				if _, err := begun[i].said.ReadString(enquiry); err != nil { // it has ended
					sets[i] = script.Must(begun[i].result(ctx))
				}
			}
		}
	})
}

// An invocation is a run under way.
type invocation struct {
	Side
	process *proc.Process
	stdin   *os.File
	said    *bufio.Reader
}

// start is part of a script.
func (s Side) start(ctx context.Context, flags []string, shared bool) *invocation {
	p := proc.Command(s.Path, slices.Concat([]string{"run"}, flags, []string{"--quiet", "--no-progress", "--out", s.Dir})...)
	p.Grace = patience
	p.Cmd.Env = append(os.Environ(), recordsOnly+"=1")
	if shared {
		p.Cmd.Env = append(p.Cmd.Env, turns+"=1")
	}
	i := &invocation{Side: s, process: p}
	i.stdin = script.Must(p.Pipe(0))
	i.said = bufio.NewReader(script.Must(p.Pipe(1)))
	script.Check(p.Start(ctx))
	return i
}

// result reads what the invocation left, or says how it failed.
func (i *invocation) result(ctx context.Context) (*results.Set, error) {
	err := i.process.Wait()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", i.Name, context.Cause(ctx))
	case err != nil:
		said := strings.TrimPrefix(i.process.Stderr().String(), "pipebench: ") // the name that the command puts before it
		return nil, &FailedError{Binary: i.Name, Code: i.process.Cmd.ProcessState.ExitCode(), Said: said}
	}
	set, err := results.Read(i.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s left no results; is it a pipebench? %w", i.Name, err)
	}
	return set, nil
}
