package view

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/benchtext"
)

// WriteComparison writes the comparison. In the bench format each sample of every figure is a line
// with side=old or side=new, for benchstat -col /side. A comparison without a common case is
// [ErrNothing].
func WriteComparison(w io.Writer, c *stat.Comparison, format Format, o Options) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("compare %s and %s: %w: no case is in both", c.Old, c.New, ErrNothing)
	}
	switch format {
	case FormatJSON:
		return WriteJSON(w, c)
	case FormatCSV:
		return comparisonTable("", c.Changes).Write(w, FormatCSV, o)
	case FormatBench:
		return writeComparedBench(w, c)
	}
	return comparisonPage(c, format, o).Write(w, format, o)
}

// mostChanges is how many rows of figures the screen of a comparison has, beside the table of
// framings and sizes.
const mostChanges = 12

// comparisonPage says first what changed. Then come the times: for files a table of framings and
// sizes, for pairs and benchmark text a row per time. Then come the counts that changed, or for two
// programs all counts. Without Options.Detail a terminal shows only what fits on it.
func comparisonPage(c *stat.Comparison, format Format, o Options) Page {
	how := "measured one after the other"
	if c.Pairs > 0 {
		how = results.FormatCount(c.Pairs, "interleaved pair")
	}
	var p Page
	p.Tone, p.Verdict = comparisonVerdict(c)
	p.Header = []string{fmt.Sprintf("%s against %s: %s", c.New, c.Old, how)}
	s := sortChanges(c)
	p.Tables = append(p.Tables, changeTables(s.relative)...)
	if len(s.relative) > 0 {
		p.Notes = append(p.Notes, "!: a change beyond chance; ?: too noisy to tell a change of "+
			results.FormatPercent(100*stat.Tolerance))
	}
	counts, times := s.counts, s.times
	if o.Detail {
		times = append(s.relative, times...)
	}
	judged := times
	left := 0
	if format == FormatTable && !o.Detail && !isOfPrograms(c) {
		all := len(counts) + len(times)
		counts = mostSignificant(counts, mostChanges/2+1)
		times = mostSignificant(times, mostChanges-len(counts))
		left = all - len(counts) - len(times)
	}
	if len(times) > 0 {
		p.Tables = append(p.Tables, comparisonTable("Times", times).dropEmpty())
	}
	if len(counts) > 0 {
		title := "Counts that changed"
		if isOfPrograms(c) {
			title = "Counts"
		}
		p.Tables = append(p.Tables, comparisonTable(title, counts).dropEmpty())
	}
	if slices.ContainsFunc(c.Changes, informs) {
		p.Notes = append(p.Notes, "in parentheses: for information, no gate judges it")
	}
	p.Notes = slices.Concat(p.Notes, c.Notes, basisNotes(judged))
	if slices.ContainsFunc(c.Changes, isOpen) {
		p.Notes = append(p.Notes, "too noisy to tell: four times as many samples halve an "+
			"interval: "+moreSamples(c))
	}
	if left > 0 {
		p.Notes = append(p.Notes, results.FormatCount(left, "figure")+" more with --detail")
	}
	return p
}

// isOpen reports whether a change that counts is hidden by noise.
func isOpen(ch stat.Change) bool { return ch.Verdict == stat.TooNoisy && !informs(ch) }

// moreSamples says how to get more samples for a comparison.
func moreSamples(c *stat.Comparison) string {
	switch {
	case c.Pairs > 0:
		return "give compare more time (--max-time)"
	case slices.ContainsFunc(c.Changes, func(ch stat.Change) bool { return ch.Cell != nil }):
		return "measure old and new again with run --samples or --max-time"
	}
	return "run both benchmarks again with a larger -count"
}

func informs(ch stat.Change) bool { return ch.Before.Metric.ShownOnly }

