package assert

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// cases lists the figures of the condition's metric in the set. They are not judged yet.
func (c Condition) cases(s *results.Set) []Case {
	switch c.Metric {
	case limitName:
		return limitCases(s)
	case slopeName:
		return slopeCases(s)
	case string(results.Fails), string(results.Slow), string(results.CannotTell):
		return checkCases(s, c.Metric)
	}
	var out []Case
	rows := stat.Rows(s)
	var cells []results.Cell
	for _, r := range rows {
		cells = append(cells, r.Cell)
	}
	differ := results.DifferingFields(cells, "framing", "size", "placement", "pattern")
	for _, r := range rows {
		out = c.addCase(out, results.CellLabel(r.Cell, differ), r)
	}
	for _, t := range s.Targets {
		if len(t.Samples) == 0 {
			continue
		}
		name := strings.Join(t.Command, " ") + " " + results.FormatSize(t.Size)
		out = c.addCase(out, name, stat.SampleRow(s.Machine(t.Run), serverCell(t), t.Samples))
	}
	return out
}

// addCase adds the figure of the metric in a row, if the row has it or should have it.
func (c Condition) addCase(cases []Case, name string, r stat.Row) []Case {
	one := Case{Name: name, cell: r.Cell}
	one.number, one.known = c.figure(r)
	if !one.known && !c.expects(r) {
		return cases
	}
	if !one.known {
		one.Why = c.whyMissing(r)
		if l := r.LatencyOf(c.metric); l.Count > 0 && c.Observations() > 0 {
			c.judgeFew(&one, l)
		}
	}
	return append(cases, one)
}

// byChance is the probability below which a number of observations is no chance.
const byChance = 0.001

// judgeFew says of how many observations a percentile is not known. It is above the condition's
// value all the same, if so many of them are.
func (c Condition) judgeFew(one *Case, l results.Latency) {
	needed := c.Observations()
	one.Why = fmt.Sprintf("needs %s observations, has %s",
		results.FormatGrouped(needed), results.FormatGrouped(l.Count))
	h, err := l.Histogram()
	if err != nil {
		return
	}
	above := int64(0)
	for _, bar := range h.Distribution() {
		if float64(bar.From) > c.Value {
			above += bar.Count
		}
	}
	expected := stats.BinomialDist{N: int(l.Count), P: results.MinTailCount / float64(needed)}
	if 1-expected.CDF(float64(above-1)) < byChance {
		one.known = true
		one.number = math.Inf(1)
		one.Value = "above " + results.FormatUnit(c.Value, c.unit)
		one.Why = fmt.Sprintf("(%d of %d observations)", above, l.Count)
	}
}

// serverCell describes a record about a server as a cell (a combination of settings), so that the
// text after @ in a condition can choose the record.
func serverCell(t results.Target) results.Cell {
	return results.Cell{
		Framing: t.Protocol,
		Size:    int(t.Size),
		Pattern: results.PatternRoundtrip,
	}
}

// figure returns the figure of the condition's metric in a row. The second result is false if the
// row lacks it.
func (c Condition) figure(r stat.Row) (float64, bool) {
	if c.Metric != toRawName {
		return r.Figure(c.Metric)
	}
	if r.ToRaw == nil {
		return 0, false
	}
	return r.ToRaw.Median, true
}

// expects reports whether a row should have a figure for the condition. The framing raw has no
// ratio to itself, and a stream without a fixed rate has no latency.
func (c Condition) expects(r stat.Row) bool {
	if c.Metric == toRawName {
		return r.Cell.Framing != results.FramingRaw
	}
	if !c.metric.IsPercentile() {
		return true
	}
	if r.Samples == 0 {
		return r.Cell.Pattern == results.PatternRoundtrip || r.Cell.Rate > 0
	}
	_, ok := r.PrimaryLatency()
	return ok
}

func (c Condition) whyMissing(r stat.Row) string {
	switch {
	case r.Unsupported != "":
		return "unsupported: " + r.Unsupported
	case r.Failed != "":
		return "failed: " + r.Failed
	case r.Samples == 0:
		return "no samples"
	case c.Metric == toRawName:
		return "no raw cell beside it"
	}
	return "the samples do not carry it"
}

func checkCases(s *results.Set, verdict string) []Case {
	checks := s.FindingsOf(results.AreaCheck)
	if len(checks) == 0 {
		return nil
	}
	n := 0
	for _, f := range checks {
		if string(f.Verdict) == verdict {
			n++
		}
	}
	return []Case{{Name: "checks", known: true, number: float64(n)}}
}

