// Package rules finds out by experiment what the pipes of this machine do, and compares the results
// with the documented rules of its operating system. It is for pipebench's commands and may change.
//
//	err := rules.Run(ctx, rules.Options{}, func(f results.Finding) error {
//		_, err := fmt.Println(f.ID, f.Value, f.Unit)
//		return err
//	})
//
// Calls of [Run] at the same time disturb each other's measurements of time.
package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// work is the name of the [proc.Job] that makes one experiment, in a process of its own.
const work = "rules/experiment"

// An inquiry is an experiment that can be made with several kinds of pipe. It has several steps,
// such as "capacity/fill/512", and reports a finding for each of them.
type inquiry struct {
	name string
	how  string // what is done, in one line
	do   func(*trial)
	once bool // make it with one kind of pipe only: its findings hold for every kind
}

func inquiries() []inquiry {
	return []inquiry{
		{name: "fill", how: "write without blocking until refused", do: fillPipes},
		{name: "capacity", how: "ask the kernel, or fill an empty pipe where it does not say",
			do: findCapacity},
		{name: "slot", how: "read a full pipe byte by byte until one more byte fits", do: findSlot},
		{name: "growth", how: "write to a new pipe and compare", do: findGrowth},
		{name: "settable", how: "ask for other capacities and read back", do: setCapacities},
		{name: "all-or-nothing", how: "write n bytes where n - 1 are free", do: findAllOrNothing},
		{name: "poll", how: "ask poll(2) while a full pipe is read byte by byte", do: pollFullPipe},
		{name: "full", how: "write to a full pipe", do: writeToFullPipe},
		{name: "broken", how: "write, or be writing, when the reader closes", do: breakPipes},
		{name: "eof", how: "close one of two copies of the writing end, then the other",
			do: findEOF},
		{name: "interleave", how: "two processes write to one pipe", do: interleaveWrites},
		{name: "deadlock", how: "write to an echoing child and do not read", do: deadlock},
		{name: "copy-zone", how: "time copies between a pipe and buffers at many offsets",
			do: findCopyZone, once: true},
		{name: "write-size",
			how: "send 1,000,000 B messages in smaller writes, and in larger pipes",
			do:  compareWriteSizes, once: true},
		{name: "wake-up", how: "pass one byte there and back between two processes",
			do: timeWakeUps, once: true},
	}
}

// ID returns an ID, such as "rule/fifo/slot", for what an experiment found in a step. If kind is
// empty, the finding is about all kinds of pipe.
func ID(kind syspipe.Kind, step string) string {
	if kind == "" {
		return "rule/" + step
	}
	return "rule/" + string(kind) + "/" + step
}

// ParseID splits the ID of a finding of this package. kind is empty if the finding is about all
// kinds of pipe.
func ParseID(id string) (kind syspipe.Kind, step string, ok bool) {
	step, ok = strings.CutPrefix(id, "rule/")
	first, rest, _ := strings.Cut(step, "/")
	if _, err := syspipe.ParseKind(first); ok && err == nil {
		return syspipe.Kind(first), rest, true
	}
	return "", step, ok
}

// about returns the experiment that makes the inquiry with one kind of pipe. If kind is empty, the
// findings are about all kinds.
func (i inquiry) about(kind syspipe.Kind) experiment.Experiment {
	return experiment.Experiment{
		ID:    ID(kind, i.name),
		Title: i.how,
		Do: func(own *experiment.Trial) {
			anyKind := cmp.Or(kind, syspipe.Anonymous)
			i.do(&trial{Trial: own, about: kind, kind: anyKind, how: i.how})
		},
	}
}

// Options say which experiments to make. The zero Options make all of them.
type Options struct {
	Kinds []syspipe.Kind // nil: each of [syspipe.StreamKinds] that this system supports
	Steps []string       // names of experiments, as the function [Steps] lists them; nil: all
	// StepTimeout limits one experiment. If it is 0, the limit is [experiment.DefaultLimit], or
	// more on a slow machine.
	StepTimeout time.Duration
	// Observe, if set, is called after each experiment, such as "fifo capacity", by the goroutine
	// that called Run. It gets the number of findings, and of all experiments.
	Observe func(experiment string, findings, total int)
}