// sortedChanges are the changes that a page shows, one list per table.
type sortedChanges struct {
	counts   []stat.Change // counts that changed, or all counts of two programs
	times    []stat.Change
	relative []stat.Change // times beside raw
}

func sortChanges(c *stat.Comparison) sortedChanges {
	var s sortedChanges
	for _, ch := range c.Changes {
		isCount := ch.Before.Metric.Counter
		isOfFiles := c.Pairs == 0 && ch.Cell != nil
		switch {
		case isCount && (ch.Verdict != stat.NoChange || isOfPrograms(c)):
			s.counts = append(s.counts, ch)
		case isCount:
		case isOfFiles && ch.Interval != nil:
			s.relative = append(s.relative, ch)
		case !isOfFiles: // for files, a note says why there is no verdict
			s.times = append(s.times, ch)
		}
	}
	return s
}

// isOfPrograms reports whether the comparison is of two programs, which have few figures.
func isOfPrograms(c *stat.Comparison) bool { return c.Changes[0].Name == "" }

// mostSignificant returns the most significant changes, at most room of them.
func mostSignificant(changes []stat.Change, room int) []stat.Change {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, bySignificance)
	return sorted[:min(len(sorted), room)]
}

// basisNotes say on what the verdicts on times rest, or why there is no verdict: each reason once,
// with the number of times that it is about.
func basisNotes(times []stat.Change) []string {
	var order []string
	count := make(map[string]int)
	for _, ch := range times {
		if ch.Basis == "" {
			continue
		}
		if count[ch.Basis] == 0 {
			order = append(order, ch.Basis)
		}
		count[ch.Basis]++
	}
	var out []string
	for _, basis := range order {
		note := basis
		if count[basis] < len(times) {
			note = fmt.Sprintf("%d of %d times: %s", count[basis], len(times), basis)
		}
		out = append(out, note)
	}
	return out
}

// bySignificance sorts established changes first, changes for the worse before changes for the
// better, and then by how far figures moved.
func bySignificance(a, b stat.Change) int {
	return cmp.Compare(significance(b), significance(a))
}

func significance(ch stat.Change) float64 {
	moved := math.Log(math.MaxFloat64) // from nothing, or to nothing
	if ch.Ratio != nil {
		moved = math.Abs(math.Log(*ch.Ratio))
	}
	switch {
	case ch.Established() && ch.Worse() > 0:
		moved += 1e6
	case ch.Established():
		moved += 1e3
	}
	return moved
}

// mostWorse is how many changes for the worse the first line names.
const mostWorse = 3

// comparisonVerdict answers in a few sentences: what became worse, what became better, and by how
// much at most the rest may have changed. The tone is good if nothing is worse, something is known,
// and there is no doubt.
func comparisonVerdict(c *stat.Comparison) (tone Tone, text string) {
	a := tally{limit: cmp.Or(c.Limit, stat.Tolerance)}
	for _, ch := range c.Changes {
		a.add(ch)
	}
	for _, reason := range []string{c.Different, c.Doubt} {
		if reason != "" {
			text += strings.ToUpper(reason[:1]) + reason[1:] + ". "
		}
	}
	if c.Calls != "" {
		text += "The new one makes " + c.Calls + ". "
	}
	unsure := a.noisy + a.few + a.open + len(c.Unjudged)
	answer := "No verdict"
	switch {
	case len(a.worse) > 0:
		tone = Bad
		answer = fmt.Sprintf("%d of %d got %s: %s",
			len(a.worse), a.judged, worseWord(a.worse), namedChanges(a.worse, mostWorse))
		if a.judged == 1 && isOfPrograms(c) {
			answer = "The new one is " + worseWord(a.worse) + ": " + ChangeText(a.worse[0])
		}
	case c.Doubt != "" && isOfPrograms(c): // no verdict: the doubt says why
	case len(a.better)+a.times+a.notWorse > 0, a.wholes > 0 && a.wholeWithin <= stat.Tolerance:
		tone = goodUnless(c.Doubt)
		answer = "Nothing got slower"
		if a.timings == 0 {
			answer = "Nothing got worse"
		}
	case a.counts > 0 && unsure == 0:
		tone = goodUnless(c.Doubt)
		answer = "Nothing got worse"
	case a.noisy+a.few+len(c.Unjudged) > 0:
		answer = "No verdict on time"
	}
	if a.judged == 1 && a.times == 1 {
		return tone, fmt.Sprintf("%s%s; %s did not change by more than %s.", text, answer,
			a.unchanged.Metric, results.FormatPercent(100*a.within))
	}
	return tone, text + strings.Join(append([]string{answer}, a.rest()...), "; ") + "."
}