func byServer(s *results.Set) [][]results.Target {
	var servers [][]results.Target
	for _, t := range s.Targets {
		i := slices.IndexFunc(servers, func(known []results.Target) bool {
			return slices.Equal(known[0].Command, t.Command)
		})
		if i < 0 {
			servers = append(servers, nil)
			i = len(servers) - 1
		}
		servers[i] = append(servers[i], t)
	}
	return servers
}

// slopeCases returns, for each server, how its CPU time grows with the size of a message.
func slopeCases(s *results.Set) []Case {
	var out []Case
	for _, records := range byServer(s) {
		cell := serverCell(records[0])
		isMeasured := false
		var slopes []Case
		for _, t := range records {
			isMeasured = isMeasured || len(t.Samples) > 0
			if g, ok := stat.RecordedGrowth(t); ok {
				slopes = append(slopes, slopeCase(g, cell))
			}
		}
		if len(slopes) == 0 && isMeasured {
			why := "the growth was not measured: it takes three sizes of 64 KiB and more"
			slopes = []Case{{Name: "slope", Why: why, cell: cell}}
		}
		out = append(out, slopes...)
	}
	return out
}

func slopeCase(g stat.TargetGrowth, cell results.Cell) Case {
	return Case{
		Name:     g.String(),
		Value:    fmt.Sprintf("%.2f", g.Slope),
		cell:     cell,
		known:    true,
		number:   g.Slope,
		interval: g.Growth().Interval,
	}
}

// limitCases returns, for each server, the largest request and the largest reply that work.
func limitCases(s *results.Set) []Case {
	servers := byServer(s)
	var out []Case
	for _, records := range servers {
		for _, c := range limits(records) {
			if len(servers) > 1 {
				c.Name = strings.Join(records[0].Command, " ") + ": " + c.Name
			}
			out = append(out, c)
		}
	}
	return out
}

// limits returns the limits of one server: the largest request and the largest reply that work. If
// no limit was found, it returns the largest request that was served, as a lower bound. The largest
// reply is one too, if none was larger. Replies that were not tried cannot be told.
func limits(records []results.Target) []Case {
	var out []Case
	reach := results.ReachOf(records)
	for _, t := range reach.Limits {
		c := limitCase(*t, t.LimitOf(), *t.Limit())
		if e := t.Evidence.Limit; c.number == 0 && e != nil && len(e.Uneven) > 0 {
			c.Value = "the smallest do not work, and " +
				stat.FormatBytes(int64(e.Uneven[0])) + " does"
		}
		out = append(out, c)
	}
	if len(out) == 0 && reach.Served > 0 {
		c := limitCase(records[0], "requests", reach.Served)
		c.below = math.Inf(1)
		out = append(out, c)
	}
	if f := reach.Failed; len(out) == 0 && f != nil {
		c := limitCase(*f, "requests", 0)
		c.known = false
		c.Value = fmt.Sprintf("one of %s failed", stat.FormatBytes(f.Size))
		if e := f.Evidence.Failure; e != nil && e.ServedBefore > 0 {
			c.Value += " after " + results.FormatCount(int(e.ServedBefore), "answered request")
		}
		c.Why = "(no limit was found: mend this failure, then try again)"
		out = append(out, c)
	}
	cut := reach.CutShort
	if reach.Stopped == nil && cut != nil && cut.Evidence.Limit.Side == "reply" {
		reach.Stopped = cut
	}
	if t := reach.Stopped; t != nil { // no larger replies were made, or tried
		c := limitCase(*t, "replies", *t.SearchedTo)
		c.below = math.Inf(1)
		out = append(out, c)
	}
	whyUntried := "" // why no large reply was tried
	if results.RepliesUntried(records) {
		whyUntried = "(--reply-tool names a tool that makes large ones)"
	}
	for _, t := range reach.NotTried {
		if t.Evidence.Limit != nil {
			whyUntried = "(" + t.Evidence.Why + ")"
		}
	}
	if len(out) > 0 && whyUntried != "" {
		c := limitCase(records[0], "replies", 0)
		c.Value = "not tried"
		c.Why = whyUntried
		c.known = false
		out = append(out, c)
	}
	return out
}

// limitCase returns the case of a limit, which is an interval if the search was cut short.
func limitCase(t results.Target, which string, bytes int64) Case {
	cell := serverCell(t)
	cell.Size = 0
	return Case{
		Name:   which,
		Value:  stat.FormatBytes(bytes),
		cell:   cell,
		known:  true,
		number: float64(bytes),
		below:  t.LimitBelow(),
	}
}
