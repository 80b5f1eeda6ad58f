package drive

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Judge evaluates an assertion on what records say about servers, in the one grammar of the project: "limit>=16MiB" about both directions,
// "slope<1.3" about every growth that was measured, and the metrics of a sweep, such as "p99<50ms@64KiB".
//
// A slope is the one of the records, which is taken from the sizes where it says something; a limit that was not searched for is no limit up
// to the largest message that was served.
func Judge(a stat.Assert, set *results.Set) stat.Assertion {
	switch a.Metric {
	case "slope":
		return judgeSlope(a, set)
	case "limit":
		return judgeLimit(a, set)
	}
	return a.Evaluate(set)
}

func judgeSlope(a stat.Assert, set *results.Set) stat.Assertion {
	var cases []figure
	for _, t := range set.Targets {
		if slope, ok := number(fields(t)["slope"]); ok {
			f := figure{name: growthSentence(t, slope), text: fmt.Sprintf("%.2f", slope), value: slope}
			if lo, known := number(fields(t)["slope_lo"]); known && lo <= 1 {
				f.doubt = "the interval reaches 1"
			}
			cases = append(cases, f)
		}
	}
	return judgeAll(a, cases, "the growth was not measured: it takes three sizes of 64 KiB and more")
}

func judgeLimit(a stat.Assert, set *results.Set) stat.Assertion {
	var cases []figure
	served := int64(0)
	for _, t := range set.Targets {
		switch {
		case t.RequestLimit != nil:
			cases = append(cases, figure{name: "requests", text: bytesText(int(*t.RequestLimit)), value: float64(*t.RequestLimit)})
		case t.ReplyLimit != nil:
			cases = append(cases, figure{name: "replies", text: bytesText(int(*t.ReplyLimit)), value: float64(*t.ReplyLimit)})
		case t.SearchedTo != nil && fields(t)["side"] == "request":
			served = max(served, *t.SearchedTo)
		case t.Size > 0 && Verdict(t.Verdict).Works():
			served = max(served, t.Size)
		}
	}
	if len(cases) == 0 && served > 0 {
		cases = append(cases, figure{name: "requests", text: bytesText(int(served)) + " or more", value: float64(served), least: true})
	}
	return judgeAll(a, cases, "nothing was served")
}

// A figure is one of those that an assertion is about.
type figure struct {
	name, text string
	value      float64
	least      bool   // the true one is this or more
	doubt      string // why a figure that is too large may be so by chance; "" where it is not
}

func judgeAll(a stat.Assert, figures []figure, without string) stat.Assertion {
	out := stat.Assertion{Assert: a.Text, Outcome: stat.Holds}
	if len(figures) == 0 {
		out.Outcome, out.Why = stat.CannotTell, without
	}
	for _, f := range figures {
		c := stat.AssertCase{Case: f.name, Value: f.text, Outcome: stat.Fails}
		if holds(a, f.value) {
			c.Outcome = stat.Holds
		}
		if f.doubt != "" && c.Outcome == stat.Fails && strings.HasPrefix(a.Op, "<") {
			c.Outcome, c.Why = stat.CannotTell, f.doubt
		}
		if upward := strings.HasPrefix(a.Op, ">"); f.least && upward != (c.Outcome == stat.Holds) {
			c.Outcome, c.Why = stat.CannotTell, "it was not searched further"
		}
		out.Cases = append(out.Cases, c)
		if c.Outcome == stat.Fails || c.Outcome == stat.CannotTell && out.Outcome == stat.Holds {
			out.Outcome, out.Why = c.Outcome, c.Case+": "+c.Value
		}
	}
	return out
}

func holds(a stat.Assert, value float64) bool {
	switch a.Op {
	case "<":
		return value < a.Value
	case "<=":
		return value <= a.Value
	case ">":
		return value > a.Value
	}
	return value >= a.Value
}
