package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"
)

// runClaims judges what people say about stdio: by what files hold, or by measuring here.
func (f *probeFlags) runClaims(cmd *cobra.Command, files []string) error {
	selected, err := claims.Select(f.only)
	if err != nil {
		return usage(err)
	}
	if len(files) > 0 {
		set, err := readFiles(cmd, files...)
		if err != nil {
			return err
		}
		if err := f.showClaims(cmd, set, selected); err != nil {
			return err
		}
		return f.judgeClaims(set, selected)
	}
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	measured := s.measure(f.maxTime, func(ctx context.Context) error {
		observe := func(p claims.Progress) {
			if p.Record == nil {
				s.progress.step(p.Claim.ID + ": " + p.Step)
				return
			}
			what := p.Record.ID + ": " + view.VerdictText(p.Record.Verdict)
			s.progress.finish(len(selected), what)
		}
		o := claims.Options{Run: s.run, Seed: f.seed, Only: f.only, Observe: observe}
		return claims.Run(ctx, o, s.keepLine)
	})
	return s.finish(measured, ending{
		show: func(_, own *results.Set) error { return f.showClaims(cmd, own, selected) },
		gate: func(own *results.Set) error {
			if measured != nil { // what was not judged leaves nothing open
				return nil
			}
			return f.judgeClaims(own, selected)
		},
	})
}

// verdictsOf returns the last finding on each claim, judged again by its evidence, in the order of
// the documents. Claims that this version does not know come last.
func verdictsOf(set *results.Set, selected []claims.Claim) []results.Finding {
	last := make(map[string]results.Finding)
	var unknown []results.Finding
	for _, f := range set.FindingsOf(results.AreaClaim) {
		last[f.Name()] = f
		if _, err := claims.Find(f.Name()); err != nil {
			unknown = append(unknown, f)
		}
	}
	var verdicts []results.Finding
	for _, c := range selected {
		if f, ok := last[c.ID]; ok {
			verdicts = append(verdicts, judgedAgain(c, f))
		}
	}
	if len(selected) == len(claims.All()) {
		verdicts = append(verdicts, unknown...)
	}
	return verdicts
}

// judgedAgain applies the rule of this version to the evidence of a finding.
func judgedAgain(c claims.Claim, f results.Finding) results.Finding {
	if f.Evidence == "" {
		return f
	}
	j, err := c.Judge(f.Evidence)
	if err != nil {
		return f // evidence of another version
	}
	again := results.Claim{
		Run: f.Run, Time: f.Time, ID: c.ID, Seed: c.Seed, Claim: c.Text,
		Verdict: j.Verdict, Figure: j.Figure, Why: j.Why, Evidence: f.Evidence,
	}
	return again.Finding()
}

// showClaims prints the verdicts; of one claim, with --detail, all that there is to say.
func (f *probeFlags) showClaims(cmd *cobra.Command, set *results.Set,
	selected []claims.Claim) error {
	verdicts := verdictsOf(set, selected)
	if len(verdicts) == 0 {
		return view.ErrNothing
	}
	if f.detail && len(selected) == 1 && f.format == view.FormatTable {
		return explain(cmd.OutOrStdout(), selected[0], verdicts[0])
	}
	return f.showArea(cmd, set, verdicts)
}

// explain writes all that there is to say of one verdict.
func explain(w io.Writer, c claims.Claim, f results.Finding) error {
	evidence, err := json.MarshalIndent(f.Evidence, "", "  ")
	if err != nil {
		return fmt.Errorf("write evidence of %s: %w", c.ID, err)
	}
	lines := []string{
		"claim: " + c.Text,
		fmt.Sprintf("source: %s, %q", view.SourceTitle(c.Seed), c.Where),
		"rule: " + c.Rule,
		"found: " + f.Found,
	}
	if unsure(c, f) {
		lines = append(lines, "how sure: the intervals leave room for another verdict; "+
			"run it again on an idle machine")
	}
	lines = append(lines, "repeat: pipebench probe --claims --detail --only "+c.ID)
	_, err = fmt.Fprintf(w, "%s: %s\n\n%s\nevidence: %s\n", c.ID,
		view.VerdictText(string(f.Verdict)), strings.Join(view.Wrap(lines), "\n"), evidence)
	return err
}

// unsure tells from the evidence whether a verdict may change by itself.
func unsure(c claims.Claim, f results.Finding) bool {
	j, err := c.Judge(f.Evidence)
	return f.Evidence != "" && err == nil && j.Unsure
}

// judgeClaims gives the exit code: with --require-verdict no verdict may be open.
func (f *probeFlags) judgeClaims(set *results.Set, selected []claims.Claim) error {
	if !f.verdict {
		return nil
	}
	var open []string
	for _, v := range verdictsOf(set, selected) {
		at := slices.IndexFunc(selected, func(c claims.Claim) bool { return c.ID == v.Name() })
		if at >= 0 && unsure(selected[at], v) {
			open = append(open, v.Name())
		}
	}
	if len(open) == 0 {
		return nil
	}
	err := errors.New(strings.Join(open, ", ") + ": inconclusive; run again on an idle machine")
	return &statusError{exitInconclusive, err}
}
