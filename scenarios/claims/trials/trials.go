// Package trials finds out how readers, limits and clients of common kinds behave, and how an MCP
// server talks: what no rule of the system's pipes and no measurement shows, and common claims are
// about. It is for pipebench's commands and may change.
package trials

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/experiment"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Work names what the process of a trial does.
const Work = "trials/trial"

// All lists the trials. The findings of each have its ID, or begin with it. They are
// [results.Noted]: what they mean depends on what was claimed.
func All() []experiment.Experiment {
	all := []experiment.Experiment{
		{ID: "trial/chunks", Title: "receive chunks that are late, lost, swapped or invalid",
			Do: receiveChunks},
		{ID: "trial/lines", Title: "read lines in pieces, and lines that are no messages",
			Do: readLines},
		{ID: "trial/headers", Title: "send messages that a line could not carry",
			Do: sendAwkward},
		{ID: "trial/limit", Title: "send messages about a limit of 16 MiB", Do: tryLimit},
		{ID: "trial/json", Title: "time JSON beside the pipe that it passes", Do: timeJSON},
	}
	for _, m := range memoryTrials {
		id := "trial/memory/" + m.name
		all = append(all, experiment.Experiment{ID: id, Title: m.title, Do: m.measure})
	}
	for _, p := range oversizePolicies {
		id := "trial/oversize/" + p.name
		all = append(all, experiment.Experiment{ID: id, Title: p.title, Do: p.try})
	}
	return all
}

// Jobs is the work of the processes that trials start: main gives it to [proc.Main].
func Jobs() map[string]proc.Job {
	return experiment.Jobs(Work, All, map[string]proc.Job{
		largeServerWork: serveLarge,
		senderWork:      sendMessages,
	})
}

// A Count says in how many cases something was so.
type Count struct {
	Good int      `json:"good"`
	Of   int      `json:"of"`
	Bad  []string `json:"bad,omitempty"` // the other cases, by name
}

// Add counts a case.
func (c *Count) Add(name string, good bool) {
	c.Of++
	if good {
		c.Good++
	} else if !slices.Contains(c.Bad, name) {
		c.Bad = append(c.Bad, name)
	}
}

// found reports a count.
func (c Count) found(t *experiment.Trial, id, title string) {
	text := fmt.Sprintf("%d of %d", c.Good, c.Of)
	if len(c.Bad) > 0 {
		text += "; not: " + strings.Join(c.Bad, ", ")
	}
	t.Found(results.Finding{
		ID: id, Title: title, Verdict: results.Noted, Value: c.Good, Found: text,
		Evidence: results.MustEvidence(c),
	})
}

// found reports a value.
func found(t *experiment.Trial, id, title string, value any, unit string) {
	f := results.Finding{ID: id, Title: title, Verdict: results.Noted, Value: value, Unit: unit}
	f.Found = fmt.Sprint(value)
	if n, ok := f.Number(); ok {
		f.Found = results.FormatExact(n, unit)
	}
	t.Found(f)
}
