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
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"
	"github.com/pipebench/pipebench/syspipe/script"
)

// claimsFlags are what claims was asked for, as it was typed.
type claimsFlags struct {
	only           []string
	explain        string
	against        string
	requireVerdict bool
	sharedFlags
}

func (f *claimsFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.only, "only", nil, "claims by ID, or all of a source by its number, such as 003,001-exact (see list)")
	flags.StringVar(&f.explain, "explain", "", "judge one claim, and print its rule, all of its evidence, and how to repeat it")
	flags.StringVar(&f.against, "against", "", "compare with this file: exit 3 where a verdict differs")
	flags.BoolVar(&f.detail, "detail", false, "print every claim, its figure and the reason, not what fits a screen")
	flags.BoolVar(&f.requireVerdict, "require-verdict", false, "exit 4 if the figures leave a verdict open; with --against, if such a one changed or one is missing")
	f.sharedFlags.register(cmd, 0, stopAfter)
	names := stat.Map(claims.All(), func(c claims.Claim) string { return c.ID + "\t" + c.Text })
	complete(cmd, map[string][]string{"only": names, "explain": names})
}

func (f *claimsFlags) run(cmd *cobra.Command, files []string) {
	if f.explain != "" {
		demand(len(f.only) == 0, usage(errors.New("--explain is about one claim: leave --only out")))
		_, err := claims.Find(f.explain)
		script.Check(usage(err))
		f.only = []string{f.explain}
	}
	selected, err := claims.Select(f.only)
	script.Check(usage(err))
	var before *results.Set
	if f.against != "" {
		before = script.Must(readResults(cmd.Context(), f.against))
		demand(len(before.Claims) > 0,
			fmt.Errorf("%s holds no verdicts: make some with pipebench claims", f.against))
	}
	t := task{
		maxTime: f.maxTime,
		work: func(ctx context.Context, s *session) {
			observe := func(p claims.Progress) {
				if p.Record == nil {
					s.progress.step(p.Claim.ID + ": " + p.Step)
					return
				}
				s.progress.finish(len(selected), p.Record.ID+": "+view.VerdictText(p.Record.Verdict))
			}
			o := claims.Options{Run: s.run, Seed: f.seed, Only: f.only, Observe: observe}
			script.Check(claims.Run(ctx, o, s.Write))
		},
		show: func(_, own *results.Set) {
			script.Check(f.show(cmd.OutOrStdout(), own, viewOptions(cmd, f.detail)))
		},
		gate: func(measured error, own *results.Set) {
			switch {
			case measured != nil: // what was not judged is not compared
			case before != nil:
				f.compare(cmd, before, own)
			case f.requireVerdict:
				open := stat.Map(stat.Filter(f.latest(own), unsure), func(r results.Claim) string { return r.ID })
				demand(len(open) == 0,
					&statusError{exitInconclusive, fmt.Errorf("the figures leave open %s: run again when the machine is quiet", strings.Join(open, ", "))})
			}
		},
	}
	if len(files) == 0 {
		f.measure(cmd, t)
		return
	}
	set := script.Must(readFiles(cmd, files...))
	t.show(nil, set)
	t.gate(nil, set)
}

// latest returns the last verdict on each claim that was asked for, in the order of the documents.
// Claims that this version does not know come last.
func (f *claimsFlags) latest(set *results.Set) []results.Claim {
	ids := stat.Map(claims.All(), func(c claims.Claim) string { return c.ID })
	var out []results.Claim
	for _, same := range stat.GroupBy(set.Claims, func(r results.Claim) string { return r.ID }) {
		r := same[len(same)-1]
		if !slices.Contains(ids, r.ID) {
			ids = append(ids, r.ID)
		}
		if len(f.only) == 0 || slices.Contains(f.only, r.ID) || slices.Contains(f.only, r.Seed) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b results.Claim) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return out
}

// show writes the verdicts in the format that was asked for.
func (f *claimsFlags) show(w io.Writer, set *results.Set, o view.Options) error {
	verdicts := f.latest(set)
	switch {
	case len(verdicts) == 0:
		return view.ErrNothing
	case f.explain != "" && f.format != view.FormatJSON:
		return explain(w, verdicts[0])
	}
	return view.WriteClaims(w, f.format, &results.Set{Environments: set.Environments, Claims: verdicts}, o)
}

