package main

import (
	"context"
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
	return f.do(cmd, files, task{
		limit: f.maxTime,
		measure: func(ctx context.Context, s *session) error {
			return s.measureClaims(ctx, selected, server)
		},
		show: func(found *results.Set) error {
			if len(files) > 0 {
				return f.showFindings(cmd, found, claims.Judge(found, f.judgedIn(found, selected)))
			}
			return f.showFindings(cmd, found, found.FindingsOf(results.AreaClaim))
		},
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
