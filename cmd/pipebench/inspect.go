package main

import (
	"cmp"
	"debug/buildinfo"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/inspect"
	"github.com/pipebench/pipebench/syspipe/proc"
)

type inspectFlags struct {
	format view.Format
	detail bool
}

// watchTime is the time between the two looks that inspect takes at the processes.
const watchTime = 500 * time.Millisecond

func (f *inspectFlags) register(cmd *cobra.Command) {
	registerFormat(cmd, &f.format)
	cmd.Flags().BoolVar(&f.detail, "detail", false,
		"print the pipes that explain nothing, too")
}

func (f *inspectFlags) run(cmd *cobra.Command, args []string) error {
	pid, err := strconv.Atoi(args[0])
	if err != nil || pid <= 0 {
		return usageError(fmt.Errorf("%q is no process number", args[0]))
	}
	report, err := inspect.Over(cmd.Context(), pid, watchTime)
	if err != nil {
		return err
	}
	if f.format == view.FormatJSON {
		return view.WriteJSON(cmd.OutOrStdout(), report)
	}
	page := inspectPage(report, f.detail)
	return page.Write(cmd.OutOrStdout(), f.format, viewOptions(cmd, f.detail))
}

// inspectPage says what is wrong and what to type next, and lists the processes and their open
// pipes and sockets.
func inspectPage(r *inspect.Report, detail bool) view.Page {
	var page view.Page
	for _, d := range r.Diagnoses {
		page.Answer = append(page.Answer, d.Sentence)
	}
	page.Answer = append(page.Answer, nextStep(r)...)
	if len(r.Diagnoses) == 0 {
		page.Answer = append(page.Answer, "no pipe was seen to be stuck (pipebench help inspect "+
			"says what it looks for); what the processes do meanwhile:")
	}
	for _, p := range r.Processes {
		page.Answer = append(page.Answer, processLine(p, r))
	}
	if n := len(r.Processes); n > 0 && len(r.Diagnoses) == 0 {
		last := r.Processes[n-1] // the others may only have started it
		page.Answer = append(page.Answer,
			fmt.Sprintf("next: if %d hangs, %s", last.PID, lookAtStack(last)))
	}
	channels := shownChannels(r, detail)
	leftOut := len(r.Channels) + len(r.Inherited) - len(channels)
	if len(channels) > 0 {
		page.Tables = []view.Table{channelTable(channels)}
	}
	if leftOut > 0 {
		const says = "left out: %s that one process has to itself, or that these processes only " +
			"inherited (--detail shows them)"
		page.Notes = append(page.Notes, fmt.Sprintf(says, results.FormatCount(leftOut, "channel")))
	}
	return page
}

// nextStep says what to do about the first diagnosis for which that is known. It returns nil if it
// is known for none.
func nextStep(r *inspect.Report) []string {
	for _, d := range r.Diagnoses {
		p := r.Proc(d.PID)
		command := cmp.Or(proc.ShellLine(results.HideSecrets(p.Args)), p.Command, "COMMAND")
		step := ""
		switch {
		case d.Kind == inspect.Undrained:
			step = "let the reader read it at all times"
			if strings.HasPrefix(d.Sentence, "stderr ") {
				step += ", or send it to a file (2>FILE)"
			}
		case d.Kind == inspect.HeldOpen:
			step = fmt.Sprintf("end %d (kill %[1]d) if nobody needs it, and start it so that it "+
				"does not inherit that end", d.PID)
		case d.Kind == inspect.PeerLeft && d.PID > 0:
			step = fmt.Sprintf("a server should leave at the end of its stdin: `pipebench check "+
				"--server --only end-idle -- %s` tells whether this one does", command)
		case d.Kind == inspect.PeerLeft && len(d.Channels) > 1: // a server has ended
			step = "if the client started it as `pipebench tap --bodies -o FILE -- COMMAND`, " +
				"`pipebench report FILE` says how it ended; else start it so"
		case d.Kind == inspect.MutualWrite:
			step = "let each side read while it writes: with a thread for each, or with poll"
		case d.Kind == inspect.Spins, d.Kind == inspect.Pauses,
			d.Kind == inspect.Unread && d.PID > 0:
			step = lookAtStack(p)
			parent := r.Proc(p.Parent)
			if strings.HasPrefix(d.Sentence, fmt.Sprintf("%d (", parent.PID)) { // it waits for p
				step = lookAtStack(parent) + "; if it only starts another program, " + step
			}
		case d.Kind == inspect.MutualRead:
			step = lookAtStack(p)
			file, tapped := recordingOf(r)
			if file == "" {
				const first = "let the client start `pipebench tap --bodies -o FILE -- %s`, and " +
					"end the client when it hangs"
				step += driveAgain(fmt.Sprintf(first, command), "FILE", command)
			} else if strings.Contains(d.Sentence, "pipebench tap") { // else of another pair
				step += driveAgain("end the client", file, tapped)
			}
		}
		if step != "" {
			return []string{"next: " + step}
		}
	}
	return nil
}

// lookAtStack says which command shows the stack of a process, by its program.
func lookAtStack(p inspect.Proc) string {
	tool := "py-spy dump --pid %d (Python), jstack %[1]d (Java), or gdb -p %[1]d (C)"
	if _, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", p.PID)); err == nil {
		tool = "kill -QUIT %d (it goes to standard error, and the program ends)"
	}
	program := ""
	if len(p.Args) > 0 {
		program = strings.TrimRight(filepath.Base(p.Args[0]), "0123456789.")
	}
	switch program {
	case "python":
		tool = "py-spy dump --pid %d"
	case "node":
		tool = "node inspect -p %d (kill -USR1 starts its inspector, too), then " +
			"exec('process.getActiveResourcesInfo()') for what it waits for, or pause and bt"
	case "java":
		tool = "jstack %d"
	}
	return "look at its stack: " + fmt.Sprintf(tool, p.PID)
}

