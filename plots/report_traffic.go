package plots

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// servers are the targets that drive loaded: their limits, and what they did
// at each size.
func (r *reporter) servers() *section {
	targets := drivenTargets(r.set.Targets)
	if len(targets) == 0 {
		return nil
	}
	s := &section{
		ID:       "servers",
		Title:    "Servers",
		Commands: r.commands(distinct(targets, func(t results.Target) string { return t.Run }), "pipebench drive --find-limit -- COMMAND"),
	}
	whole := grid{Caption: "As a whole", Columns: columns("server", "protocol", "machine", "verdict", "evidence")}
	limits := grid{Caption: "Limits, in message bytes without the terminator", Columns: columns("server", "protocol", "machine", ">request limit", ">reply limit", ">searched to", "verdict")}
	sizes := grid{Caption: "By message size", Columns: columns("server", "protocol", "machine", ">message", "verdict", ">time", ">p50", ">p99", "evidence")}
	for _, t := range targets {
		name := cell{Text: commandName(t.Command), Class: "code"}
		limited := t.RequestLimit != nil || t.ReplyLimit != nil || t.SearchedTo != nil
		if limited {
			limits.add(t.Warnings, name, plain(t.Protocol), plain(r.nameOf(t.Run)), limitCell(t.RequestLimit), limitCell(t.ReplyLimit), limitCell(t.SearchedTo), verdictCell(t.Verdict))
		}
		if t.Size > 0 {
			sizes.add(t.Warnings, name, plain(t.Protocol), plain(r.nameOf(t.Run)), plain(results.FormatSize(t.Size)), verdictCell(t.Verdict),
				medianCell(t.Samples, "time"), medianCell(t.Samples, "p50"), medianCell(t.Samples, "p99"), long(evidenceText(t.Evidence)))
		}
		if _, grows := growthOf(t); !limited && !grows && t.Size <= 0 {
			whole.add(t.Warnings, name, plain(t.Protocol), plain(r.nameOf(t.Run)), verdictCell(t.Verdict), long(evidenceText(t.Evidence)))
		}
	}
	r.addTable(s, limits)
	r.addTable(s, sizes)
	r.addTable(s, whole)
	s.Lead = r.growth(targets)
	r.addCharts(s, targetCharts(r.set))
	return s
}

func limitCell(n *int64) cell {
	if n == nil {
		return cell{}
	}
	return cell{Text: fmt.Sprint(*n), Small: results.FormatSize(*n)}
}

// drivenTargets are the targets that drive loaded. The record of how a recorded server
// ended is the recording's.
func drivenTargets(targets []results.Target) []results.Target {
	var out []results.Target
	for _, t := range targets {
		if _, ended := recordedTime(t); !ended {
			out = append(out, t)
		}
	}
	return out
}

// recordedTime is how long a recorded server ran, of the record that tap leaves.
func recordedTime(t results.Target) (ns float64, ok bool) { return number(t.Evidence["elapsed_ns"]) }

// growth says of each server whether its time grows faster than the size: as
// was found when it was driven, in pipes of every capacity, or else from the
// sizes at which the fixed cost of a message no longer counts.
func (r *reporter) growth(targets []results.Target) []string {
	var out, told []string
	for _, t := range targets {
		if g, ok := growthOf(t); ok {
			where := fmt.Sprintf("From %s to %s", sizeIn(t, "from"), sizeIn(t, "to"))
			if capacity := sizeIn(t, "capacity"); capacity != "" {
				where += " in " + capacity + " pipes"
			}
			out, told = append(out, growthSentence(where, commandName(t.Command), g)), append(told, commandName(t.Command))
		}
	}
	for _, s := range targetPanel(r.set, func(_ results.Target, ns float64) float64 { return ns }).Series {
		var x, y []float64
		for _, p := range s.Points {
			if p.X >= typicalSize && p.Y > 0 {
				x, y = append(x, p.X), append(y, p.Y)
			}
		}
		g, err := stat.FitGrowth(x, y)
		if err != nil || g.Interval == nil || slices.Contains(told, s.Name) {
			continue // fewer than three sizes from 64 KiB say nothing about growth
		}
		out = append(out, growthSentence("From 64 KiB on", s.Name, g))
	}
	return out
}

func growthSentence(where, name string, g stat.Growth) string {
	word := "no faster than linear"
	switch {
	case g.Fast():
		word = "faster than linear"
	case g.MayBeFast():
		word = "perhaps faster than linear"
	}
	return fmt.Sprintf("%s, the time of %s grows %s: as size to the power of %.2f [%.2f, %.2f].", where, name, word, g.Slope, g.Interval.Lo, g.Interval.Hi)
}

// growthOf is what a target says of growth, if it is about that.
func growthOf(t results.Target) (stat.Growth, bool) {
	slope, ok := number(t.Evidence["slope"])
	lo, known := number(t.Evidence["slope_lo"])
	hi, _ := number(t.Evidence["slope_hi"])
	points, _ := number(t.Evidence["points"])
	return stat.Growth{Slope: slope, Interval: &stat.Interval{Lo: lo, Hi: hi}, Points: int(points)}, ok && known
}

// sizeIn is a size of the evidence, "" where there is none.
func sizeIn(t results.Target, name string) string {
	n, _ := number(t.Evidence[name])
	if n == 0 {
		return ""
	}
	return results.FormatSize(int64(n))
}

