package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"
)

// runClaims judges sentences that people say about stdio. It judges by the records in the named
// files or, without files, by measuring. The words after "--" are the command of an MCP server to
// check.
func (f *probeFlags) runClaims(cmd *cobra.Command, args []string) error {
	files, server := beforeAndAfterDash(cmd, args)
	asked := len(f.only)
	f.tellConstants(cmd)
	if asked > 0 && len(f.only) == 0 {
		return nil
	}
	selected, err := claims.Select(f.only)
	if err != nil {
		return usageError(err)
	}
	verdictsIn := func(found *results.Set) []results.Finding {
		if len(files) > 0 {
			return claims.Judge(found, f.judgedIn(found, selected))
		}
		return found.FindingsOf(results.AreaClaim)
	}
	return f.do(cmd, files, task{
		limit: f.maxTime,
		measure: func(ctx context.Context, s *session) error {
			return s.measureClaims(ctx, selected, server)
		},
		show: func(found *results.Set) error {
			return f.showClaims(cmd, found, selected, server, verdictsIn(found))
		},
		gate: func(found *results.Set) error { return f.judgeClaims(verdictsIn(found)) },
	})
}

// tellConstants prints the sentences of --only that need no measurement, with what the guide says
// of them, and takes them out of --only.
func (f *probeFlags) tellConstants(cmd *cobra.Command) {
	guide, _ := guideFiles.ReadFile("docs/claims.md") // no error: the file is embedded
	w := cmd.OutOrStdout()
	if !isReadable(f.format) {
		w = cmd.ErrOrStderr()
	}
	f.only = slices.DeleteFunc(f.only, func(id string) bool {
		_, row, found := strings.Cut(string(guide), "\n| "+id+" | ")
		if !found || !strings.Contains(id, "-") { // 000 is a document
			return false
		}
		row, _, _ = strings.Cut(row, " |\n")
		writeNotice(w, id+": "+row)
		return true
	})
}

// judgedIn returns the claims to judge by the records of a file: those that the file has verdicts
// on, or all that are selected if it has none or --only names them.
func (f *probeFlags) judgedIn(found *results.Set, selected []claims.Claim) []claims.Claim {
	verdicts := found.FindingsOf(results.AreaClaim)
	if len(verdicts) == 0 || len(f.only) > 0 {
		return selected
	}
	return slices.DeleteFunc(slices.Clone(selected), func(c claims.Claim) bool {
		isIt := func(v results.Finding) bool { return v.Name() == c.ID }
		return !slices.ContainsFunc(verdicts, isIt)
	})
}

// measureClaims judges the selected claims, which are sentences about pipes. Before that, it
// measures what is needed for a verdict and is not yet in the file of results.
func (s *session) measureClaims(
	ctx context.Context, selected []claims.Claim, server []string,
) error {
	set, err := s.read()
	if err != nil {
		return err
	}
	o := claims.Options{Run: s.run, Seed: s.flags.seed, Server: server}
	o.Observe = func(step string, done, total int) {
		s.progress.step(fmt.Sprintf("%d of %d: %s", done+1, total, step))
	}
	err = claims.Measure(ctx, selected, set, o, func(line results.Line) error {
		set.Add(line)
		return s.keep(line)
	})
	for _, found := range claims.Judge(set, selected) { // even if not all could be measured
		verdict := view.VerdictText(string(found.Verdict))
		s.progress.finish(len(selected), found.Name()+": "+verdict)
		err = errors.Join(err, s.keep(found))
	}
	return err
}

// showClaims prints the verdict on each claim. For a single claim with --detail, it prints
// everything that is known about the claim.
func (f *probeFlags) showClaims(
	cmd *cobra.Command, set *results.Set, selected []claims.Claim, server []string,
	verdicts []results.Finding,
) error {
	if len(verdicts) == 0 {
		return view.ErrNothing
	}
	if f.detail && len(selected) == 1 && f.format == view.FormatTable {
		return explain(cmd, selected[0], verdicts[0], server)
	}
	return f.showFindings(cmd, set, verdicts)
}

func explain(
	cmd *cobra.Command, c claims.Claim, verdict results.Finding, server []string,
) error {
	evidence, err := json.MarshalIndent(verdict.Evidence, "", "  ")
	if err != nil {
		return fmt.Errorf("write evidence of %s: %w", c.ID, err)
	}
	lines := []string{
		"claim: " + c.Says,
		fmt.Sprintf("source: %s, %q", c.Source(), c.Where),
		"judged by: " + strings.Join(c.Needs, ", "),
		"found: " + verdict.Found,
	}
	if claims.Unsure(verdict) {
		lines = append(lines, "how sure: the intervals leave room for another verdict; "+
			"run it again on an idle machine")
	}
	repeat := []string{"pipebench", "probe", "--claims", "--detail", "--only", c.ID}
	if len(server) > 0 {
		repeat = append(append(repeat, "--"), server...)
	}
	lines = append(lines, "repeat: "+commandLine(repeat))
	text := viewOptions(cmd, true).Wrap(strings.Join(lines, "\n"))
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n\n%s\nevidence: %s\n",
		c.ID, view.VerdictText(string(verdict.Verdict)), text, evidence)
	return err
}

// judgeClaims returns an error if --require-verdict was given and a verdict is uncertain.
func (f *probeFlags) judgeClaims(verdicts []results.Finding) error {
	if !f.requireVerdict {
		return nil
	}
	var unsure []string
	for _, v := range verdicts {
		if claims.Unsure(v) {
			unsure = append(unsure, v.Name())
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	err := errors.New(strings.Join(unsure, ", ") + ": inconclusive; run again on an idle machine")
	return &statusError{exitInconclusive, err}
}
