package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// noticeable is the share below which a difference counts as none where a document says "no" or "no
// significant" difference: a machine that does nothing else moves that much between two runs.
const noticeable = 0.05

// A Ratio compares a cell's figure with that of the same messages as plain lines, round by round.
type Ratio struct {
	Framing   string        `json:"framing"`
	Size      int           `json:"size"`
	Placement string        `json:"placement"`
	Ratio     stat.Estimate `json:"ratio"`
}

// ratios compares a framing with plain lines by one metric, for every size and placement of a
// pattern.
func ratios(records []results.Record, metric, framing, pattern string, least int) []Ratio {
	m := stat.MustMetric(metric)
	var out []Ratio
	for _, a := range records {
		if a.Cell.Framing != framing || a.Cell.Pattern != pattern || a.Cell.Size < least {
			continue
		}
		lines := a.Cell
		lines.Framing = "ndjson"
		for _, b := range records {
			if b.Cell == lines {
				e := stat.PairedRatio(m, []results.Record{a}, []results.Record{b})
				if e.N > 0 {
					out = append(out, Ratio{framing, a.Cell.Size, a.Cell.Placement, e})
				}
			}
		}
	}
	return out
}

// compareAll judges ratios against a bound: none of them may lie above it. It is unsure where no
// interval lies on the one side, or none on the other, and some on both.
func compareAll(all []Ratio, bound float64) (verdict string, unsure bool) {
	above, below := 0, 0
	for _, r := range all {
		switch {
		case r.Ratio.Above(bound):
			above++
		case r.Ratio.Interval != nil && r.Ratio.Interval.Hi <= bound:
			below++
		}
	}
	switch {
	case len(all) > 0 && below == len(all):
		return Holds, false
	case len(all) > 0 && above == len(all):
		return Refuted, false
	}
	return Depends, above == 0 || below == 0
}

// ratioRange writes the lowest and the highest median with their intervals.
func ratioRange(all []Ratio) string {
	if len(all) == 0 {
		return "no figure"
	}
	byMedian := func(a, b Ratio) int { return cmp.Compare(a.Ratio.Median, b.Ratio.Median) }
	lo, hi := slices.MinFunc(all, byMedian), slices.MaxFunc(all, byMedian)
	n := slices.MinFunc(all, func(a, b Ratio) int { return a.Ratio.N - b.Ratio.N }).Ratio.N
	return fmt.Sprintf("%s at %s to %s at %s, n = %d", estimate(lo.Ratio), lo.at(), estimate(hi.Ratio), hi.at(), n)
}

func (r Ratio) at() string {
	return results.FormatSize(int64(r.Size)) + " " + r.Placement
}

// estimate writes a ratio with its interval.
func estimate(e stat.Estimate) string {
	if e.Interval == nil {
		return "×" + results.FormatNumber(e.Median, 3)
	}
	return fmt.Sprintf("×%s [%s, %s]", results.FormatNumber(e.Median, 3), results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
}

// A tally names the cases of a claim that went one way and the other.
type tally struct{ yes, no []string }

func (t *tally) add(name string, ok bool) {
	if ok {
		t.yes = append(t.yes, name)
		return
	}
	t.no = append(t.no, name)
}

// verdict is that of a claim which covers all cases.
func (t tally) verdict() string {
	switch {
	case len(t.no) == 0 && len(t.yes) > 0:
		return Holds
	case len(t.yes) == 0:
		return Refuted
	}
	return Depends
}

// judge gives the reason that goes with the verdict; to the one for some cases it adds those that
// went the other way.
func (t tally) judge(figure, all, none, some string) Judgement {
	why := map[string]string{Holds: all, Refuted: none, Depends: some + list(t.no)}
	return judged(t.verdict(), figure, why[t.verdict()])
}

func (t tally) figure() string {
	return fmt.Sprintf("%d of %d", len(t.yes), len(t.yes)+len(t.no))
}

// list joins names, or says that there are none.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// A ruling is the verdict, and the reason for it, where a condition holds.
type ruling struct {
	when         bool
	verdict, why string
}

// decide applies the first ruling whose condition holds; that of the last always does.
func decide(figure string, all ...ruling) Judgement {
	r := all[slices.IndexFunc(all, func(r ruling) bool { return r.when })]
	return judged(r.verdict, figure, r.why)
}

func judged(verdict, figure, why string) Judgement {
	return Judgement{Verdict: verdict, Figure: figure, Why: why}
}

// holdsIf judges a claim that holds or is refuted.
func holdsIf(ok bool, figure, holding, refuting string) Judgement {
	return decide(figure, ruling{ok, Holds, holding}, ruling{true, Refuted, refuting})
}
