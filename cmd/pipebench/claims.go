package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"
)

// runClaims judges what people say about stdio: by what files hold, or by measuring here what the
// folder of the run does not hold yet. What is behind "--" is the command of an MCP server to ask.
func (f *probeFlags) runClaims(cmd *cobra.Command, args []string) error {
	files, server := beforeAndAfterDash(cmd, args)
	selected, err := claims.Select(f.only)
	if err != nil {
		return usage(err)
	}
	if len(files) > 0 {
		set, err := readFiles(cmd, files...)
		if err != nil {
			return err
		}
		verdicts := append(claims.Judge(set, selected), unknownClaims(set, f.only)...)
		if err := f.showClaims(cmd, set, selected, verdicts); err != nil {
			return err
		}
		return f.judgeClaims(verdicts)
	}
	set, err := f.earlier(cmd.Context())
	if err != nil {
		return err
	}
	s, err := openSession(cmd, &f.sharedFlags)
	if err != nil {
		return err
	}
	set.Add(s.env)
	var verdicts []results.Finding
	measured := s.measure(f.maxTime, func(ctx context.Context) error {
		var err error
		verdicts, err = f.measureClaims(ctx, s, selected, set, server)
		return err
	})
	return s.finish(measured, ending{
		show: func(_, own *results.Set) error {
			return f.showClaims(cmd, own, selected, verdicts)
		},
		gate: func(*results.Set) error {
			if measured != nil { // what was not judged leaves nothing open
				return nil
			}
			return f.judgeClaims(verdicts)
		},
	})
}

// earlier reads what the folder of the run holds already.
func (f *probeFlags) earlier(ctx context.Context) (*results.Set, error) {
	path := filepath.Join(f.out, recordsFile)
	if _, err := os.Stat(path); f.out == "" || err != nil {
		return &results.Set{}, nil
	}
	return readResults(ctx, path)
}

// measureClaims finds out what the set lacks, and keeps that and the verdicts.
func (f *probeFlags) measureClaims(ctx context.Context, s *session, selected []claims.Claim,
	set *results.Set, server []string) ([]results.Finding, error) {
	o := claims.Options{Run: s.run, Seed: f.seed, Server: server}
	o.Observe = func(step string, done, of int) {
		s.progress.step(fmt.Sprintf("%d of %d: %s", done+1, of, step))
	}
	failed := claims.Measure(ctx, selected, set, o, func(l results.Line) error {
		set.Add(l)
		return s.keepLine(l)
	})
	verdicts := claims.Judge(set, selected)
	for _, v := range verdicts {
		s.progress.finish(len(selected), v.Name()+": "+view.VerdictText(string(v.Verdict)))
		failed = errors.Join(failed, s.keepFinding(v))
	}
	return verdicts, failed
}

// unknownClaims returns the last finding on each claim that this version does not know, if all
// claims were asked for.
func unknownClaims(set *results.Set, only []string) []results.Finding {
	var unknown []results.Finding
	for _, f := range set.FindingsOf(results.AreaClaim) {
		if _, err := claims.Find(f.Name()); err == nil || len(only) > 0 {
			continue
		}
		unknown = slices.DeleteFunc(unknown, func(u results.Finding) bool { return u.ID == f.ID })
		unknown = append(unknown, f)
	}
	return unknown
}

// showClaims prints the verdicts; of one claim, with --detail, all that there is to say.
func (f *probeFlags) showClaims(cmd *cobra.Command, set *results.Set, selected []claims.Claim,
	verdicts []results.Finding) error {
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
		"claim: " + c.Says,
		fmt.Sprintf("source: %s, %q", view.SourceTitle(c.Document()), c.Where),
		"judged by: " + strings.Join(c.Needs, ", "),
		"found: " + f.Found,
	}
	if claims.Unsure(f) {
		lines = append(lines, "how sure: the intervals leave room for another verdict; "+
			"run it again on an idle machine")
	}
	lines = append(lines, "repeat: pipebench probe --claims --detail --only "+c.ID)
	_, err = fmt.Fprintf(w, "%s: %s\n\n%s\nevidence: %s\n", c.ID,
		view.VerdictText(string(f.Verdict)), strings.Join(view.Wrap(lines), "\n"), evidence)
	return err
}

// judgeClaims gives the exit code: with --require-verdict no verdict may be open.
func (f *probeFlags) judgeClaims(verdicts []results.Finding) error {
	if !f.verdict {
		return nil
	}
	var open []string
	for _, v := range verdicts {
		if claims.Unsure(v) {
			open = append(open, v.Name())
		}
	}
	if len(open) == 0 {
		return nil
	}
	err := errors.New(strings.Join(open, ", ") + ": inconclusive; run again on an idle machine")
	return &statusError{exitInconclusive, err}
}
