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
// Claims are judged one after the other, because measurements that run at the same time disturb
// each other. Evidence that several claims share is gathered once. All claims together take about a
// minute on two cores.
package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Claim is a checkable sentence of a document.
type Claim struct {
	ID    string // "000-pipe-buf"
	Seed  string // the document, "000" to "004"
	Text  string // in our words
	Where string // in the document: its heading
	Rule  string // how the verdict follows from the evidence

	gather func(context.Context, *session) (results.Evidence, error)
	decide func(results.Evidence) (finding, error)
}

// claim makes a claim whose evidence has the type E. Its ID begins with the number of the document;
// its words are in claims.txt. The rule must accept any E: evidence may come from a file that is
// old, or was written by others.
func claim[E any](
	id string, gather func(context.Context, *session) (E, error), rule func(E) finding,
) Claim {
	seed, _, _ := strings.Cut(id, "-")
	c := Claim{ID: id, Seed: seed}
	c.gather = func(ctx context.Context, s *session) (results.Evidence, error) {
		e, err := gather(ctx, s)
		if err != nil {
			return "", err
		}
		return results.NewEvidence(e)
	}
	c.decide = func(evidence results.Evidence) (finding, error) {
		var e E
		err := evidence.Decode(&e)
		if err != nil {
			return finding{}, err
		}
		if evidence == "" || evidence == "{}" {
			return finding{nobody: "there is no evidence"}, nil
		}
		return rule(e), nil
	}
	return c
}

// Judge applies the claim's rule to the evidence of a record.
func (c Claim) Judge(evidence results.Evidence) (Judgement, error) {
	f, err := c.decide(evidence)
	if err != nil {
		return Judgement{}, err
	}
	return f.judgement(c.ID)
}

// All lists the claims in the order of the documents.
func All() []Claim {
	list := slices.Concat(pipeClaims, chunkingClaims, reassemblyClaims, limitClaims,
		processClaims, headerClaims, lineClaims)
	for i, c := range list {
		p := paragraphs()[c.ID]
		list[i].Where = p.where
		list[i].Text = p.text
		list[i].Rule = p.rule
	}
	return list
}

// Find returns the claim of that ID, or an error that names those that resemble it.
func Find(id string) (Claim, error) {
	all := All()
	for _, c := range all {
		if c.ID == id {
			return c, nil
		}
	}
	seed, _, _ := strings.Cut(id, "-")
	var near []string
	for _, c := range all {
		if c.Seed == seed || strings.Contains(c.ID, id) {
			near = append(near, c.ID)
		}
	}
	if len(near) == 0 {
		return Claim{}, fmt.Errorf("claim %q is not known; "+
			"IDs begin with the number of the document, as %s", id, all[0].ID)
	}
	return Claim{}, fmt.Errorf("claim %q is not known; known are %s", id, strings.Join(near, ", "))
}

// Select returns the claims of a list of IDs or documents ("003"), in the order of the documents;
// all of them for an empty list.
func Select(only []string) ([]Claim, error) {
	all := All()
	if len(only) == 0 {
		return all, nil
	}
	for _, id := range only {
		isDocument := slices.ContainsFunc(all, func(c Claim) bool { return c.Seed == id })
		if isDocument {
			continue
		}
		if _, err := Find(id); err != nil {
			return nil, err
		}
	}
	var selected []Claim
	for _, c := range all {
		if slices.Contains(only, c.ID) || slices.Contains(only, c.Seed) {
			selected = append(selected, c)
		}
	}
	return selected, nil
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
	s := newSession(o, keep)
	s.progress.Total = len(selected)
	var failed []error
	for _, c := range selected {
		s.begin(c)
		record, err := c.record(ctx, s)
		if ctx.Err() != nil {
			failed = append(failed, context.Cause(ctx))
			break
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.ID, err))
			continue
		}
		if err := keep(record); err != nil {
			failed = append(failed, fmt.Errorf("keep the verdict on %s: %w", c.ID, err))
			break
		}
		s.finish(record)
	}
	return errors.Join(failed...)
}

// deadline is how long one claim may take. The slowest share the measurements of framings, which
// take half a minute.
const deadline = 2 * time.Minute

// record gathers the evidence of the claim and judges it. If the system lacks what the experiment
// needs, the verdict is NotTestable; that is no error.
func (c Claim) record(ctx context.Context, s *session) (results.Claim, error) {
	tooLong := fmt.Errorf("took longer than %s", deadline)
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, tooLong)
	defer cancel()
	var j Judgement
	evidence, err := c.gather(ctx, s)
	switch {
	case err == nil:
		j, err = c.Judge(evidence)
	case errors.Is(err, errors.ErrUnsupported):
		j = Judgement{Verdict: NotTestable, Why: err.Error()}
		err = nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if err != nil {
		return results.Claim{}, err
	}
	return results.Claim{
		Run: s.Run, Time: time.Now().UTC(), ID: c.ID, Seed: c.Seed, Claim: c.Text,
		Verdict: j.Verdict, Figure: j.Figure, Why: j.Why, Evidence: evidence,
	}, nil
}
