package turns

import (
	"bufio"
	"context"
	"debug/buildinfo"
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

// Find returns the absolute path of a binary, given its path or the name of a command.
func Find(name string) (string, error) {
	path, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) || errors.Is(err, exec.ErrNotFound) {
		// A file in this folder needs no ./ before its name.
		local, localErr := exec.LookPath("." + string(filepath.Separator) + name)
		if localErr == nil {
			path = local
			err = nil
		}
	}
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return "", fmt.Errorf("find the binary: %w", err)
	}
	return path, nil
}

// IsBuild reports whether word names a binary of pipebench.
func IsBuild(word string) bool { return strings.HasPrefix(packagePath(word), commandPath) }

// IsGoTest reports whether word names a Go test binary. The test binary of pipebench's command does
// not count.
func IsGoTest(word string) bool {
	return strings.HasSuffix(packagePath(word), ".test") && !IsBuild(word)
}

// packagePath returns the package path that Go wrote into a binary, or "" if it is no Go binary.
func packagePath(word string) string {
	path, err := Find(word)
	if err != nil {
		return ""
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	return info.Path
}

// commandPath is the beginning of the package paths of pipebench and of its test binary.
const commandPath = "github.com/pipebench/pipebench/cmd/pipebench"

// A FailedError is returned when a run exits with a code other than 0.
type FailedError struct {
	Build string
	Code  int    // -1 if a signal ended the run
	Said  string // the last of what it wrote to standard error
}

func (e *FailedError) Error() string {
	how := fmt.Sprintf("exited %d", e.Code)
	if e.Code < 0 {
		how = "was killed"
	}
	if e.Said == "" {
		return fmt.Sprintf("%s %s and said nothing", e.Build, how)
	}
	return fmt.Sprintf("%s %s: %s", e.Build, how, e.Said)
}

// A Side is a build of pipebench to run.
type Side struct {
	Name string // of the build, as the user typed it
	Path string // of its binary
	Dir  string // for its records
}

// stopGrace is how long a run may take to stop after it was interrupted.
const stopGrace = 5 * time.Second

// Together runs several builds with the same flags in turns. It returns
// their records in the order of sides. A build that is too old to take turns runs to its end
// without a pause.
func Together(ctx context.Context, flags []string, sides ...Side) ([]*results.Set, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // if one run fails, this ends the others
	runs := make([]*run, len(sides))
	sets := make([]*results.Set, len(sides))
	for slices.Contains(sets, nil) {
		for i, side := range sides {
			if sets[i] != nil {
				continue
			}
			if runs[i] == nil {
				r, err := side.start(ctx, flags)
				if err != nil {
					return nil, err
				}
				defer r.process.Close()
				runs[i] = r
			} else {
				// Any byte gives the run its turn. If the run has died, awaitTurnEnd notices.
				_, _ = runs[i].stdin.Write([]byte{enquiry})
			}
			set, err := runs[i].awaitTurnEnd(ctx)
			if err != nil {
				return nil, err
			}
			sets[i] = set
		}
	}
	return sets, nil
}

// A run is a process of a build of pipebench. It measures in turns with other runs.
type run struct {
	Side
	process *proc.Process
	stdin   *os.File
	stdout  *bufio.Reader
}

func (s Side) start(ctx context.Context, flags []string) (*run, error) {
	args := append([]string{"run"}, flags...)
	// These flags come last, so that they win over the same flags given before.
	args = append(args, "--quiet", "--no-progress", "--out", s.Dir)
	p := proc.Command(s.Path, args...)
	p.Grace = stopGrace
	p.Cmd.Env = append(os.Environ(), recordsOnlyVariable+"=1", inTurnsVariable+"=1")
	stdin, err := p.Pipe(0)
	if err != nil {
		return nil, err
	}
	stdout, err := p.Pipe(1)
	if err != nil {
		p.Close()
		return nil, err
	}
	if err := p.Start(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return &run{Side: s, process: p, stdin: stdin, stdout: bufio.NewReader(stdout)}, nil
}

// awaitTurnEnd waits until the run gives up its turn or ends. It returns the run's records if the
// run has ended, and otherwise nil.
func (r *run) awaitTurnEnd(ctx context.Context) (*results.Set, error) {
	if _, err := r.stdout.ReadString(enquiry); err == nil {
		return nil, nil
	}
	err := r.process.Wait()
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, context.Cause(ctx))
	}
	if err != nil {
		said := strings.TrimPrefix(r.process.Stderr().String(), "pipebench: ")
		code := r.process.Cmd.ProcessState.ExitCode()
		return nil, &FailedError{Build: r.Name, Code: code, Said: said}
	}
	set, err := results.Read(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("%s left no results: is it a pipebench? did its flags let it "+
			"measure? %w", r.Name, err)
	}
	return set, nil
}