// recordings are the messages that tap saw.
func (r *reporter) recordings() *section {
	endings := r.endings()
	if len(r.set.Messages) == 0 && len(endings) == 0 {
		return nil
	}
	s := &section{
		ID:       "recording",
		Title:    "A recording",
		Lead:     endings,
		Commands: r.commands(distinct(r.set.Messages, func(m results.Message) string { return m.Run }), "pipebench tap -o FILE -- COMMAND"),
	}
	r.addTable(s, r.directions())
	r.addTable(s, r.methods())
	r.addCharts(s, trafficCharts(r.set))
	return s
}

// endings say how each recorded server ended.
func (r *reporter) endings() []string {
	var out []string
	for _, t := range r.set.Targets {
		if ns, ok := recordedTime(t); ok {
			out = append(out, fmt.Sprintf("%s ended after %s: %s.", commandName(t.Command), results.FormatDuration(ns), t.Verdict))
		}
	}
	return out
}

// directions counts the messages each way, and those above the sizes at which
// something is known to change.
func (r *reporter) directions() grid {
	g := grid{Caption: "What passed", Columns: columns("direction", ">messages", ">bytes", ">a second", ">largest", ">cut by reads")}
	for _, t := range thresholds {
		g.Columns = append(g.Columns, column{Title: "over " + results.FormatSize(t), Right: true})
	}
	for _, dir := range []string{"request", "reply"} {
		var own []results.Message
		for _, m := range r.set.Messages {
			if m.Dir == dir {
				own = append(own, m)
			}
		}
		if len(own) > 0 {
			g.add(nil, directionRow(dir, own)...)
		}
	}
	return g
}

// traffic says in a sentence what was recorded.
func (r *reporter) traffic() []string {
	var requests, replies int
	var largest int64
	for _, m := range r.set.Messages {
		if largest = max(largest, m.Size); m.Dir == "request" {
			requests++
		} else {
			replies++
		}
	}
	if requests+replies == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The recording has %d messages to the server and %d from it, the largest of %s.", requests, replies, Bytes.Format(float64(largest)))}
}

func directionRow(dir string, own []results.Message) []cell {
	var sum, largest, cut int64
	over := make([]int, len(thresholds))
	for _, m := range own {
		sum += m.Size
		largest = max(largest, m.Size)
		if len(m.Cuts) > 1 {
			cut++
		}
		for i, t := range thresholds {
			if m.Size > t {
				over[i]++
			}
		}
	}
	rate := ""
	if lasted := own[len(own)-1].T - own[0].T; lasted > 0 {
		rate = threeDigits(float64(len(own)) * 1e9 / float64(lasted))
	}
	row := []cell{plain(dir), plain(fmt.Sprint(len(own))), plain(Bytes.Format(float64(sum))), plain(rate), plain(Bytes.Format(float64(largest))), plain(fmt.Sprint(cut))}
	for _, n := range over {
		row = append(row, plain(fmt.Sprint(n)))
	}
	return row
}

// methods are the times to the reply, the most frequent method first.
func (r *reporter) methods() grid {
	g := grid{Caption: "Time to the reply", Columns: columns("method", ">replies", ">p50", ">p99", ">slowest")}
	times := replyTimes(r.set.Messages)
	for _, method := range slices.Backward(methodsOf(times)) {
		l, err := results.NewLatency(times[method])
		if err != nil {
			continue // a histogram that it made itself always encodes
		}
		g.add(nil, code(method), plain(fmt.Sprint(l.Count)), timeCell(l.P50NS), timeCell(l.P99NS), timeCell(&l.MaxNS))
	}
	return g
}

func timeCell(ns *int64) cell {
	if ns == nil {
		return cell{}
	}
	return plain(results.FormatDuration(float64(*ns)))
}

// noise is what doctor found.
func (r *reporter) noise() *section {
	disturbed := r.faultsOf(environment)
	if len(r.set.Noise)+len(disturbed) == 0 {
		return nil
	}
	runs := append(distinct(r.set.Noise, func(n results.Noise) string { return n.Run }), distinct(disturbed, func(f results.Fault) string { return f.Run })...)
	s := &section{
		ID:       "noise",
		Title:    "How far figures move by themselves",
		Commands: r.commands(runs, "pipebench doctor"),
	}
	if len(r.set.Noise) > 0 {
		s.Lead = []string{"The same cell, measured by invocations that nothing distinguishes. A change between two runs that is smaller than this spread is no change."}
	}
	r.addTable(s, r.disturbances(disturbed))
	g := grid{Caption: "Between-run spread", Columns: columns("metric", "cell", ">median", ">invocations", ">spread")}
	for _, n := range r.set.Noise {
		median := ""
		if e := stat.Median(n.Values); e.N > 0 {
			median = threeDigits(e.Median)
			if m, err := stat.MetricByName(n.Metric); err == nil {
				median = m.Format(e.Median)
			}
		}
		g.add(nil, plain(n.Metric), plain(strings.Join(noiseTitle(r.set, n)[1:], " · ")), plain(median), plain(fmt.Sprint(len(n.Values))), plain(results.FormatPercent(100*n.Spread)))
	}
	r.addTable(s, g)
	r.addCharts(s, noiseCharts(r.set))
	return s
}

// disturbances are what doctor found at fault with a machine.
func (r *reporter) disturbances(faults []results.Fault) grid {
	g := grid{Caption: "What disturbs measurements here", Columns: columns("what", "machine", "found", "remedy")}
	for _, f := range faults {
		what, _ := strings.CutPrefix(f.ID, environment+"/")
		g.add(nil, code(what), plain(r.nameOf(f.Run)), long(f.Verdict), long(f.Advice))
	}
	return g
}
