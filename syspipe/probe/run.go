package probe

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// Options say what to probe. The zero Options probe everything.
type Options struct {
	Kinds []syspipe.Kind // nil: each kind that this system supports
	Steps []string       // names of experiments, as [Steps] lists them; nil: all
	// StepTimeout is how long one experiment may take; 0 is [DefaultStepTimeout]. One that takes longer is killed, and its finding is "hangs".
	StepTimeout time.Duration
	// Observe, if set, is told of each experiment that is over, from the goroutine that called Run.
	Observe func(Progress)
}

// Progress is one experiment that is over.
type Progress struct {
	Pipe     syspipe.Kind
	Step     string // the experiment, as [Steps] lists it
	Findings int    // that it brought
	Done, Of int    // experiments, this one among the former
}

// Validate reports what cannot be asked for: an unknown kind or step. What this system merely lacks is an error of [Run], which wraps
// [errors.ErrUnsupported].
func (o Options) Validate() error {
	for _, k := range o.Kinds {
		if _, err := syspipe.ParseKind(string(k)); err != nil {
			return fmt.Errorf("probe: %w", err)
		}
	}
	_, err := namedExperiments(o.Steps)
	return err
}

// DefaultStepTimeout is some ten times what the slowest experiment takes on an idle machine.
const DefaultStepTimeout = 5 * time.Second

// Steps returns the names of the experiments, in the order in which they run.
func Steps() []string {
	names := make([]string, len(experiments))
	for i, e := range experiments {
		names[i] = e.name
	}
	return names
}

// Run makes the experiments and calls found for each finding as it comes; it stops at the first error of found. An experiment that fails or
// hangs is itself a finding, and the others go on. With all of them Run takes some seven seconds.
func Run(ctx context.Context, o Options, found func(Finding) error) error {
	if _, worker := os.LookupEnv(workerVariable); worker { // it would start itself without end
		return errors.New("probe: this process was started as a worker and is none: call probe.Worker first in main and in TestMain")
	}
	kinds, steps, err := o.resolve()
	if err != nil {
		return err
	}
	over := Progress{Of: len(kinds) * len(steps)}
	for _, over.Pipe = range kinds {
		for _, step := range steps {
			over.Step, over.Findings = step.name, 0
			count := func(f Finding) error { over.Findings++; return found(f) }
			if err := runStep(ctx, over.Pipe, step, cmp.Or(o.StepTimeout, DefaultStepTimeout), count); err != nil {
				return err
			}
			over.Done++
			if o.Observe != nil {
				o.Observe(over)
			}
		}
	}
	return nil
}

// resolve says what the options ask for, once this system is known to have it.
func (o Options) resolve() (kinds []syspipe.Kind, steps []experiment, err error) {
	if err := o.Validate(); err != nil {
		return nil, nil, err
	}
	for _, k := range o.Kinds {
		if err := k.Supported(); err != nil {
			return nil, nil, fmt.Errorf("probe: %w", err)
		}
	}
	kinds = o.Kinds
	if kinds == nil {
		kinds = supportedKinds()
	}
	if len(kinds) == 0 {
		return nil, nil, fmt.Errorf("probe: %w", syspipe.Anonymous.Supported())
	}
	steps, err = namedExperiments(o.Steps)
	return kinds, steps, err
}

func supportedKinds() []syspipe.Kind {
	var kinds []syspipe.Kind
	for _, k := range syspipe.Kinds() {
		if k.Supported() == nil {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// namedExperiments are those of the names, all of them for none.
func namedExperiments(names []string) ([]experiment, error) {
	if names == nil {
		return experiments, nil
	}
	var list []experiment
	for _, name := range names {
		e, ok := experimentNamed(name)
		if !ok {
			return nil, fmt.Errorf("probe: unknown step %q (known: %s)", name, strings.Join(Steps(), ", "))
		}
		list = append(list, e)
	}
	return list, nil
}

// runStep makes one experiment in a process of its own.
func runStep(ctx context.Context, kind syspipe.Kind, e experiment, timeout time.Duration, found func(Finding) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd, err := worker(limited, roleStep, e.name, string(kind))
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second // for a grandchild that keeps the output open
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("probe: start a worker: %w", err)
	}
	kept := forward(out, found)
	if kept != nil {
		cancel()
	}
	failed := cmd.Wait()
	switch {
	case kept != nil:
		return kept
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return found(Finding{Pipe: kind, Step: e.name, Value: "hangs", How: fmt.Sprintf("%s; killed after %v", e.how, timeout)})
	case failed != nil:
		return found(Finding{Pipe: kind, Step: e.name, Value: "fails", How: fmt.Sprintf("%s; %v: %s", e.how, failed, firstLine(said.String()))})
	}
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// forward hands on the findings that a worker writes, one in a line.
func forward(out io.Reader, found func(Finding) error) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var f Finding
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return fmt.Errorf("probe: a worker wrote %q; does main call probe.Worker before it writes? %w", lines.Text(), err)
		}
		if n, ok := f.Value.(float64); ok && n == math.Trunc(n) {
			f.Value = int64(n)
		}
		if err := found(f); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("probe: read from a worker: %w", err)
	}
	return nil
}

// worker prepares this program to play a role.
func worker(ctx context.Context, role string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("probe: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), workerVariable+"="+strings.Join(append([]string{role}, args...), " "))
	return cmd, nil
}
