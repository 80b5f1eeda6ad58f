package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// metricWall asks for a verdict by the clock.
const metricWall = "wall"

// programFlags are those of two commands that are no builds of pipebench.
type programFlags struct {
	stdin     string
	counts    bool
	drive     bool
	different bool
}

func (f *programFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.stdin, "stdin", "", "a file that both commands read as standard input")
	flags.BoolVar(&f.counts, "counts", false,
		"count calls and bytes alone, which a busy machine does not change")
	flags.BoolVar(&f.drive, "drive", false,
		"the commands are servers (MCP, LSP, JSON-RPC or lines): compare the time per message")
	flags.BoolVar(&f.different, "allow-different-output", false,
		"compare commands that do not print the same, or exit differently")
}

// commandWords splits a command as a shell does. A word that names a file is the whole command,
// whatever is in it.
func commandWords(word string) ([]string, error) {
	if _, err := os.Stat(word); err == nil {
		return []string{word}, nil
	}
	p := shellwords.NewParser()
	words, err := p.Parse(word)
	if err == nil && p.Position >= 0 {
		err = fmt.Errorf("more than one command, or a redirection: "+
			"have a shell run it, as in \"sh -c '%s'\"", word)
	}
	return words, err
}

// command returns the words of a command with those that both commands get.
func (f *programFlags) command(word string, more []string) ([]string, error) {
	words, err := commandWords(word)
	if err != nil || len(words) == 0 {
		return nil, usage(fmt.Errorf("%q is no command: %w", word, err))
	}
	b, err := turns.Find(words[0])
	if err != nil {
		return nil, err
	}
	words[0] = b.Path
	return append(words, more...), nil
}

// comparePrograms compares two commands by what their starts come to.
func (f *compareFlags) comparePrograms(
	cmd *cobra.Command, oldWord, newWord string, more []string,
) error {
	old, err := f.command(oldWord, more)
	if err != nil {
		return err
	}
	new, err := f.command(newWord, more)
	if err != nil {
		return err
	}
	isBench := func(word string) bool {
		return strings.HasPrefix(word, "-test.bench") || strings.HasPrefix(word, "--test.bench")
	}
	if slices.ContainsFunc(old, isBench) && slices.ContainsFunc(new, isBench) {
		return f.compareGoTests(cmd, old, new)
	}
	wall := slices.Contains(f.metrics, metricWall)
	plan := turns.Programs{
		Wall:    wall,
		Counts:  f.counts,
		Outputs: f.different,
		Servers: f.drive,
		MaxTime: f.maxTime,
		Seed:    f.seed,
	}
	if f.drive {
		err := refuseFlags(cmd, []string{"stdin", "counts"}, "is not for servers")
		if err != nil {
			return err
		}
		plan.Old, plan.New = driven(old), driven(new)
	} else {
		folder, err := os.MkdirTemp("", "pipebench-compare-")
		if err != nil {
			return fmt.Errorf("a folder for what the commands print: %w", err)
		}
		defer os.RemoveAll(folder)
		plan.Old = turns.NewFilter(old, f.stdin, folder)
		plan.New = turns.NewFilter(new, f.stdin, folder)
	}
	progress := f.progress(cmd.ErrOrStderr())
	plan.Observe = func(pair int, took time.Duration) {
		progress.step(fmt.Sprintf("pair %d: %s", pair, took.Round(time.Millisecond)))
	}
	pairs, err := plan.Compare(cmd.Context())
	progress.stop()
	if err != nil && len(pairs.Old) == 0 {
		return err
	}
	figures := pairs.Figures(wall)
	findings := turns.Findings(figures, []string{newWord})
	if saveErr := f.saveFindings(cmd, findings); saveErr != nil {
		return errors.Join(err, saveErr)
	}
	if showErr := f.showFigures(cmd, pairs, figures, findings); showErr != nil || err != nil {
		return errors.Join(err, showErr)
	}
	return f.judgeFigures(pairs, figures)
}