// explain writes all that there is to say of one verdict.
func explain(w io.Writer, r results.Claim) error {
	evidence, err := json.MarshalIndent(r.Evidence, "", "  ")
	if err != nil {
		return fmt.Errorf("write evidence of %s: %w", r.ID, err)
	}
	lines := []string{"claim: " + r.Claim}
	if c, err := claims.Find(r.ID); err == nil {
		lines = append(lines, fmt.Sprintf("source: %s, %q", view.SourceTitle(c.Seed), c.Where), "rule: "+c.Rule)
	}
	if r.Figure != "" {
		lines = append(lines, "figure: "+r.Figure)
	}
	lines = append(lines, "why: "+r.Why)
	if unsure(r) {
		lines = append(lines, "how sure: the intervals leave room for another verdict; run it again when the machine is quiet")
	}
	lines = append(lines, "repeat: pipebench claims --explain "+r.ID)
	_, err = fmt.Fprintf(w, "%s: %s\n\n%s\nevidence: %s\n", r.ID, view.VerdictText(r.Verdict), strings.Join(view.Wrap(lines), "\n"), evidence)
	return err
}

// unsure tells from a record's evidence whether its verdict may change by itself.
func unsure(r results.Claim) bool {
	c, err := claims.Find(r.ID)
	if err != nil || len(r.Evidence) == 0 {
		return false
	}
	j, err := c.Judge(r.Evidence)
	return err == nil && j.Unsure
}

// A change is a claim whose verdict is another than it was.
type change struct {
	id, was, is string
	why         string
	kind        changeKind
}

// A changeKind is what a change means for the gate.
type changeKind string

const (
	gate      changeKind = "changed"        // the gate fails
	byChance  changeKind = "not sure"       // the intervals left room for it
	elsewhere changeKind = "not comparable" // one of the two could not test it
	missing   changeKind = "missing"        // it was not judged this time
)

// compare is a script. It holds verdicts against earlier ones.
func (f *claimsFlags) compare(cmd *cobra.Command, before, now *results.Set) {
	w := cmd.OutOrStdout()
	changes := changesOf(f.latest(before), f.latest(now))
	if len(changes) == 0 {
		script.Must(fmt.Fprintf(w, "\nno verdict changed against %s\n", f.against))
		return
	}
	t := view.Table{Title: "Against " + f.against, Columns: view.Columns("claim", "was", "is", "change", "why")}
	ids := map[changeKind][]string{}
	for _, c := range changes {
		t.Append(c.id, view.VerdictText(c.was), view.VerdictText(c.is), string(c.kind), c.why)
		ids[c.kind] = append(ids[c.kind], c.id)
	}
	if readable(f.format) {
		fmt.Fprintln(w)
		script.Check(t.Write(w, f.format, viewOptions(cmd, f.detail)))
	}
	open := stat.Filter(changes, func(c change) bool { return c.kind == byChance || c.kind == missing })
	demand(len(ids[gate]) == 0,
		&statusError{exitGate, fmt.Errorf("%d of the verdicts in %s changed: %s", len(ids[gate]), f.against, strings.Join(ids[gate], ", "))})
	of := stat.Map(open, func(c change) string { return c.id })
	demand(!f.requireVerdict || len(open) == 0,
		&statusError{exitInconclusive, fmt.Errorf("no verdict on %s: run again when the machine is quiet", strings.Join(of, ", "))})
}

func changesOf(before, now []results.Claim) []change {
	var out []change
	for _, was := range before {
		c := change{id: was.ID, was: was.Verdict, is: "-", kind: missing}
		i := slices.IndexFunc(now, func(r results.Claim) bool { return r.ID == was.ID })
		if i >= 0 {
			c.is, c.why = now[i].Verdict, now[i].Why
		}
		switch {
		case i < 0:
		case c.is == c.was:
			continue
		case c.is == claims.NotTestable || c.was == claims.NotTestable:
			c.kind = elsewhere
		case unsure(was) || unsure(now[i]):
			c.kind = byChance
		default:
			c.kind = gate
		}
		out = append(out, c)
	}
	return out
}
