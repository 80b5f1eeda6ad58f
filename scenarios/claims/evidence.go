package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe"
)

// Values in [Claim.Needs] that stand for measurements, and not for findings.
const (
	needCosts   = "cells/costs"   // streams of chunks, and of raw bytes to compare them with
	needTrips   = "cells/trips"   // round trips of chunks, and of lines to compare them with
	needReaders = "cells/readers" // several readers of lines, for lines of growing size
)

// checkServer stands for a check of a real MCP server, not one of ours. It is also the ID of the
// finding that there is no such server.
const checkServer = "servers"

// Situations of the command check --server. They show whether claims about servers are true.
const (
	dirtyLine   = "dirty-line"
	endInFlight = "end-in-flight"
)

// serverCheck returns the ID of the finding of the command check --server about a situation. If
// situation is "", it returns what all such IDs begin with.
func serverCheck(situation string) string {
	return results.AreaCheck + "/" + string(catalogue.Server) + "/" + situation
}

// pipe returns the ID of what package rules found about anonymous pipes in one step of an
// experiment, such as "slot".
func pipe(step string) string { return rules.ID(syspipe.Anonymous, step) }

// Evidence is what a set of records holds, arranged for judging claims.
type Evidence struct {
	set      *results.Set
	findings map[string]results.Finding // the last finding of each ID
	basis    basis
}

// A basis is the evidence of a finding on a claim.
type basis struct {
	From   map[string]any `json:"from,omitempty"` // the values that the verdict rests on, by name
	Unsure bool           `json:"unsure,omitempty"`
}

func newEvidence(set *results.Set) *Evidence {
	e := &Evidence{
		set:      set,
		findings: make(map[string]results.Finding),
		basis:    basis{From: make(map[string]any)},
	}
	for _, f := range set.Findings {
		e.findings[f.ID] = f
	}
	return e
}

// has reports whether the set of records has what an entry of Needs stands for: a finding with a
// result, or measurements.
func (e *Evidence) has(need string) bool {
	switch need {
	case needCosts:
		return len(e.ratios("time", "stream", costFraming, results.FramingRaw, anySize)) > 0
	case needTrips:
		return len(e.ratios("time", "roundtrip", costFraming, "ndjson", anySize)) > 0 &&
			len(e.ratios("time", "roundtrip", bareFraming, "ndjson", anySize)) > 0
	case needReaders:
		return len(e.plainCells("stream", "ndjson-rescan")) > 1 &&
			len(e.ratios("time", "stream", "ndjson-bytewise", "ndjson", anySize)) > 0
	}
	if strings.HasPrefix(need, serverCheck("")) {
		return len(e.checked(need)) > 0
	}
	for id, f := range e.findings {
		begins := id == need || strings.HasPrefix(id, need+"/")
		if begins && f.Verdict != results.CannotTell && f.Verdict != results.Unsupported {
			return true
		}
	}
	return false
}

// whyMissing returns why the experiment for an entry of Needs had no result, or "" if the set does
// not say so.
func (e *Evidence) whyMissing(need string) string {
	for _, id := range []string{need, experimentOf(need)} {
		f, known := e.findings[id]
		if known && (f.Verdict == results.CannotTell || f.Verdict == results.Unsupported) {
			return f.ID + ": " + f.Found
		}
	}
	return ""
}

// judge judges a claim. If something that the claim needs is missing, the result is an earlier
// finding about the claim, or else one that says why an experiment had no result. The second result
// is false if there is neither.
func (e *Evidence) judge(c Claim) (f results.Finding, ok bool) {
	f = results.Finding{ID: results.AreaClaim + "/" + c.ID, Title: c.Says}
	recorded, wasJudged := e.findings[f.ID]
	for _, need := range c.Needs {
		if e.has(need) {
			continue
		}
		why := e.whyMissing(need)
		switch {
		case wasJudged:
			return recorded, true
		case why == "":
			return f, false
		}
		f.Verdict = results.CannotTell
		f.Found = why
		return f, true
	}
	e.basis = basis{From: make(map[string]any)}
	j := c.Judge(e)
	if j.Unsure && wasJudged && recorded.Verdict != j.Verdict {
		return recorded, true // the old verdict may rest on evidence unknown to this version
	}
	f.Verdict = j.Verdict
	f.Found = j.Why
	if c.MacOS != "" {
		f.Found += "; macOS, by its source: " + c.MacOS
	}
	if j.Figure != "" {
		f.Found = j.Figure + ": " + f.Found
	}
	e.basis.Unsure = j.Unsure
	f.Evidence = results.MustEvidence(e.basis)
	return f, true
}