// Steps returns the names of the experiments, in the order in which they run.
func Steps() []string {
	var names []string
	for _, i := range inquiries() {
		names = append(names, i.name)
	}
	return names
}

// Validate returns an error if a kind or a step is unknown.
func (o Options) Validate() error {
	for _, k := range o.Kinds {
		if _, err := syspipe.ParseKind(string(k)); err != nil {
			return err
		}
	}
	for _, name := range o.Steps {
		if !slices.Contains(Steps(), name) {
			known := strings.Join(Steps(), ", ")
			return fmt.Errorf("unknown step %q (known: %s)", name, known)
		}
	}
	return nil
}

// Run makes the experiments, which take about ten seconds in all, and calls the function found for
// each finding. Run stops early only if this function returns an error. That an experiment fails or
// is stopped at its deadline is a finding, too.
func Run(ctx context.Context, o Options, found func(results.Finding) error) error {
	if err := o.Validate(); err != nil {
		return err
	}
	kinds, lacking := o.kinds()
	for _, f := range lacking {
		if err := found(f); err != nil {
			return err
		}
	}
	plan := o.experiments(kinds)
	for _, e := range plan {
		e.Limit = o.StepTimeout
		findings := 0
		err := experiment.Run(ctx, work, e, func(f results.Finding) error {
			findings++
			return found(f)
		})
		if err != nil {
			return err
		}
		if o.Observe != nil {
			name := strings.ReplaceAll(strings.TrimPrefix(e.ID, "rule/"), "/", " ")
			o.Observe(name, findings, len(plan))
		}
	}
	return nil
}

// kinds returns the kinds of pipe to look at, and a finding for each wanted kind that this system
// lacks.
func (o Options) kinds() (supported []syspipe.Kind, lacking []results.Finding) {
	kinds := o.Kinds
	if kinds == nil {
		kinds = slices.DeleteFunc(syspipe.StreamKinds(), func(k syspipe.Kind) bool {
			return k.Supported() != nil
		})
	}
	for _, kind := range kinds {
		if err := tryOpen(kind); errors.Is(err, errors.ErrUnsupported) {
			lacking = append(lacking, results.Finding{
				ID: ID(kind, "kind"), Title: "make a pipe of this kind",
				Verdict: results.Unsupported, Value: "unsupported", Found: err.Error(),
			})
			continue
		}
		supported = append(supported, kind)
	}
	return supported, lacking
}

// experiments returns the experiments that were asked for, each with these kinds of pipe.
func (o Options) experiments(kinds []syspipe.Kind) []experiment.Experiment {
	var all []experiment.Experiment
	for _, kind := range slices.Concat(kinds, []syspipe.Kind{"" /* all kinds */}) {
		for _, i := range inquiries() {
			isWanted := o.Steps == nil || slices.Contains(o.Steps, i.name)
			if isWanted && i.once == (kind == "") {
				all = append(all, i.about(kind))
			}
		}
	}
	return all
}

// tryOpen tries to make a pipe of a kind. A kernel that imitates another kernel may lack the kind.
func tryOpen(kind syspipe.Kind) error {
	w, r, err := syspipe.Open(kind, syspipe.Options{IO: syspipe.Blocking})
	if err != nil {
		return err
	}
	return errors.Join(w.Close(), r.Close())
}

// Jobs returns the jobs of all processes that [Run] starts. The main function passes them to
// [proc.Main].
func Jobs() map[string]proc.Job {
	all := Options{}.experiments(syspipe.Kinds())
	return experiment.Jobs(work, all, map[string]proc.Job{
		workWrite: writeLetters,
		workEcho:  echo,
		workHold:  hold,
	})
}
