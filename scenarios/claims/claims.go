// Package claims judges what five documents on stdio transports say, by measuring it on the machine
// at hand.
//
//	func main() {
//		bench.Worker()
//		err := claims.Run(ctx, claims.Options{Run: run}, func(l results.Line) error { … })
//	}
//
// A [Claim] is one checkable sentence, in our words. Its experiment gathers evidence, and its rule
// makes a verdict of the evidence: a pure function, written down in [Claim.Rule] for people, and
// tested with evidence that makes it go the other way. The verdicts:
//
//	holds              as the document says it, here
//	refuted            not so, here
//	depends            so in some of the cases that the claim covers; the reason names them
//	not-testable-here  this system lacks what it takes, or there is no evidence
//	noted              a constant with its source: there is nothing to measure
//
// A refuted claim is no failure of anything. A claim whose experiment fails is not judged: Run goes
// on with the others and returns the error at the end.
//
// Claims are judged one after the other, since what is measured at the same time disturbs each
// other; evidence that several share is gathered once. All of them take about a minute on two
// cores.
package claims

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A Claim is a checkable sentence of a document.
type Claim struct {
	ID    string // "000-pipe-buf"
	Seed  string // the document, "000" to "004"
	Text  string // in our words
	Where string // in the document: its heading
	Rule  string // how the verdict follows from the evidence

	gather func(context.Context, *session) results.Evidence
	judge  func(results.Evidence) (Judgement, error)
}

// A Judgement is what a rule makes of evidence.
type Judgement struct {
	Verdict string
	Figure  string // the figure that decided, with its interval where it has one
	Why     string // one line

	// Unsure says that the verdict rests on figures whose intervals leave room for another one: it
	// may change from run to run with nothing to blame.
	Unsure bool
}

// Verdicts that a claim can have.
const (
	Holds       = "holds"
	Refuted     = "refuted"
	Depends     = "depends"
	NotTestable = "not-testable-here"
	Noted       = "noted" // a constant, with its source: there is nothing to measure
)

// claim makes a claim of its parts, but for its words, which are in claims.txt: the ID begins with the
// number of the document, the experiment is a script, and the rule can be applied again to the evidence
// in a file.
func claim[E any](id string, gather func(context.Context, *session) E, rule func(E) finding) Claim {
	seed, _, _ := strings.Cut(id, "-")
	return Claim{
		ID: id, Seed: seed,
		gather: func(ctx context.Context, s *session) results.Evidence {
			return script.Must(results.NewEvidence(gather(ctx, s)))
		},
		judge: func(evidence results.Evidence) (Judgement, error) {
			var e E
			if err := evidence.Decode(&e); err != nil {
				return Judgement{}, err
			}
			if evidence == "" || evidence == "{}" {
				return Judgement{Verdict: NotTestable, Why: "there is no evidence"}, nil
			}
			f := rule(e)
			if f.nobody != "" {
				return Judgement{Verdict: NotTestable, Figure: f.figure, Why: f.nobody}, nil
			}
			j := words()[id].outcomes[f.outcome]
			j.Figure = f.figure
			j.Why = strings.Replace(j.Why, "{}", f.names, 1)
			j.Unsure = f.unsure
			if macos := words()[id].parts["macos"]; macos != "" {
				j.Why += "; macOS, by its source: " + macos
			}
			return j, nil
		},
	}
}

// A finding is what a rule makes of evidence: one of the outcomes that claims.txt has for the claim,
// each a verdict and the reason for it.
type finding struct {
	figure  string
	outcome int    // counted from 0
	names   string // what stands in place of {} in the reason
	unsure  bool
	nobody  string // why there is no evidence; nothing is refuted without any
}

// decide finds the outcome of the first condition that holds. Where none does it is the last one: a
// claim has one outcome more than conditions.
func decide(figure string, when ...bool) finding {
	return finding{figure: figure, outcome: slices.Index(append(when, true), true)}
}

func (f finding) naming(names string) finding {
	f.names = names
	return f
}

func (f finding) unsureIf(unsure bool) finding {
	f.unsure = unsure
	return f
}

// Judge applies the claim's rule to the evidence of a record.
func (c Claim) Judge(evidence results.Evidence) (Judgement, error) { return c.judge(evidence) }

//go:embed claims.txt
var text string

// A paragraph is what claims.txt says of a claim.
type paragraph struct {
	parts    map[string]string
	outcomes []Judgement // a verdict and the reason for it, in the order of the rule's conditions
}

