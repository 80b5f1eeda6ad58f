package stat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// What two files of servers and programs are compared in beside times. Neither depends on the machine.
var (
	verdictMetric = Metric{Name: "verdict", Title: "ok, slow or fails", Unit: unitVerdict, Better: Lower, Counter: true}
	limitMetric   = Metric{Name: "limit", Title: "largest message that works", Unit: unitLimit, Better: Higher, Counter: true}
)

const (
	unitVerdict = "verdict"
	unitLimit   = "bytes"

	noLimit = 1 << 50 // stands for none that was found
)

// verdictWords are by value of the metric.
var verdictWords = []string{results.CheckOK, results.CheckSlow, results.CheckFails}

// severity returns the value of a verdict; false for one that says nothing about what was judged.
func severity(verdict string) (float64, bool) {
	switch verdict {
	case results.VerdictNotTried, results.CheckCannotTell:
		return 0, false
	case results.VerdictOK:
		return 0, true
	case results.VerdictSlow, results.VerdictSuperlinear:
		return 1, true
	}
	return 2, true
}

// judgedSeries lists what a set says of servers and programs as far as it can be compared: verdicts,
// limits, and the time of each size. Where the set is of several servers they are in the names.
func judgedSeries(s *results.Set) (all []Series) {
	several := len(servers(s)) > 1
	add := func(name, machine string, m Metric, values ...float64) {
		i := slices.IndexFunc(all, func(s Series) bool { return s.Name == name && s.Metric.Name == m.Name })
		if i < 0 {
			i = len(all)
			all = append(all, Series{Name: name, Metric: m, Machine: machine})
		}
		if m.Counter { // the last word counts
			all[i].Values = nil
		}
		all[i].Values = append(all[i].Values, values...)
		all[i].Figure = Median(all[i].Values)
	}
	judge := func(name, verdict string) {
		if v, told := severity(verdict); told {
			add(name, "", verdictMetric, v)
		}
	}
	for _, t := range s.Targets {
		name := "Drive"
		if several {
			name += "/of=" + strings.Join(t.Command, " ")
		}
		for side, n := range limitsOf(t) {
			add(name+"/"+side, "", limitMetric, n)
		}
		if t.Evidence.GrowthEvidence != nil {
			judge(fmt.Sprintf("%s/growth/capacity=%d", name, t.Evidence.Capacity), t.Verdict)
		}
		if t.Size == 0 || t.RequestLimit != nil || t.ReplyLimit != nil {
			continue
		}
		name += fmt.Sprintf("/size=%d", t.Size)
		if l := t.Evidence.LoadEvidence; l != nil {
			name += fmt.Sprintf("/inflight=%d/rate=%g", l.Inflight, l.Rate)
		}
		judge(name, t.Verdict)
		if times := MustMetric("time"); t.Served() && len(t.Samples) > 0 {
			add(name, s.Machine(t.Run), times, times.Values(t.Samples)...)
		}
	}
	for _, f := range s.Faults {
		var of struct{ Protocol string }
		if f.Evidence.Decode(&of) == nil && of.Protocol != "" { // a server's
			judge("Fault/"+f.ID, f.Verdict)
		}
	}
	for _, c := range s.Checks {
		judge("Check/"+c.Side+"/"+c.Name, c.Verdict)
	}
	return all
}

// limitsOf returns the limits that a record is about, by side.
func limitsOf(t results.Target) map[string]float64 {
	limits := map[string]float64{}
	for side, n := range map[string]*int64{"requests": t.RequestLimit, "replies": t.ReplyLimit} {
		if n != nil {
			limits[side] = float64(*n)
		}
	}
	switch e := t.Evidence.LimitEvidence; {
	case t.SearchedTo != nil && e != nil && e.Side == "reply":
		limits["replies"] = noLimit
	case t.SearchedTo != nil:
		limits["requests"] = noLimit
	}
	return limits
}

// PairServers makes pairs of runs of a set in which two servers were driven in turns: of round i what
// was measured of the first command is before[i], of the second after[i]. What was not measured in
// rounds (verdicts, limits) is in the first pair. Nil of a set of anything else.
func PairServers(s *results.Set) (before, after []*results.Set) {
	both := servers(s)
	if len(both) != 2 {
		return nil, nil
	}
	rounds := 0
	for _, t := range s.Targets {
		for _, sample := range t.Samples {
			rounds = max(rounds, sample.Round)
		}
	}
	for i := range rounds {
		for side, into := range []*[]*results.Set{&before, &after} {
			set := &results.Set{Environments: s.Environments}
			for _, t := range both[side] {
				t.Samples = Filter(t.Samples, func(s results.Sample) bool { return s.Round == i+1 })
				if i == 0 || len(t.Samples) > 0 {
					set.Add(t)
				}
			}
			*into = append(*into, set)
		}
	}
	return before, after
}

// FormatBytes writes an exact number of bytes: "10,485,759 B".
func FormatBytes(n int64) string { return results.FormatGrouped(n) + " B" }

// servers groups targets by the command that was driven, in the order in which they come.
func servers(s *results.Set) [][]results.Target {
	return GroupBy(s.Targets, func(t results.Target) string { return strings.Join(t.Command, " ") })
}

// serverSlopes returns how the time of each server grows: as was found when it was driven, or else
// from the sizes that say something about it.
func serverSlopes(s *results.Set) []AssertCase {
	var out []AssertCase
	for _, targets := range servers(s) {
		cell := targetCell(targets[0])
		var growths []TargetGrowth
		for _, t := range targets {
			if g, ok := RecordedGrowth(t); ok {
				growths = append(growths, g)
			}
		}
		if g := FitTargetGrowth(targets); len(growths) == 0 && g != nil {
			growths = append(growths, *g)
		}
		for _, g := range growths {
			c := AssertCase{Case: g.String(), Value: fmt.Sprintf("%.2f", g.Slope), cell: cell, known: true, value: g.Slope}
			if g.Interval != nil && g.Interval.Lo <= 1 {
				c.doubt = "the interval reaches 1"
			}
			out = append(out, c)
		}
		measured := slices.ContainsFunc(targets, func(t results.Target) bool { return len(t.Samples) > 0 })
		if len(growths) == 0 && measured {
			why := "the growth was not measured: it takes three sizes of 64 KiB and more"
			out = append(out, AssertCase{Case: "slope", Why: why, cell: cell})
		}
	}
	return out
}

// limitCases returns the largest messages that each server takes and gives. A limit that was not
// searched for is none up to the largest message that was served.
func limitCases(s *results.Set) []AssertCase {
	var out []AssertCase
	all := servers(s)
	for _, targets := range all {
		served, found := int64(0), false
		add := func(which string, bytes int64, least bool) {
			if len(all) > 1 {
				which = strings.Join(targets[0].Command, " ") + ": " + which
			}
			cell := targetCell(targets[0])
			cell.Size = 0
			out = append(out, AssertCase{Case: which, Value: FormatBytes(bytes), cell: cell, known: true, least: least, value: float64(bytes)})
			found = true
		}
		for _, t := range targets {
			switch limit := t.Evidence.LimitEvidence; {
			case t.RequestLimit != nil:
				add("requests", *t.RequestLimit, false)
			case t.ReplyLimit != nil:
				add("replies", *t.ReplyLimit, false)
			case t.SearchedTo != nil && (limit == nil || limit.Side == "request"):
				served = max(served, *t.SearchedTo)
			case t.Size > 0 && t.Served():
				served = max(served, t.Size)
			}
		}
		if !found && served > 0 {
			add("requests", served, true)
		}
	}
	return out
}
