package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/inspect"
	"github.com/pipebench/pipebench/syspipe/probe"
)

// probeFlags are what probe was asked for, as it was typed.
type probeFlags struct {
	pipes, steps, against []string
	timeout               time.Duration
	shared                sharedFlags
}

func newProbe() *cobra.Command {
	f := &probeFlags{}
	cmd := &cobra.Command{
		Use:   "probe [FILE...]",
		Short: "Find by experiment what this system's pipes really do",
		Long: `Find by experiment what the pipes of this system do, in under ten seconds: how much they
hold for writes of which size, what can be set, when a write is taken in part, when writers
come between each other's bytes, what is left when a side leaves, and how many bytes the
classic deadlock takes. Each finding is laid beside the documented rule of this system.

Nothing is assumed, and each experiment has a process of its own and a deadline: one that
hangs is a finding. With files of earlier probes, show the findings in them and probe
nothing. With --against, other machines' files and the documented rules of linux, macos,
freebsd and windows stand beside it.`,
		Example: `  pipebench probe
  pipebench probe --pipe anonymous --step fill,poll
  pipebench probe --against macos,windows
  pipebench probe --against other-machine/results.jsonl
  pipebench probe --format csv results.jsonl`,
		RunE: func(cmd *cobra.Command, files []string) error { return f.run(cmd, files) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.pipes, "pipe", nil, "kinds of pipe (default each that this system has)")
	flags.StringSliceVar(&f.steps, "step", nil, "experiments, of "+strings.Join(probe.Steps(), ", ")+" (default all)")
	flags.StringSliceVar(&f.against, "against", nil, "compare with: result files of other machines, or the documented rules of "+strings.Join(documentedSystems, ", ")+" (default all of them)")
	flags.DurationVar(&f.timeout, "step-timeout", probe.DefaultStepTimeout, "after which an experiment is a finding that it hangs")
	f.shared.register(cmd, "a folder for the files of the probe (default pipebench-out/<time>)")
	noBench(cmd, &f.shared.format)
	return cmd
}

func (f *probeFlags) run(cmd *cobra.Command, files []string) error {
	options, err := f.options()
	if err != nil {
		return usage(err)
	}
	others, systems, err := f.comparedWith()
	if err != nil {
		return err
	}
	if len(files) > 0 {
		set, err := readProbes(files...)
		if err != nil {
			return err
		}
		return f.show(cmd.OutOrStdout(), set, others, systems)
	}
	return f.probe(cmd, options, others, systems)
}

func (f *probeFlags) options() (probe.Options, error) {
	o := probe.Options{StepTimeout: f.timeout}
	for _, name := range f.pipes {
		o.Kinds = append(o.Kinds, syspipe.Kind(name))
	}
	if len(f.steps) > 0 {
		o.Steps = f.steps
	}
	if f.timeout <= 0 {
		return o, fmt.Errorf("--step-timeout %v: want a time above zero", f.timeout)
	}
	return o, o.Validate()
}

// comparedWith reads what --against names: files, and the systems of which the rules are shown. It
// does so before anything is measured in vain.
func (f *probeFlags) comparedWith() (others []*results.Set, systems []string, err error) {
	for _, name := range f.against {
		if slices.Contains(documentedSystems, name) {
			systems = append(systems, name)
			continue
		}
		set, err := readProbes(name)
		if err != nil {
			return nil, nil, fmt.Errorf("--against: %w", err)
		}
		others = append(others, set)
	}
	if len(others) > 0 && len(systems) == 0 {
		systems = documentedSystems
	}
	return others, systems, nil
}

func readProbes(paths ...string) (*results.Set, error) {
	set, err := results.Read(paths...)
	if err != nil {
		return nil, err
	}
	set.Probes = slices.DeleteFunc(set.Probes, func(p results.Probe) bool { return p.Pipe == "" })
	if len(set.Probes) == 0 {
		return nil, fmt.Errorf("no findings of a probe in %s: make some with pipebench probe --out FOLDER", strings.Join(paths, ", "))
	}
	return set, nil
}

// probe makes the experiments, keeps what they find, and shows it. A probe that was interrupted
// shows what it found until then.
func (f *probeFlags) probe(cmd *cobra.Command, o probe.Options, others []*results.Set, systems []string) error {
	return f.shared.measure(cmd, task{
		work: func(ctx context.Context, s *session) error {
			o.Observe = func(p probe.Progress) {
				s.progress.finish(p.Of, fmt.Sprintf("%s %s: %d findings", p.Pipe, p.Step, p.Findings))
			}
			return probe.Run(ctx, o, func(found probe.Finding) error { return s.Write(probeRecord(s.run, found)) })
		},
		show: func(all, own *results.Set) error {
			set := pipeFindings(own, all.Problems)
			if len(set.Probes) == 0 {
				return view.ErrNothing
			}
			return f.show(cmd.OutOrStdout(), set, others, systems)
		},
		gate: func(_ error, own *results.Set) error {
			if probeFailed(pipeFindings(own, nil)) {
				return errors.New("no experiment came to a result")
			}
			return nil
		},
	})
}

// show prints the findings, beside others where that was asked for.
func (f *probeFlags) show(w io.Writer, set *results.Set, others []*results.Set, systems []string) error {
	format := view.Format(f.shared.format)
	if len(f.against) > 0 {
		return view.RulesBeside(append([]*results.Set{set}, others...), documented(systems)).Write(w, format)
	}
	if format == view.FormatTable || format == view.FormatMarkdown {
		return view.RulesPage(set).Write(w, format)
	}
	return view.Write(w, set, format, view.Options{})
}

// noteCapacity says what a capacity that is named after another system does not imitate of that
// system's pipes.
func (f *sharedFlags) noteCapacity(cmd *cobra.Command, capacities string) {
	ceiling, lacks, ok := probe.Imitation("darwin")
	if ok && slices.Contains(strings.Split(capacities, ","), "macos") {
		f.say(cmd, "capacity macos is that system's ceiling, %s, on this system's pipe, and no more: %s (documented, not measured here)",
			results.FormatSize(int64(ceiling)), lacks)
	}
}

// documentedSystems are those whose documented rules can stand beside what was measured, by the
// names that people use.
var documentedSystems = []string{"linux", "macos", "freebsd", "windows"}

// documented looks up what the rules of systems say.
func documented(systems []string) []view.DocumentedSystem {
	var out []view.DocumentedSystem
	for _, name := range systems {
		goos := name
		if name == "macos" {
			goos = "darwin"
		}
		s := view.DocumentedSystem{Name: name, Predict: func(step string) (any, bool) { return probe.Predict(goos, step) }}
		for _, r := range probe.Rules(goos) {
			s.Rules = append(s.Rules, view.DocumentedRule{About: r.About, Says: r.Says, Source: r.Source})
		}
		out = append(out, s)
	}
	return out
}

// probeRecord is a finding as the results file keeps it.
func probeRecord(run string, f probe.Finding) results.Probe {
	return results.Probe{
		Kind: results.KindProbe, Run: run, Time: time.Now().UTC(),
		Pipe: string(f.Pipe), Step: f.Step, Value: f.Value, Unit: f.Unit,
		How: f.How, Documented: f.Documented, Agrees: f.Agrees,
	}
}

// pipeFindings returns the part of a set that holds findings on pipes.
func pipeFindings(set *results.Set, problems []results.Problem) *results.Set {
	onPipes := slices.DeleteFunc(slices.Clone(set.Probes), func(p results.Probe) bool { return p.Pipe == "" })
	return &results.Set{Environments: set.Environments, Probes: onPipes, Problems: problems}
}

// probeFailed reports whether no experiment of the set came to a result.
func probeFailed(set *results.Set) bool {
	return !slices.ContainsFunc(set.Probes, func(p results.Probe) bool { return p.Value != "hangs" && p.Value != "fails" })
}

func newInspect() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "inspect PID",
		Short: "Look at the pipes of a process that hangs, and say what is wrong",
		Long: `Look at the pipes and sockets of a live process and its descendants: how full they are,
who holds the other end, who sleeps in a read or a write; and say what follows from it, such
as that both sides are writing and neither reads.

It reads /proc alone, needs no privilege for one's own processes, and does not disturb them.
Linux only.`,
		Example: `  pipebench inspect 4711
  pipebench inspect $(pgrep -n my-server)
  pipebench inspect --format json 4711`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			pid, err := parsePID(args)
			if err != nil {
				return usage(err)
			}
			report, err := inspect.Process(pid)
			if err != nil {
				return err
			}
			return writeInspection(cmd.OutOrStdout(), view.Format(format), report)
		},
	}
	registerFormat(cmd, &format)
	noBench(cmd, &format)
	return cmd
}

func parsePID(args []string) (int, error) {
	if len(args) != 1 {
		return 0, fmt.Errorf("inspect takes one process number, but was given %d arguments", len(args))
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil || pid <= 0 {
		return 0, fmt.Errorf("%q is no process number", args[0])
	}
	return pid, nil
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

// known is a number of bytes, or a dash for the one that stands for none.
func known(n, unknown int) string {
	if n == unknown {
		return "-"
	}
	return strconv.Itoa(n)
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