// words are the paragraphs by the claim's ID. They are read when they are first asked for: most
// processes need none of them.
var words = sync.OnceValue(func() map[string]paragraph {
	all := map[string]paragraph{}
	for entry := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		p := paragraph{parts: map[string]string{}}
		for line := range strings.SplitSeq(strings.ReplaceAll(entry, "\n  ", " "), "\n") {
			switch part, words, _ := strings.Cut(line, ": "); part {
			case Holds, Refuted, Depends, NotTestable, Noted:
				p.outcomes = append(p.outcomes, Judgement{Verdict: part, Why: words})
			default:
				p.parts[part] = words
			}
		}
		all[p.parts["claim"]] = p
	}
	return all
})

// All lists the claims in the order of the documents.
func All() []Claim {
	list := slices.Concat(pipeClaims, chunkingClaims, reassemblyClaims, limitClaims, processClaims, headerClaims, lineClaims)
	for i, c := range list {
		parts := words()[c.ID].parts
		list[i].Where, list[i].Text, list[i].Rule = parts["in"], parts["says"], parts["rule"]
	}
	return list
}

// Find returns the claim of that ID, or an error that names those that resemble it.
func Find(id string) (Claim, error) {
	all := All()
	if i := slices.IndexFunc(all, func(c Claim) bool { return c.ID == id }); i >= 0 {
		return all[i], nil
	}
	seed, _, _ := strings.Cut(id, "-")
	var near []string
	for _, c := range all {
		if c.Seed == seed || strings.Contains(c.ID, id) {
			near = append(near, c.ID)
		}
	}
	if len(near) == 0 {
		return Claim{}, fmt.Errorf("claim %q is not known; IDs begin with the number of the document, as %s", id, all[0].ID)
	}
	return Claim{}, fmt.Errorf("claim %q is not known; known are %s", id, strings.Join(near, ", "))
}

