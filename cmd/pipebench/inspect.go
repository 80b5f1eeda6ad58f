package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/inspect"
)

// inspectFlags are what inspect was asked for, as it was typed.
type inspectFlags struct{ format view.Format }

func (f *inspectFlags) register(cmd *cobra.Command) { registerFormat(cmd, &f.format, false) }

func (f *inspectFlags) run(cmd *cobra.Command, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil || pid <= 0 {
		return usage(fmt.Errorf("%q is no process number", args[0]))
	}
	report, err := inspect.Process(pid)
	if err != nil {
		return err
	}
	return writeInspection(cmd.OutOrStdout(), f.format, report)
}

// writeInspection writes the report itself as JSON; as text, the channels and what is wrong with
// them.
func writeInspection(w io.Writer, format view.Format, r *inspect.Report) error {
	if format == view.FormatJSON {
		out := json.NewEncoder(w)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	v := view.Page{Header: processLines(r), Notes: sentences(r)}
	if len(r.Channels) > 0 {
		v.Tables = []view.Table{channelTable(r.Channels)}
	}
	return v.Write(w, format)
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
		if asleep := sleeping(p.Threads); asleep != "" {
			line += ": sleeps in " + asleep
		}
		lines = append(lines, line)
	}
	return lines
}

// sleeping names the calls in which threads wait, each once: "write(1), poll".
func sleeping(threads []inspect.Thread) string {
	var calls []string
	seen := map[string]bool{}
	for _, t := range threads {
		call := t.In
		if t.FD >= 0 {
			call = fmt.Sprintf("%s(%d)", t.In, t.FD)
		}
		if !seen[call] {
			seen[call] = true
			calls = append(calls, call)
		}
	}
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
		name := c.ID
		if c.Path != "" {
			name = c.Path
		}
		t.Append(name, c.Kind, holders(c.Writers, "writing"), holders(c.Readers, "reading"), known(c.Queued, -1), known(c.Capacity, 0), state(c))
	}
	return t
}

// holders are the processes that have an end, with their descriptors: "4711 cat 1 (writing)". One
// that never waits in the call says so.
func holders(list []inspect.Holder, verb string) string {
	var out []string
	for _, h := range list {
		text := fmt.Sprintf("%d %s fd %d", h.PID, h.Command, h.FD)
		switch {
		case h.Waits:
			text += " (" + verb + ")"
		case h.NonBlocking:
			text += " (non-blocking)"
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

func state(c inspect.Channel) string {
	var words []string
	if c.Full {
		words = append(words, "FULL")
	}
	if c.NoReader {
		words = append(words, "NO READER")
	}
	if c.NoWriter {
		words = append(words, "NO WRITER")
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

// sentences are what is wrong, or that nothing is.
func sentences(r *inspect.Report) []string {
	var out []string
	for _, d := range r.Diagnoses {
		out = append(out, d.Sentence)
	}
	switch {
	case len(out) > 0:
		return out
	case len(r.Channels) == 0:
		return []string{"no pipe, FIFO or connected Unix socket is open in these processes"}
	}
	return []string{"nothing is wrong that can be seen from here: no channel is full and unread, and none has lost a side"}
}
