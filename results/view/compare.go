package view

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteComparison writes a comparison of two sides. It returns [ErrNothing] if no figure was
// measured on both sides. [FormatBench] is for the command benchstat -col /side.
func WriteComparison(w io.Writer, c *stat.Comparison, format Format, o Options) error {
	if len(c.Changes) == 0 {
		return fmt.Errorf("compare %s and %s: %w: %s", c.Old, c.New, ErrNothing, c.WhyNothing())
	}
	switch format {
	case FormatJSON:
		return WriteJSON(w, c)
	case FormatCSV:
		return comparisonTable("", c.Changes, gateLimit(c)).Write(w, FormatCSV, o)
	case FormatBench:
		return writeComparedBench(w, c)
	}
	return comparisonPage(c, format, o).Write(w, format, o)
}

// mostChanges is the largest number of changed figures that a screen lists one by one.
const mostChanges = 12

// comparisonPage says what changed, and shows the figures. Without [Options.Detail], long lists of
// changes are shortened for a terminal.
func comparisonPage(c *stat.Comparison, format Format, o Options) Page {
	how := "measured one after the other"
	if c.Pairs > 0 {
		how = results.FormatCount(c.Pairs, "interleaved pair")
	}
	var p Page
	p.Tone, p.Verdict = comparisonVerdict(c)
	p.Header = []string{fmt.Sprintf("%s against %s: %s", c.New, c.Old, how)}
	times, rest, counts := sortChanges(c, o.Detail || isOfPrograms(c))
	all := len(counts) + len(times) + len(rest)
	if !isOfPrograms(c) {
		most := math.MaxInt
		if format == FormatTable && !o.Detail {
			times = slices.DeleteFunc(times, isInformation)
			most = mostChanges
		}
		counts = mostSignificant(counts, most/2+1)
		times = mostSignificant(times, most-len(counts))
		rest = mostSignificant(rest, most-len(counts)-len(times))
	}
	leftOut := all - len(counts) - len(times) - len(rest)
	countsTitle := "Counts"
	if isOfPrograms(c) {
		countsTitle = "Counts, the least of all starts"
	}
	limit := gateLimit(c)
	p.addTable(comparisonTable("Times", times, limit))
	p.addTable(comparisonTable("Other figures", rest, limit))
	p.addTable(comparisonTable(countsTitle, counts, limit))
	if slices.ContainsFunc(slices.Concat(times, counts), isInformation) {
		p.Notes = append(p.Notes, "in parentheses: for information, no gate judges it")
	}
	if c.Pairs > 0 && len(times)+len(rest) > 0 {
		p.Notes = append(p.Notes, "change compares pair by pair; old and new are medians")
	}
	p.Notes = slices.Concat(p.Notes, c.Notes, basisNotes(c.Changes))
	isHidden := func(ch stat.Change) bool { // whether noise hides what the reader asks about
		isOpen := ch.Verdict == stat.TooNoisy && !isInformation(ch) && !isNotWorse(ch, limit)
		return isOpen && ch.Cell != nil
	}
	if c.Pairs == 0 && slices.ContainsFunc(c.Changes, isHidden) {
		p.Notes = append(p.Notes, "too noisy to tell: compare both in turns on one machine "+
			"(pipebench help ci), or measure longer (pipebench run --max-time 1m)")
	}
	if leftOut > 0 {
		p.Notes = append(p.Notes, results.FormatCount(leftOut, "figure")+" more with --detail")
	}
	return p
}

// isInformation reports whether a figure is only shown, and not judged.
func isInformation(ch stat.Change) bool { return ch.Before.Metric.ShownOnly }

// sortChanges returns the changes that a page shows: times, other figures that may change by
// chance, such as memory, and the counts that changed, or all counts.
func sortChanges(c *stat.Comparison, allCounts bool) (times, rest, counts []stat.Change) {
	for _, ch := range c.Changes {
		isCount := ch.Before.Metric.Counter
		switch {
		case isCount && (ch.Verdict != stat.NoChange || allCounts):
			counts = append(counts, ch)
		case isCount: // did not change
		case !ch.Before.Metric.IsTime():
			rest = append(rest, ch)
		case ch.Verdict == stat.DifferentMachines: // a note says so
		default:
			times = append(times, ch)
		}
	}
	return times, rest, counts
}

// isOfPrograms reports whether two whole programs are compared. Their changes have no name.
func isOfPrograms(c *stat.Comparison) bool { return c.Changes[0].Name == "" }

// mostSignificant returns at most limit changes, beginning with the most significant one.
func mostSignificant(changes []stat.Change, limit int) []stat.Change {
	ordered := slices.Clone(changes)
	slices.SortStableFunc(ordered, func(a, b stat.Change) int {
		return cmp.Compare(significance(b), significance(a))
	})
	return ordered[:min(len(ordered), limit)]
}

// basisNotes say why figures have no verdict. They count the figures as the page's verdict does.
func basisNotes(changes []stat.Change) []string {
	judged := slices.DeleteFunc(slices.Clone(changes), isInformation)
	var out []string
	for _, same := range grouped(judged, func(ch stat.Change) string { return ch.Basis }) {
		note := same[0].Basis
		isNoted := same[0].Cell != nil && same[0].Verdict == stat.DifferentMachines
		if isNoted && same[0].Before.Metric.IsTime() {
			continue // "not judged: 9 cells: …" is among the notes
		}
		if note != "" && len(same) < len(judged) {
			which := fmt.Sprintf("%d of %d figures", len(same), len(judged))
			if len(same) == 1 {
				which = figureName(same[0])
			}
			note = which + ": " + note
		}
		out = append(out, note)
	}
	return nonEmpty(out)
}

// significance ranks a change. It is largest for figures that surely got worse, smaller for other
// sure changes, and smallest for the rest.
func significance(ch stat.Change) float64 {
	moved := math.Log(math.MaxFloat64) // for a change from or to zero
	if ch.Ratio != nil {
		moved = math.Abs(math.Log(*ch.Ratio)) // always below 1e3
	}
	switch {
	case ch.Established() && ch.Worse() > 0:
		moved += 1e6
	case ch.Established():
		moved += 1e3
	}
	return moved
}

// ComparisonFindings turns each figure of a comparison of two commands into a finding. The caller
// adds the run and the time.
func ComparisonFindings(c *stat.Comparison) []results.Finding {
	var out []results.Finding
	for _, ch := range c.Changes {
		words := strings.Fields(strings.ReplaceAll(ch.Name, "/", ":") + " " + ch.Metric)
		f := results.Finding{
			ID:      results.AreaCompare + "/" + strings.Join(words, "-"),
			Title:   figureName(ch),
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
	case isInformation(ch):
		return results.Noted
	case ch.Established() && ch.Worse() > 0:
		return results.Fails
	case ch.Established(), ch.Verdict == stat.NoChange:
		return results.OK
	}
	return results.CannotTell
}
