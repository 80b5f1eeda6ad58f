// Package claims judges what five documents say about transports over stdio. It is for pipebench's
// commands and may change.
//
//	err := claims.Measure(ctx, selected, set, claims.Options{}, keep)
//	for _, f := range claims.Judge(set, selected) { … }
//
// A [Claim] is one checkable sentence, in our words. The verdicts:
//
//	holds        true on this machine
//	refuted      not true on this machine
//	depends      true in some of the cases that the claim covers; the reason names them
//	cannot-tell  this system lacks what it takes, or there was no server to ask
//
// A refuted claim does not mean that anything failed.
package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Claim is a checkable sentence of a document.
type Claim struct {
	ID    string // such as "000-pipe-buf"
	Says  string // in our words
	MacOS string // what the source code of macOS says about it; "" if not known

	// Needs names what the claim is judged by. Each entry is the beginning of the IDs of findings,
	// or stands for measurements (needCosts, needTrips, needReaders).
	Needs []string
	// Judge judges the claim. It is not called if something that the claim needs is missing.
	Judge func(*Evidence) Judgement
}

// Document returns the number of the document that has the claim: "000" to "004".
func (c Claim) Document() string {
	number, _, _ := strings.Cut(c.ID, "-")
	return number
}

// A Judgement is the verdict on a claim, with its reasons.
type Judgement struct {
	Verdict results.Verdict
	Figure  string // the deciding figure, with its interval if it has one
	Why     string // the reason, in a line

	// Unsure says that the figures are too uncertain to rule out another verdict. The next run may
	// give another verdict.
	Unsure bool
}

func holds(figure, why string) Judgement {
	return Judgement{Verdict: results.Holds, Figure: figure, Why: why}
}

func refuted(figure, why string) Judgement {
	return Judgement{Verdict: results.Refuted, Figure: figure, Why: why}
}

func depends(figure, why string) Judgement {
	return Judgement{Verdict: results.Depends, Figure: figure, Why: why}
}

func cannotTell(why string) Judgement {
	return Judgement{Verdict: results.CannotTell, Why: why}
}

// All lists the claims in the order of the documents.
func All() []Claim {
	return slices.Concat(
		pipeClaims, chunkClaims, limitClaims, serverClaims, headerClaims, lineClaims)
}

// Find returns the claim with that ID. If there is none, the error names similar IDs.
func Find(id string) (Claim, error) {
	document, _, _ := strings.Cut(id, "-")
	var near []string
	for _, c := range All() {
		if c.ID == id {
			return c, nil
		}
		if c.Document() == document || strings.Contains(c.ID, id) {
			near = append(near, c.ID)
		}
	}
	if len(near) == 0 {
		return Claim{}, fmt.Errorf("claim %q is not known; "+
			"IDs begin with the number of the document, as %s", id, All()[0].ID)
	}
	return Claim{}, fmt.Errorf("claim %q is not known; known are %s", id, strings.Join(near, ", "))
}

// Select returns the claims that the list names, by their IDs or by the number of their document,
// such as "003". An empty list stands for all claims.
func Select(only []string) ([]Claim, error) {
	all := All()
	if len(only) == 0 {
		return all, nil
	}
	for _, id := range only {
		isDocument := slices.ContainsFunc(all, func(c Claim) bool { return c.Document() == id })
		if _, err := Find(id); err != nil && !isDocument {
			return nil, err
		}
	}
	var selected []Claim
	for _, c := range all {
		if slices.Contains(only, c.ID) || slices.Contains(only, c.Document()) {
			selected = append(selected, c)
		}
	}
	return selected, nil
}

// Judge judges the selected claims by a set of records. If records that a claim needs are missing,
// the result is an earlier finding about the claim, or one that says why an experiment had no
// result. If there is neither, the claim is left out.
func Judge(set *results.Set, selected []Claim) []results.Finding {
	e := newEvidence(set)
	var judged []results.Finding
	for _, c := range selected {
		if f, ok := e.judge(c); ok {
			judged = append(judged, f)
		}
	}
	return judged
}
