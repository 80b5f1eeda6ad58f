package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/inspect"
	"github.com/pipebench/pipebench/syspipe/script"
)

// inspectFlags are what inspect was asked for, as it was typed.
type inspectFlags struct {
	format view.Format
	look   time.Duration
	watch  bool
}

func (f *inspectFlags) register(cmd *cobra.Command) {
	registerFormat(cmd, &f.format)
	flags := cmd.Flags()
	addDuration(cmd, &f.look, "look", 500*time.Millisecond, "time between the two looks at the processes")
	flags.BoolVar(&f.watch, "watch", false, "go on looking, and say what changes, until the process ends")
}

func (f *inspectFlags) run(cmd *cobra.Command, args []string) {
	pid, err := strconv.Atoi(args[0])
	demand(err == nil && pid > 0, usage(fmt.Errorf("%q is no process number", args[0])))
	demand(f.look > 0, usage(fmt.Errorf("--look %v: want a time above zero", f.look)))
	report := script.Must(inspect.Over(cmd.Context(), pid, f.look))
	script.Check(f.write(cmd, report))
	if f.watch {
		f.follow(cmd, report)
	}
}

// follow is a script. It writes what changes in the tree, a line a change, or each report that differs
// as JSON, until its first process has ended; then, who is left of it.
func (f *inspectFlags) follow(cmd *cobra.Command, last *inspect.Report) {
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	for {
		next, err := inspect.Over(ctx, last.PID, f.look)
		gone := errors.Is(err, fs.ErrNotExist)
		if ctx.Err() != nil {
			return // who watches stops it so
		}
		if gone {
			next, err = &inspect.Report{PID: last.PID, Processes: stillThere(last)}, nil
		}
		script.Check(err)
		changes := differences(last, next)
		switch at := time.Now().Format("15:04:05 "); {
		case len(changes) == 0:
		case f.format == view.FormatJSON:
			script.Check(f.write(cmd, next))
		default:
			script.Must(fmt.Fprintln(w, at+strings.Join(changes, "\n"+at)))
		}
		if gone {
			for _, p := range next.Processes {
				if f.format != view.FormatJSON {
					fmt.Fprintf(w, "left behind: %d %s\n", p.PID, view.Escape(p.Command))
				}
			}
			return
		}
		last = next
	}
}

// stillThere returns the descendants that have outlived the first process of a report.
func stillThere(r *inspect.Report) []inspect.Proc {
	return stat.Filter(r.Processes[1:], func(p inspect.Proc) bool {
		now, err := inspect.Process(p.PID)
		return err == nil && now.Processes[0].Command == p.Command
	})
}

// differences are the processes and the diagnoses that came (+) and went (-) between two reports.
func differences(last, next *inspect.Report) (out []string) {
	type fact struct{ key, text string }
	facts := func(r *inspect.Report) (out []fact) {
		for _, p := range r.Processes {
			text := fmt.Sprintf("%d %s", p.PID, p.Command)
			out = append(out, fact{text, text})
		}
		for _, d := range r.Diagnoses {
			out = append(out, fact{fmt.Sprint(d.Kind, d.PID, d.Channels), d.Sentence}) // its figures change
		}
		return out
	}
	lacking := func(sign string, all, in []fact) {
		for _, f := range all {
			if !slices.ContainsFunc(in, func(other fact) bool { return other.key == f.key }) {
				out = append(out, sign+view.Escape(f.text))
			}
		}
	}
	before, after := facts(last), facts(next)
	lacking("+ ", after, before)
	lacking("- ", before, after)
	return out
}

// write writes the report itself as JSON; as text, the channels and what is wrong with them.
func (f *inspectFlags) write(cmd *cobra.Command, r *inspect.Report) error {
	if f.format == view.FormatJSON {
		return view.WriteJSON(cmd.OutOrStdout(), r)
	}
	v := view.Page{Header: processLines(r)}
	if len(r.Channels) > 0 {
		v.Tables = []view.Table{channelTable(r.Channels)}
	} else if len(r.Diagnoses) == 0 {
		v.Notes = []string{"no pipe, FIFO or connected Unix socket is open in these processes"}
	}
	for _, d := range r.Diagnoses {
		v.Notes = append(v.Notes, d.Sentence)
	}
	if len(r.Diagnoses) == 0 { // what was looked for in vain
		v.Notes = append(v.Notes, "nothing found of: "+strings.Join(r.Problems(), "; "))
	}
	return v.Write(cmd.OutOrStdout(), f.format, viewOptions(cmd, false))
}

// processLines are the processes of the tree, and where their threads sleep.
func processLines(r *inspect.Report) []string {
	var lines []string
	for _, p := range r.Processes {
		line := fmt.Sprintf("%d %s", p.PID, p.Command)
		if p.Parent != 0 && p.PID != r.PID {
			line += fmt.Sprintf(", started by %d", p.Parent)
		}
		if p.Unreadable != "" {
			line += ", cannot be looked at: " + p.Unreadable
		}
		if p.SIGTERM == "handled" {
			line += ", handles SIGTERM"
		}
		if p.Recent != nil && r.Look > 0 {
			line += fmt.Sprintf(", ran %.0f %% of the time, read %s, wrote %s",
				100*min(1, float64(p.Recent.Runnable)/float64(r.Look)), results.FormatSize(p.Recent.ReadBytes), results.FormatSize(p.Recent.WriteBytes))
		}
		if asleep := sleeping(p.Threads); asleep != "" {
			line += ": sleeps in " + asleep
		}
		lines = append(lines, line)
	}
	return lines
}

// sleeping names the calls in which threads wait, each once: "write(1), poll".
func sleeping(threads []inspect.Thread) string {
	calls := stat.Distinct(threads, func(t inspect.Thread) string {
		if t.FD < 0 {
			return t.In
		}
		return fmt.Sprintf("%s(%d)", t.In, t.FD)
	})
	return strings.Join(calls, ", ")
}

func channelTable(channels []inspect.Channel) view.Table {
	t := view.Table{Title: "Its channels", Columns: view.Columns("channel", "kind", "written by", "read by", ">queued", ">capacity", "state")}
	known := func(n, unknown int) string {
		if n == unknown {
			return "-"
		}
		return strconv.Itoa(n)
	}
	for _, c := range channels {
		var words []string
		for _, w := range []struct {
			is   bool
			word string
		}{{c.Full, "FULL"}, {c.NoReader, "NO READER"}, {c.NoWriter, "NO WRITER"}} {
			if w.is {
				words = append(words, w.word)
			}
		}
		t.Append(cmp.Or(c.Path, c.ID), c.Kind, holders(c.Writers, "writing"), holders(c.Readers, "reading"),
			known(c.Queued, -1), known(c.Capacity, 0), cmp.Or(strings.Join(words, ", "), "-"))
	}
	return t
}

// holders are the processes that have an end, with their descriptors: "4711 cat 1 (writing)". One
// that never waits in the call says so.
func holders(list []inspect.Holder, verb string) string {
	return cmp.Or(strings.Join(stat.Map(list, func(h inspect.Holder) string {
		text := fmt.Sprintf("%d %s fd %d", h.PID, h.Command, h.FD)
		switch {
		case h.Waits:
			text += " (" + verb + ")"
		case h.NonBlocking:
			text += " (non-blocking)"
		}
		return text
	}), ", "), "-")
}