// Select returns the claims of a list of IDs or documents ("003"), in the order of the documents;
// all of them for an empty list.
func Select(only []string) ([]Claim, error) {
	for _, id := range only {
		if !slices.ContainsFunc(All(), func(c Claim) bool { return c.Seed == id }) {
			if _, err := Find(id); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(All(), func(c Claim) bool {
		return len(only) > 0 && !slices.Contains(only, c.ID) && !slices.Contains(only, c.Seed)
	}), nil
}

// Options are what a run may be told.
type Options struct {
	Run  string   // names the run in its records
	Seed int64    // of the messages and of the order of samples
	Only []string // IDs, or documents; none means all

	// Observe, if set, is told of progress from the goroutine that called Run.
	Observe func(Progress)
}

// Progress is one step of a run.
type Progress struct {
	Claim       Claim
	Done, Total int            // claims
	Step        string         // what is being done for the claim
	Record      *results.Claim // the judgement, where that is the step
}

// Run judges claims and gives their records to keep as they come, with the measurements and faults
// that they rest on.
func Run(ctx context.Context, o Options, keep func(results.Line) error) error {
	selected, err := Select(o.Only)
	if err != nil {
		return err
	}
	p := Progress{Total: len(selected)}
	tell := func() {
		if o.Observe != nil {
			o.Observe(p)
		}
	}
	s := &session{Options: o, keep: keep, gathered: map[string]any{}, step: func(what string) { p.Step = what; tell() }}
	var failed []error
	for _, c := range selected {
		p.Claim, p.Step, p.Record = c, "", nil
		record, err := c.record(ctx, s)
		switch {
		case ctx.Err() != nil:
			return errors.Join(append(failed, context.Cause(ctx))...)
		case err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", c.ID, err))
			continue
		}
		if err := keep(record); err != nil {
			return errors.Join(append(failed, fmt.Errorf("keep the verdict on %s: %w", c.ID, err))...)
		}
		p.Done++
		p.Step, p.Record = "", &record
		tell()
	}
	return errors.Join(failed...)
}

// deadline is how long one claim may take. The slowest share the measurements of framings, which
// take half a minute.
const deadline = 2 * time.Minute

// record tests the claim.
func (c Claim) record(ctx context.Context, s *session) (results.Claim, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("took longer than %s", deadline))
	defer cancel()
	var j Judgement
	evidence, err := script.Of(func() results.Evidence { return c.gather(ctx, s) })
	switch {
	case err == nil:
		j, err = c.judge(evidence)
	case errors.Is(err, errors.ErrUnsupported):
		j, err = Judgement{Verdict: NotTestable, Why: err.Error()}, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return results.Claim{
		Run: s.Run, Time: time.Now().UTC(), ID: c.ID, Seed: c.Seed, Claim: c.Text,
		Verdict: j.Verdict, Figure: j.Figure, Why: j.Why, Evidence: evidence,
	}, err
}

// noticeable is the share below which a difference counts as none where a document says "no" or "no
// significant" difference: a machine that does nothing else moves that much between two runs.
const noticeable = 0.05

// A Ratio compares a cell's figure with that of the same messages without a framing, or as plain
// lines, round by round.
type Ratio struct {
	Framing   string        `json:"framing"`
	Size      int           `json:"size"`
	Placement string        `json:"placement"`
	Ratio     stat.Estimate `json:"ratio"`
}

// ratios compares a framing with another one by one metric, for every size and placement of a
// pattern.
func ratios(records []results.Record, metric, framing, base, pattern string, least int) []Ratio {
	m := stat.MustMetric(metric)
	var out []Ratio
	for _, a := range records {
		if a.Cell.Framing != framing || a.Cell.Pattern != pattern || a.Cell.Size < least {
			continue
		}
		other := a.Cell
		other.Framing = base
		same := stat.Filter(records, func(b results.Record) bool { return b.Cell == other })
		if e := stat.PairedRatio(m, []results.Record{a}, same); e.N > 0 {
			out = append(out, Ratio{framing, a.Cell.Size, a.Cell.Placement, e})
		}
	}
	return out
}

// compareAll judges ratios against a bound: none of them may lie above it. It is unsure where no
// interval lies on the one side, or none on the other, and some on both.
func compareAll(all []Ratio, bound float64) (verdict string, unsure bool) {
	isAbove := func(r Ratio) bool { return r.Ratio.Above(bound) }
	isBelow := func(r Ratio) bool { return r.Ratio.Interval != nil && r.Ratio.Interval.Hi <= bound && !isAbove(r) }
	above, below := len(stat.Filter(all, isAbove)), len(stat.Filter(all, isBelow))
	switch {
	case len(all) > 0 && below == len(all):
		return Holds, false
	case len(all) > 0 && above == len(all):
		return Refuted, false
	}
	return Depends, above == 0 || below == 0
}

// ratioRange writes the lowest and the highest median with their intervals.
func ratioRange(all []Ratio) string {
	if len(all) == 0 {
		return "no figure"
	}
	byMedian := func(a, b Ratio) int { return cmp.Compare(a.Ratio.Median, b.Ratio.Median) }
	lo, hi := slices.MinFunc(all, byMedian), slices.MaxFunc(all, byMedian)
	n := slices.MinFunc(all, func(a, b Ratio) int { return a.Ratio.N - b.Ratio.N }).Ratio.N
	return fmt.Sprintf("%s at %s to %s at %s, n = %d", estimate(lo.Ratio), lo.at(), estimate(hi.Ratio), hi.at(), n)
}

func (r Ratio) at() string { return results.FormatSize(int64(r.Size)) + " " + r.Placement }

// estimate writes a ratio with its interval.
func estimate(e stat.Estimate) string {
	if e.Interval == nil {
		return "×" + results.FormatNumber(e.Median, 3)
	}
	return fmt.Sprintf("×%s [%s, %s]", results.FormatNumber(e.Median, 3), results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
}

// A tally names the cases of a claim that went one way and the other.
type tally struct{ yes, no []string }

func (t *tally) add(name string, ok bool) {
	if ok {
		t.yes = append(t.yes, name)
		return
	}
	t.no = append(t.no, name)
}

// judge finds that all cases went the one way, that none did, or that some did: outcomes which name
// those that did not, or all.
func (t tally) judge(figure string) finding {
	if len(t.yes)+len(t.no) == 0 {
		return finding{figure: figure, nobody: "nobody could be asked"}
	}
	names := t.no
	if len(names) == 0 {
		names = t.yes
	}
	return decide(figure, len(t.no) == 0 && len(t.yes) > 0, len(t.yes) == 0).naming(list(names))
}

func (t tally) figure() string { return fmt.Sprintf("%d of %d", len(t.yes), len(t.yes)+len(t.no)) }

// list joins names, or says that there are none.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