func goodUnless(doubt string) Tone {
	if doubt != "" {
		return Neutral
	}
	return Good
}

// A tally sorts and counts the figures of a comparison by their verdicts.
type tally struct {
	judged        int // figures that count for the verdict, not only inform
	worse, better []stat.Change
	times, counts int // that did not change
	notWorse      int // times that did not get worse, and may have got better
	noisy, few    int // times that moved too much, or that there are too few of
	open          int // figures that cannot be judged
	wholes        int // framings as a whole that did not change beyond chance

	limit     float64     // a change above it matters
	timings   int         // times that count for the verdict
	unchanged stat.Change // the last time that did not change

	within, mostWorse, wholeWithin float64 // the largest change that is not excluded
}

func (a *tally) add(ch stat.Change) {
	widest := 0.0
	if ch.Interval != nil {
		widest = max(1-ch.Interval.Lo, ch.Interval.Hi-1)
	}
	m := ch.Before.Metric
	if !m.ShownOnly {
		a.judged++
		if !m.Counter {
			a.timings++
		}
	}
	switch {
	case m.ShownOnly:
	case ch.Established() && ch.Worse() > 0:
		a.worse = append(a.worse, ch)
	case ch.Established():
		a.better = append(a.better, ch)
	case ch.IsWhole():
		a.wholes++
		a.wholeWithin = max(a.wholeWithin, widest)
	case ch.Verdict == stat.NoChange && m.Counter:
		a.counts++
	case ch.Verdict == stat.NoChange:
		a.times++
		a.unchanged = ch
		a.within = max(a.within, widest)
	case ch.Verdict == stat.TooNoisy && ch.Interval == nil:
		a.few++
	case ch.Verdict == stat.TooNoisy && ch.WorstCase() <= a.limit:
		a.notWorse++
		a.mostWorse = max(a.mostWorse, ch.WorstCase())
	case ch.Verdict == stat.TooNoisy:
		a.noisy++
	default:
		a.open++
	}
}

// rest says what did not get worse.
func (a *tally) rest() []string {
	var parts []string
	if len(a.better) > 0 {
		parts = append(parts, fmt.Sprintf("%d got better: %s",
			len(a.better), namedChanges(a.better, 1)))
	}
	if a.times > 0 {
		parts = append(parts, fmt.Sprintf("%s did not change by more than %s",
			results.FormatCount(a.times, "time"), results.FormatPercent(100*a.within)))
	}
	if a.notWorse > 0 {
		parts = append(parts, fmt.Sprintf("%s did not get worse by more than %s",
			results.FormatCount(a.notWorse, "time"),
			results.FormatPercent(100*max(a.mostWorse, 0))))
	}
	if a.noisy > 0 {
		verb := "are"
		if a.noisy == 1 {
			verb = "is"
		}
		parts = append(parts, fmt.Sprintf("%d of %s %s too noisy to tell a change of %s", a.noisy,
			results.FormatCount(a.timings, "timing"), verb, results.FormatPercent(100*a.limit)))
	}
	if a.few > 0 {
		parts = append(parts, results.FormatCount(a.few, "time")+" measured too seldom to tell")
	}
	if a.wholes > 0 {
		none := "no framing"
		if len(a.worse)+len(a.better) > 0 {
			none = "no other framing"
		}
		parts = append(parts, fmt.Sprintf("%s as a whole changed by more than %s",
			none, results.FormatPercent(100*a.wholeWithin)))
	}
	if a.counts > 0 {
		parts = append(parts, results.FormatCount(a.counts, "count")+" did not change")
	}
	if a.open > 0 {
		parts = append(parts, results.FormatCount(a.open, "figure")+" without a verdict")
	}
	return parts
}