// driveAgain says which commands find the message after which a server fell silent.
func driveAgain(first, file, server string) string {
	const says = ". Or %s: `pipebench report %s` names wrong lengths, and requests of either " +
		"side without an answer. Then `pipebench drive --messages %[2]s -- %s` sends all of it " +
		"again"
	return fmt.Sprintf(says, first, file, server)
}

// recordingOf returns the file in which pipebench tap records the messages of the processes with
// their bodies, and the command behind tap, both quoted for a shell. It returns "" if no tap is
// known.
func recordingOf(r *inspect.Report) (file, server string) {
	for _, p := range r.Processes {
		if p.Command != "pipebench tap" || len(p.Args) < 2 {
			continue
		}
		var tap tapFlags
		var cmd cobra.Command
		tap.register(&cmd)
		if cmd.ParseFlags(p.Args[2:]) == nil && tap.options.Bodies && tap.out != "" {
			file = proc.ShellLine([]string{tap.out})
			return file, proc.ShellLine(results.HideSecrets(cmd.Flags().Args()))
		}
	}
	return "", ""
}

// processLine describes what a process did between two looks, and in which system calls its threads
// sleep.
func processLine(p inspect.Proc, r *inspect.Report) string {
	line := fmt.Sprintf("%d %s", p.PID, p.Command)
	if p.Parent != 0 && p.PID != r.PID {
		line += fmt.Sprintf(", started by %d", p.Parent)
	}
	if p.Unreadable != "" {
		line += ", cannot be looked at: " + p.Unreadable
	}
	moved := p.Recent != nil && p.Recent.ReadBytes+p.Recent.WriteBytes > 0
	if moved || r.RunShare(p) >= 0.01 {
		line += fmt.Sprintf(", ran %.0f %% of the last %s, read %s, wrote %s",
			100*r.RunShare(p), results.FormatDuration(float64(r.Look)),
			results.FormatSize(p.Recent.ReadBytes), results.FormatSize(p.Recent.WriteBytes))
	}
	if p.Stopped {
		return line + ": stopped"
	}
	asleep := sleeping(p.Threads)
	switch {
	case r.Computes(p) && asleep != "":
		line += ": computes; its other threads sleep in " + asleep
	case r.Computes(p):
		line += ": computes"
	case asleep != "":
		line += ": sleeps in " + asleep
	}
	return line
}

// sleeping names the system calls in which threads wait, each call once, as in "write(1), poll,
// wait for 4712".
func sleeping(threads []inspect.Thread) string {
	var calls []string
	for _, t := range threads {
		call := t.In
		switch {
		case t.Child > 0:
			call = fmt.Sprintf("wait for %d", t.Child)
		case t.Path != "":
			call = "open of " + t.Path
		case t.FD >= 0:
			call = fmt.Sprintf("%s(%d)", t.In, t.FD)
		case len(t.Watched) > 0:
			call = t.In + " for " + strings.Join(t.Watched, " and ")
		}
		calls = append(calls, call)
	}
	return distinct(calls)
}

// shownChannels returns the channels (pipes and sockets) for the table, the most telling first.
// Without detail, it leaves out channels that one process has to itself, by which programs wake
// themselves up, and inherited ones.
func shownChannels(r *inspect.Report, detail bool) []inspect.Channel {
	var diagnosed, shared, others []inspect.Channel
	for _, c := range r.Channels {
		_, isPrivate := c.Owner()
		switch {
		case slices.ContainsFunc(r.Diagnoses, func(d inspect.Diagnosis) bool {
			return slices.Contains(d.Channels, c.ID)
		}):
			diagnosed = append(diagnosed, c)
		case !isPrivate:
			shared = append(shared, c)
		default:
			others = append(others, c)
		}
	}
	if !detail {
		return append(diagnosed, shared...)
	}
	return slices.Concat(diagnosed, shared, others, r.Inherited)
}

func channelTable(channels []inspect.Channel) view.Table {
	t := view.Table{Title: "Its channels", Columns: []view.Column{
		{Title: "channel", Key: true},
		{Title: "written by", Key: true},
		{Title: "read by", Key: true},
		{Title: "queued", Right: true, Key: true},
		{Title: "capacity", Right: true, Key: true},
		{Title: "state", Key: true},
	}}
	for _, c := range channels {
		name := c.ID
		if c.Path != "" {
			name = c.Path
		}
		queued, capacity := "-", "-"
		if c.Queued >= 0 {
			queued = strconv.Itoa(c.Queued)
		}
		if c.Capacity > 0 {
			capacity = strconv.Itoa(c.Capacity)
		}
		t.Append(name, holders(c.Writers, "writing"), holders(c.Readers, "reading"),
			queued, capacity, channelState(c))
	}
	return t
}

func channelState(c inspect.Channel) string {
	switch {
	case c.Full:
		return "FULL"
	case c.NoReader:
		return "NO READER"
	case c.NoWriter:
		return "NO WRITER"
	}
	return "-"
}

// holders describes the processes that hold one end of a channel, as in "4711 cat fd 1 (writing)".
// In this example, word is "writing". It stands behind a process that waits at that end.
func holders(list []inspect.Holder, word string) string {
	if len(list) == 0 {
		return "-"
	}
	var texts []string
	for _, h := range list {
		text := fmt.Sprintf("%d %s fd %d", h.PID, h.Command, h.FD)
		switch {
		case h.Waits:
			text += " (" + word + ")"
		case h.NonBlocking:
			text += " (non-blocking)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}
