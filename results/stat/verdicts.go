package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// The metrics by which two files about servers and programs are compared.
var (
	verdictMetric = Metric{Name: "verdict", Unit: unitVerdict, Better: Lower, Counter: true}
	limitMetric   = Metric{Name: "limit", Unit: unitLimit, Better: Higher, Counter: true}
)

const (
	unitVerdict = "verdict"
	unitLimit   = "bytes"

	// searched is the largest size that drive tries on its own. If it works, there is no limit.
	searched = 64 << 20
)

// IsBehaviour reports whether the metric says how a server or program behaves: by a verdict or a
// limit.
func (m Metric) IsBehaviour() bool { return m.Unit == unitVerdict || m.Unit == unitLimit }

// verdictWords has the words for the values 0, 1 and 2 of verdictMetric.
var verdictWords = []string{string(results.OK), string(results.Slow), string(results.Fails)}

// severity returns the number for a verdict, a value of verdictMetric. The second result is false
// if the verdict does not say how something behaves.
func severity(verdict string) (float64, bool) {
	switch verdict {
	case results.VerdictNotTried, string(results.CannotTell), string(results.Unsupported):
		return 0, false
	case results.VerdictOK:
		return 0, true
	case results.VerdictSlow, results.VerdictSuperlinear:
		return 1, true
	}
	return 2, true
}

// verdictSeries lists the verdicts and limits that a set has about servers and programs.
func verdictSeries(s *results.Set) []Series {
	var list seriesList
	several := slices.ContainsFunc(s.Targets, func(t results.Target) bool {
		return !slices.Equal(t.Command, s.Targets[0].Command)
	})
	for _, t := range s.Targets {
		name := "Drive"
		if several {
			name += "/of=" + strings.Join(t.Command, " ")
		}
		list.addTarget(name, t)
	}
	for _, f := range s.FindingsOf(results.AreaCheck) {
		list.judge("Check/"+f.Name(), string(f.Verdict))
	}
	return list
}

// A seriesList has one list of values for each package, name, machine and metric.
type seriesList []Series

// find returns the series with this package, name, machine and metric. If there is none, it adds
// one.
func (l *seriesList) find(pkg, name, machine string, m Metric) *Series {
	i := slices.IndexFunc(*l, func(s Series) bool {
		return s.pkg == pkg && s.Name == name && s.Machine == machine && s.Metric.Name == m.Name
	})
	if i < 0 {
		i = len(*l)
		*l = append(*l, Series{Name: name, Metric: m, Machine: machine, pkg: pkg})
	}
	return &(*l)[i]
}

// set makes value the only value of a series.
func (l *seriesList) set(name string, m Metric, value float64) *Series {
	s := l.find("", name, "", m)
	s.Values = []float64{value}
	s.Figure = Median(s.Values)
	return s
}

// setLimit sets a limit that is less than below, or exact if below is 0.
func (l *seriesList) setLimit(name string, bytes int64, below float64) *Series {
	s := l.set(name, limitMetric, float64(bytes))
	s.below = below
	s.Figure.AtLeast = below > float64(bytes)+1
	return s
}

func (l *seriesList) judge(name, verdict string) {
	if v, told := severity(verdict); told {
		l.set(name, verdictMetric, v)
	}
}

func (l *seriesList) addTarget(name string, t results.Target) {
	if t.RequestLimit != nil {
		l.setLimit(name+"/requests", *t.RequestLimit, t.LimitBelow())
	}
	if t.ReplyLimit != nil {
		l.setLimit(name+"/replies", *t.ReplyLimit, t.LimitBelow())
	}
	search := t.Evidence.Limit
	if t.SearchedTo != nil && !t.RepliesStopped() {
		side := "/requests"
		if search != nil && search.Side == "reply" {
			side = "/replies"
		}
		s := l.setLimit(name+side, *t.SearchedTo, math.Inf(1))
		s.byRequests = search != nil && search.ByRequests
	}
	if t.Evidence.Growth != nil {
		l.judge(fmt.Sprintf("%s/growth/capacity=%d", name, t.Evidence.Capacity), t.Verdict)
	}
	if t.Size == 0 || t.Limit() != nil {
		return
	}
	if t.Size >= searched && t.Served() && t.Evidence.Load == nil {
		l.setLimit(name+"/requests", t.Size, math.Inf(1))
		size := t.Evidence.Size
		if t.Protocol == "mcp" && size != nil && size.ReplyBytes > searched/2 { // of a tool
			l.setLimit(name+"/replies", int64(size.ReplyBytes), math.Inf(1))
		}
	}
	name += fmt.Sprintf("/size=%d", t.Size)
	if load := t.Evidence.Load; load != nil {
		name += fmt.Sprintf("/inflight=%d/rate=%g", load.Inflight, load.Rate)
	}
	l.judge(name, t.Verdict)
}

// Limit says between which sizes a limit is: "65,536–131,071 B".
func (s Series) Limit() string {
	lo, hi := s.limitRange()
	text := FormatBytes(int64(lo))
	switch {
	case math.IsInf(hi, 1):
		return "≥ " + text
	case hi > lo+1:
		return results.FormatGrouped(int64(lo)) + "–" + FormatBytes(int64(hi)-1)
	}
	return text
}

// limitRange returns the least size that a limit can be, and one above all sizes that it can be.
func (s Series) limitRange() (lo, hi float64) {
	limit := s.Figure.Median
	return limit, max(s.below, limit+1)
}

// mayBeEqual reports whether two limits may be equal, as far as both are known.
func mayBeEqual(old, new Series) bool {
	oldLo, oldHi := old.limitRange()
	newLo, newHi := new.limitRange()
	return oldLo < newHi && newLo < oldHi
}

// compareLimits compares two limits that may be equal. There is no verdict if the new one may be
// lower, too: because a search was cut short after a failure, or because the new side was not
// searched as far.
func compareLimits(old, new Series) Change {
	const envelope = 1.01 // replies of one text differ in what is around it
	oldLo, oldHi := old.limitRange()
	newLo, newHi := new.limitRange()
	isRange := func(lo, hi float64) bool { return hi > lo+1 && !math.IsInf(hi, 1) }
	isEqual := oldLo <= envelope*newLo // as far as both are known
	if isEqual && !isRange(oldLo, oldHi) && !isRange(newLo, newHi) {
		return newChange(old, old)
	}
	change := newChange(old, new)
	change.Ratio = nil
	change.Exact = true
	change.Verdict = NoVerdict
	change.Basis = fmt.Sprintf("too little was searched (give drive more --max-time): it is %s, "+
		"and was %s", new.Limit(), old.Limit())
	return change
}

// FormatBytes writes an exact number of bytes: "10,485,759 B".
func FormatBytes(n int64) string { return results.FormatGrouped(n) + " B" }