// worseWord is "slower" if all of the changes are in time, else "worse".
func worseWord(worse []stat.Change) string {
	for _, ch := range worse {
		if ch.Verdict != stat.Slower {
			return "worse"
		}
	}
	return "slower"
}

// namedChanges names the most significant changes, and says how many others there are.
func namedChanges(changes []stat.Change, most int) string {
	shown := mostSignificant(changes, most)
	var names []string
	for _, ch := range shown {
		names = append(names, ChangeText(ch))
	}
	text := strings.Join(names, ", ")
	if more := len(changes) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// writeComparedBench writes a line for each value of both sides.
func writeComparedBench(w io.Writer, c *stat.Comparison) error {
	var lines []benchfmt.Record
	said := make(map[string]bool)
	for _, ch := range c.Changes {
		unit, scale := ch.BenchUnit()
		better := ch.Before.Metric.Better.String()
		if better != "" && !said[unit] {
			said[unit] = true
			key := benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}
			lines = append(lines, &benchfmt.UnitMetadata{
				UnitMetadataKey: key, OrigUnit: unit, Value: better,
			})
		}
		name := cmp.Or(ch.Name, "Program")
		lines = append(lines, sideLines(name, "old", ch.Before, unit, scale)...)
		lines = append(lines, sideLines(name, "new", ch.After, unit, scale)...)
	}
	return writeBenchLines(w, lines)
}

func sideLines(name, side string, s stat.Series, unit string, scale float64) []benchfmt.Record {
	var lines []benchfmt.Record
	for _, v := range s.Values {
		lines = append(lines, &benchfmt.Result{
			Name:   benchfmt.Name(benchtext.WithSide(name, side)),
			Iters:  int(s.Messages),
			Values: []benchfmt.Value{{Value: benchtext.Round(v * scale), Unit: unit}},
		})
	}
	return lines
}

// ComparisonFindings returns a finding for each figure of a comparison of two commands, without the
// run and the time.
func ComparisonFindings(c *stat.Comparison) []results.Finding {
	var out []results.Finding
	for _, ch := range c.Changes {
		title := ch.Metric
		if ch.Name != "" {
			title += " of " + ch.Name
		}
		words := strings.Fields(strings.ReplaceAll(ch.Name, "/", ":") + " " + ch.Metric)
		f := results.Finding{
			ID:      results.AreaCompare + "/" + strings.Join(words, "-"),
			Title:   title,
			About:   []string{c.New},
			Verdict: findingVerdict(ch),
			Found: fmt.Sprintf("%s: %s instead of %s, %s", VerdictText(string(ch.Verdict)),
				sideValue(ch.After, ch.New).Text, sideValue(ch.Before, ch.Old).Text,
				changeSize(ch)),
			Unit: ch.Before.Metric.Unit,
			Evidence: results.MustEvidence(map[string][]float64{
				"old": ch.Before.Values, "new": ch.After.Values,
			}),
		}
		if ch.Ratio != nil {
			f.Value = *ch.Ratio
		}
		out = append(out, f)
	}
	return out
}

func findingVerdict(ch stat.Change) results.Verdict {
	switch {
	case ch.Before.Metric.ShownOnly:
		return results.Noted
	case ch.Established() && ch.Worse() > 0:
		return results.Fails
	case ch.Established(), ch.Verdict == stat.NoChange:
		return results.OK
	}
	return results.CannotTell
}