// driven returns what starts a server, speaks to it, and takes its time per message.
func driven(argv []string) turns.Starter {
	const size = 4 << 10 // bytes of a message
	return func(ctx context.Context) (turns.Start, error) {
		d, err := drive.Open(ctx, drive.Options{Command: argv, Budget: 200 * time.Millisecond})
		if err != nil {
			return turns.Start{}, err
		}
		defer d.Close()
		var s turns.Start
		_, err = d.Sweep(ctx, []int{size}, func(line results.Line) error {
			t, ok := line.(results.Target)
			if !ok || t.Size != size {
				return nil
			}
			if !t.Served() {
				return fmt.Errorf("%s: a message of %s: %s",
					argv[0], results.FormatSize(size), view.VerdictText(t.Verdict))
			}
			s.Wall = stat.MedianTime(t.Samples)
			s.CPU = serverCPU(t.Samples)
			return nil
		})
		return s, err
	}
}

// serverCPU returns the processor time of a server per message; 0 where it is not known.
func serverCPU(samples []results.Sample) float64 {
	var spent, messages int64
	for _, s := range samples {
		if s.Reader.CPUNS == nil {
			return 0
		}
		spent += *s.Reader.CPUNS
		messages += s.Messages
	}
	if messages == 0 {
		return 0
	}
	return float64(spent) / float64(messages)
}