// finding returns the finding with that ID, and notes its value as evidence of the claim being
// judged.
func (e *Evidence) finding(id string) results.Finding {
	f := e.findings[id]
	e.basis.From[id] = f.Value
	return f
}

func (e *Evidence) number(id string) int64 {
	n, _ := e.finding(id).Number()
	return int64(n)
}

// isSound reports whether the finding with that ID, of package failures, says that nothing failed.
func (e *Evidence) isSound(id string) bool { return e.finding(id).Class == failures.Sound }

// ifSound judges a claim that holds if the finding with that ID is of class [failures.Sound]. The
// texts holding and refuting are the reasons for the two verdicts.
func (e *Evidence) ifSound(id, holding, refuting string) Judgement {
	f := e.finding(id)
	if f.Class == failures.Sound {
		return holds(f.Found, holding)
	}
	return refuted(f.Found, refuting)
}

// inPart judges a claim of which a part may be true: it holds if all is true, and depends if only
// that part is. The last three parameters are the reasons for the three verdicts.
func inPart(part, all bool, figure, holding, depending, refuting string) Judgement {
	switch {
	case part && all:
		return holds(figure, holding)
	case part:
		return depends(figure, depending)
	}
	return refuted(figure, refuting)
}

// hasValue reports whether the finding with that ID has that value.
func (e *Evidence) hasValue(id string, value any) bool { return e.finding(id).Value == value }

// A count says in how many cases something was true.
type count struct {
	good, asked int
	bad         []string // the names of the cases in which it was not true
}

func (c *count) add(name string, good bool) {
	c.asked++
	if good {
		c.good++
	} else {
		c.bad = append(c.bad, name)
	}
}

// inAllCases judges a claim that something is true in all cases. The last three parameters are the
// reasons for the three verdicts. In these texts, "{}" stands for the cases in which the claim is
// not true.
func inAllCases(c count, figure, holding, refuting, depending string) Judgement {
	others := strings.Join(c.bad, ", ")
	switch {
	case c.good == c.asked:
		return holds(figure, holding)
	case c.good == 0:
		return refuted(figure, strings.ReplaceAll(refuting, "{}", others))
	}
	return depends(figure, strings.ReplaceAll(depending, "{}", others))
}

// of describes the count, as in "3 of 4 servers".
func (c count) of(what string) string { return fmt.Sprintf("%d of %d %s", c.good, c.asked, what) }

// A server is what the command check found out about one MCP server in one situation.
type server struct {
	name string // its program, without the folder
	results.Finding
	seen check.ServerEvidence
}

// checked returns one finding for each MCP server: the last finding that has this ID and a verdict.
// The findings are sorted by the commands of the servers.
func (e *Evidence) checked(id string) []server {
	last := make(map[string]server)
	for _, f := range e.set.Findings {
		if f.ID != id || f.Verdict == results.CannotTell {
			continue
		}
		s := server{Finding: f}
		err := f.Evidence.Decode(&s.seen)
		if err != nil || !strings.HasPrefix(s.seen.Protocol, "mcp") {
			continue
		}
		command := strings.Join(f.About, " ")
		program, _, _ := strings.Cut(command, " ")
		s.name = program[strings.LastIndexAny(program, `/\`)+1:]
		last[command] = s
	}
	var servers []server
	for _, command := range slices.Sorted(maps.Keys(last)) {
		servers = append(servers, last[command])
	}
	return servers
}

// speaking counts how many of the checked servers speak a framing, such as "ndjson".
func (e *Evidence) speaking(framing string) count {
	var c count
	for _, s := range e.checked(serverCheck(endInFlight)) {
		c.add(s.name, s.seen.Framing == framing)
		e.basis.From[s.name+" speaks"] = s.seen.Framing
	}
	return c
}
