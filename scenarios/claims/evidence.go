package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe"
)

// Needs that are no findings. That there is no server is one.
const (
	needCosts   = "cells/costs"   // streams of framings beside each other
	needTrips   = "cells/trips"   // round trips of framings beside each other
	needReaders = "cells/readers" // readers of lines that grow
	needServers = "servers"       // MCP servers of others
)

// talk begins the IDs of findings on how an MCP server talks.
const talk = results.AreaCheck + "/talk/"

// pipe names a finding on anonymous pipes.
func pipe(step string) string { return rules.ID(syspipe.Anonymous, step) }

// Evidence is what a set of records holds, as claims ask for it.
type Evidence struct {
	findings map[string]results.Finding            // the last of each ID
	servers  map[string]map[string]results.Finding // by command, then by name
	records  []results.Record
	basis    basis
}

// A basis is the evidence of a finding on a claim.
type basis struct {
	From   map[string]any `json:"from,omitempty"` // the values that were looked at
	Unsure bool           `json:"unsure,omitempty"`
}

func newEvidence(set *results.Set) *Evidence {
	e := &Evidence{
		findings: make(map[string]results.Finding),
		servers:  make(map[string]map[string]results.Finding),
		records:  set.Records,
		basis:    basis{From: make(map[string]any)},
	}
	for _, f := range set.Findings {
		name, isTalk := strings.CutPrefix(f.ID, talk)
		if !isTalk {
			e.findings[f.ID] = f
			continue
		}
		command := strings.Join(f.About, " ")
		if e.servers[command] == nil {
			e.servers[command] = make(map[string]results.Finding)
		}
		e.servers[command][name] = f
	}
	return e
}

// has reports whether the set holds what a need names.
func (e *Evidence) has(need string) bool {
	switch need {
	case needCosts:
		return len(e.ratios("time", "stream", costFraming, results.FramingRaw, 0)) > 0
	case needTrips:
		return len(e.ratios("time", "roundtrip", costFraming, "ndjson", 0)) > 0 &&
			len(e.ratios("time", "roundtrip", bareFraming, "ndjson", 0)) > 0
	case needReaders:
		return len(e.plainCells("stream", "ndjson-rescan")) > 1 &&
			len(e.ratios("time", "stream", "ndjson-bytewise", "ndjson", 0)) > 0
	case needServers:
		return len(e.servers) > 0
	}
	for id, f := range e.findings {
		begins := id == need || strings.HasPrefix(id, need+"/")
		if begins && f.Verdict != results.CannotTell && f.Verdict != results.Unsupported {
			return true
		}
	}
	return false
}

// failed returns why the experiment of a need came to no result, "" if it was not made.
func (e *Evidence) failed(need string) string {
	for _, id := range []string{need, experimentOf(need)} {
		f, known := e.findings[id]
		if known && (f.Verdict == results.CannotTell || f.Verdict == results.Unsupported) {
			return f.ID + ": " + f.Found
		}
	}
	return ""
}

// judge judges a claim, if there is anything to judge it by.
func (e *Evidence) judge(c Claim) (f results.Finding, ok bool) {
	f = results.Finding{ID: results.AreaClaim + "/" + c.ID, Title: c.Says}
	recorded, wasJudged := e.findings[f.ID]
	for _, need := range c.Needs {
		if e.has(need) {
			continue
		}
		why := e.failed(need)
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
	if j.Unsure && wasJudged {
		return recorded, true // by evidence that this version may not know
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

// beginning returns the IDs of findings that begin so, sorted.
func (e *Evidence) beginning(prefix string) []string {
	var ids []string
	for id := range e.findings {
		if strings.HasPrefix(id, prefix) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// finding returns the finding of an ID, which a claim needs. Its value is noted.
func (e *Evidence) finding(id string) results.Finding {
	f := e.findings[id]
	e.basis.From[id] = f.Value
	return f
}

// number returns a finding's value as a number.
func (e *Evidence) number(id string) int64 {
	n, _ := e.finding(id).Number()
	return int64(n)
}

// isSound reports whether a failure did not come about.
func (e *Evidence) isSound(id string) bool { return e.finding(id).Class == failures.Sound }

// ifSound judges a claim that holds if a failure does not come about.
func (e *Evidence) ifSound(id, holding, refuting string) Judgement {
	f := e.finding(id)
	if f.Class == failures.Sound {
		return holds(f.Found, holding)
	}
	return refuted(f.Found, refuting)
}

// is reports whether a finding has that value.
func (e *Evidence) is(id string, value any) bool { return e.finding(id).Value == value }

// A count says in how many cases something was so.
type count struct {
	good, of int
	bad      []string // the other cases, by name
}

func (c *count) add(name string, good bool) {
	c.of++
	if good {
		c.good++
	} else {
		c.bad = append(c.bad, name)
	}
}

// all judges a claim that says that something is so in all cases: it holds if it was in each, is
// refuted if in none, and depends else. "{}" in a sentence stands for the other cases.
func all(c count, figure, holding, refuting, depending string) Judgement {
	others := strings.Join(c.bad, ", ")
	switch {
	case c.of == 0:
		return cannotTell("nobody could be asked")
	case c.good == c.of:
		return holds(figure, holding)
	case c.good == 0:
		return refuted(figure, strings.ReplaceAll(refuting, "{}", others))
	}
	return depends(figure, strings.ReplaceAll(depending, "{}", others))
}

// ofAll writes a count as a figure: "3 of 4 servers".
func ofAll(c count, what string) string { return fmt.Sprintf("%d of %d %s", c.good, c.of, what) }

// A server is what was found of one MCP server.
type server struct {
	name string
	said map[string]results.Finding
}

// asked returns the servers that a question was put to, by name. Those that answer no handshake are
// left out, but for the handshakes themselves.
func (e *Evidence) asked(question string) []server {
	var servers []server
	for _, command := range slices.Sorted(maps.Keys(e.servers)) {
		said := e.servers[command]
		f, put := said[question]
		greets := said["newline"].Value == true
		if put && (greets || question == "newline" || question == "content-length") {
			servers = append(servers, server{nameOf(command), said})
			e.basis.From[nameOf(command)+" "+question] = f.Value
		}
	}
	return servers
}

// nameOf returns the program of a command without its folder and arguments.
func nameOf(command string) string {
	program, _, _ := strings.Cut(command, " ")
	return program[strings.LastIndexAny(program, `/\`)+1:]
}

// answers counts the servers that did what a question asks.
func (e *Evidence) answers(question string) count {
	var c count
	for _, s := range e.asked(question) {
		c.add(s.name, s.said[question].Value == true)
	}
	return c
}

// everyServer judges a claim that says every server does something.
func (e *Evidence) everyServer(question, holding, not string) Judgement {
	c := e.answers(question)
	return all(c, ofAll(c, "servers"), holding, not, not)
}