// saveFindings keeps the findings in a folder, if one was named.
func (f *compareFlags) saveFindings(cmd *cobra.Command, findings []results.Finding) error {
	if f.out == "" {
		return nil
	}
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	defer s.progress.stop()
	for _, finding := range findings {
		finding.Run = s.run
		finding.Time = time.Now().UTC()
		if err := s.Write(finding); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	if s.dir != "" {
		f.say(cmd, "pipebench: saved in %s: %s", s.dir, recordsFile)
	}
	return s.Close()
}

// showFigures prints the answer first, then a table.
func (f *compareFlags) showFigures(
	cmd *cobra.Command, pairs turns.Pairs, figures []turns.Figure, findings []results.Finding,
) error {
	if f.format == view.FormatJSON {
		return view.WriteJSON(cmd.OutOrStdout(), &results.Set{Findings: findings})
	}
	t := view.Table{Columns: []view.Column{
		{Title: "figure", Key: true},
		{Title: "old", Right: true, Key: true},
		{Title: "new", Right: true, Key: true},
		{Title: "change", Right: true},
		{Title: "verdict", Style: view.Verdict, Key: true},
	}}
	for _, figure := range figures {
		verdict := string(figure.Verdict)
		if figure.Informs {
			verdict = "informs"
		}
		t.Append(figure.Name, figure.Format(figure.Old), figure.Format(figure.New),
			figure.Change(), verdict)
	}
	page := view.Page{Verdict: programAnswer(pairs, figures), Tables: []view.Table{t}}
	if n := len(pairs.Old); n > 0 {
		page.Notes = append(page.Notes, results.FormatCount(n, "pair")+" of starts in turns; "+
			"the intervals hold wherever the pairs stop, but for one time in a hundred")
	}
	if len(pairs.CountedOld) > 0 && !pairs.CountedOld[0].Counted && !f.drive {
		page.Notes = append(page.Notes, "counts of calls are unsupported: this system has none")
	}
	return page.Write(cmd.OutOrStdout(), f.format, viewOptions(cmd, f.detail))
}

// programAnswer says first whether the commands do the same, then what was judged.
func programAnswer(pairs turns.Pairs, figures []turns.Figure) string {
	var parts []string
	if pairs.Different != "" {
		parts = append(parts, pairs.Different)
		if len(pairs.Old) == 0 {
			parts = append(parts, "times are not compared (--allow-different-output does)")
		}
	}
	calls := turns.Calls(figures)
	if calls != "" {
		parts = append(parts, "the new one makes "+calls)
	}
	same := 0
	for _, figure := range figures {
		switch {
		case figure.Informs:
		case figure.Unit != "ns" && figure.Verdict == stat.NoChange:
			same++
		case figure.Unit != "ns":
		case figure.Verdict == stat.NoChange:
			parts = append(parts, fmt.Sprintf("%s did not change by more than %s",
				figure.Name, results.FormatPercent(100*figure.Within())))
		case figure.Verdict == stat.TooNoisy && figure.Ratio == 0:
			parts = append(parts, fmt.Sprintf("%s: %d starts of each are too few for a verdict, "+
				"which takes %d", figure.Name, len(figure.Old), stat.LeastPairs))
		case figure.Verdict == stat.TooNoisy:
			parts = append(parts, fmt.Sprintf("%s cannot be told: %s",
				figure.Name, figure.Change()))
		default:
			parts = append(parts, fmt.Sprintf("%s: the new one is %s, %s",
				figure.Name, figure.Verdict, figure.Change()))
		}
	}
	if calls == "" && same > 0 {
		parts = append(parts, "reads and writes are the same")
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing could be compared")
	}
	text := strings.Join(parts, "; ") + "."
	return strings.ToUpper(text[:1]) + text[1:]
}

// judgeFigures returns what the figures mean for the exit code: the time decides, or what is
// counted if nothing else was asked for.
func (f *compareFlags) judgeFigures(pairs turns.Pairs, figures []turns.Figure) error {
	if pairs.Different != "" && !f.different {
		return &statusError{exitInconclusive, errors.New(pairs.Different)}
	}
	judged := 0
	for _, figure := range figures {
		if figure.Informs || (figure.Unit != "ns") != f.counts {
			continue
		}
		judged++
		limit := results.FormatPercent(100 * f.failAbove)
		if f.failAbove >= 0 && isWorse(figure, f.failAbove) {
			err := fmt.Errorf("worse by more than %s: %s, %s", limit, figure.Name, figure.Change())
			return &statusError{exitGate, err}
		}
		open := figure.Ratio == 0 && figure.Verdict == stat.TooNoisy
		if f.failAbove >= 0 && figure.Unit == "ns" && (open || figure.Hi-1 > f.failAbove) {
			err := fmt.Errorf("inconclusive: %s may be worse by more than %s: give it more time "+
				"(--max-time)", figure.Name, limit)
			return &statusError{exitInconclusive, err}
		}
		if f.requireVerdict && figure.Verdict == stat.TooNoisy {
			err := fmt.Errorf("%s has no verdict: give it more time (--max-time)", figure.Name)
			return &statusError{exitInconclusive, err}
		}
	}
	if judged == 0 && (f.failAbove >= 0 || f.requireVerdict) {
		return &statusError{exitInconclusive, errors.New("nothing could be judged here")}
	}
	return nil
}

// isWorse reports whether a figure is worse by more than a share of the old one. A ratio of 0 is
// that of a count that there was none of.
func isWorse(figure turns.Figure, share float64) bool {
	if figure.Verdict != stat.Slower && figure.Verdict != stat.More {
		return false
	}
	return figure.Ratio == 0 || figure.Ratio-1 > share
}

// compareGoTests compares two Go test binaries by their benchmarks.
func (f *compareFlags) compareGoTests(cmd *cobra.Command, old, new []string) error {
	unused := slices.Concat([]string{"out"}, recordFlags, ownFlags)
	if err := refuseFlags(cmd, unused, "is not for Go tests"); err != nil {
		return err
	}
	o := stat.CompareOptions{Metrics: f.metrics}
	compare := func(before, after string) (*stat.Comparison, error) {
		one, err := stat.ReadDatasetFrom("old", strings.NewReader(before))
		if err != nil {
			return nil, err
		}
		other, err := stat.ReadDatasetFrom("new", strings.NewReader(after))
		if err != nil {
			return nil, err
		}
		return stat.CompareTextPairs(one, other, o), nil
	}
	progress := f.progress(cmd.ErrOrStderr())
	plan := turns.GoTests{Old: old, New: new, MaxTime: f.maxTime, Seed: f.seed}
	plan.Observe = func(pair int, took time.Duration) {
		progress.step(fmt.Sprintf("pair %d: %s", pair, took.Round(time.Millisecond)))
	}
	plan.Decided = func(before, after string) bool {
		c, err := compare(before, after)
		return err != nil || c.Pairs >= stat.LeastPairs && c.Conclusive()
	}
	before, after, err := plan.Run(cmd.Context())
	progress.stop()
	if err != nil {
		return err
	}
	c, err := compare(before, after)
	if err != nil {
		return err
	}
	c.Old, c.New = old[0], new[0]
	if err := view.WriteComparison(
		cmd.OutOrStdout(), c, f.format, viewOptions(cmd, f.detail)); err != nil {
		return err
	}
	return f.judgeChanges(c)
}
