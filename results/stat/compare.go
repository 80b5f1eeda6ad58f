package stat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// CompareOptions say what is compared.
type CompareOptions struct {
	// Metrics names the metrics to compare, or is empty for all.
	Metrics []string

	// Across allows verdicts on sides that were measured on different machines, and on the times of
	// Go benchmark text, which were measured one after the other.
	Across bool

	// Tolerance replaces the constant [Tolerance], if it is not 0.
	Tolerance float64
}

func (o CompareOptions) wants(m Metric) bool {
	return len(o.Metrics) == 0 || slices.ContainsFunc(o.Metrics, m.is)
}

// A Comparison is the result of comparing an old and a new side case by case. A case is a
// measurement, a server, a check or a benchmark.
type Comparison struct {
	Old     string   `json:"old"`
	New     string   `json:"new"`
	Pairs   int      `json:"pairs,omitempty"` // pairs of runs that took turns; 0: two files
	Changes []Change `json:"changes"`         // exact counters first
	OnlyOld []string `json:"only_old,omitempty"`
	OnlyNew []string `json:"only_new,omitempty"`
	Notes   []string `json:"notes,omitempty"`

	// Unjudged counts the measurements whose time got no verdict because something is missing in a
	// file.
	Unjudged []Unjudged `json:"unjudged,omitempty"`

	// Different says in what way two programs behave differently. Calls says which calls changed:
	// "16 reads instead of 1 (65,536 B)".
	Different string `json:"different,omitempty"`
	Calls     string `json:"calls,omitempty"`

	// Raw says how raw's own speed differs between two files: "raw is 12 % faster in the new file".
	Raw string `json:"raw,omitempty"`

	// NewFails is set if the new program or benchmark fails where the old one does not, as Doubt
	// says. A CI job fails then.
	NewFails bool `json:"new_fails,omitempty"`

	// Doubt says why a CI job cannot pass, whatever the figures are: something was not compared, or
	// a benchmark failed.
	Doubt string `json:"doubt,omitempty"`

	// Limit is the largest worsening that a CI job allows, as a share. It is 0 if none was set.
	Limit float64 `json:"-"`

	// Names are the names of the metrics that both sides have, even of those that were not asked
	// for.
	Names []string `json:"-"`

	tolerance float64
}

// An Unjudged is a reason why some measurements have no verdict on their time.
type Unjudged struct {
	Cells  int    `json:"cells"`
	Reason string `json:"reason"`

	lacks bool // a file lacks something that the verdict needs
}

// Compare compares two sides that were measured one after the other. It does not compare times, but
// their ratios to the time of raw, the framing that adds nothing. A slower machine then does not
// look like a change. Go benchmark text has no raw, so its times have no verdict without
// [CompareOptions.Across].
func Compare(before, after Dataset, o CompareOptions) *Comparison {
	c := newComparison(before, after, o)
	before.Series, after.Series = namePackages(before.Series, after.Series)
	times := c.compareCounters(before, after, o)
	if before.Set == nil || after.Set == nil {
		c.addTimes(times, o)
	} else {
		c.compareCells(before.Set, after.Set, o)
	}
	c.judge()
	c.note(before, after, o)
	return c
}

func newComparison(before, after Dataset, o CompareOptions) *Comparison {
	return &Comparison{
		Old:       before.Name,
		New:       after.Name,
		tolerance: cmp.Or(o.Tolerance, Tolerance),
	}
}

// collect notes in c.Names that both sides have a metric. It reports whether the options ask for
// the metric.
func (c *Comparison) collect(m Metric, o CompareOptions) bool {
	if !slices.Contains(c.Names, m.Name) {
		c.Names = append(c.Names, m.Name)
	}
	return o.wants(m)
}

// Missing returns a metric that the options ask for, but that is none of the named ones. If there
// is none, it returns "".
func (o CompareOptions) Missing(names []string) string {
	for _, asked := range o.Metrics {
		isAsked := func(name string) bool { return Metric{Name: name}.is(asked) }
		if !slices.ContainsFunc(names, isAsked) {
			return asked
		}
	}
	return ""
}

// compareCounters compares the counters that both sides have. It returns the changes of times,
// which have no verdict yet.
func (c *Comparison) compareCounters(before, after Dataset, o CompareOptions) (times []Change) {
	c.OnlyOld = alone(before.Series, after.Series, o)
	c.OnlyNew = alone(after.Series, before.Series, o)
	for _, old := range before.Series {
		i := counterpart(old, after.Series)
		if i < 0 {
			continue
		}
		new := after.Series[i]
		change := newChange(old, new)
		isOpen := old.Metric.Unit == unitLimit && mayBeEqual(old, new)
		if isOpen && new.byRequests {
			continue // it cannot tell more than the limit of requests
		}
		if isOpen {
			change = compareLimits(old, new)
		}
		if len(o.Metrics) > 0 { // whatever was asked for by its name is judged
			change.Before.Metric.ShownOnly = false
		}
		if isCount(change.Before, change.After) {
			change.Before.Metric.Counter = true
			change.After.Metric.Counter = true
		}
		switch {
		case !change.Before.Metric.Counter:
			times = append(times, change)
		case !c.collect(old.Metric, o): // nobody asked for it
		case change.Verdict != "":
			c.Changes = append(c.Changes, change)
		default:
			c.addCounter(change, o)
		}
	}
	return times
}

// alone returns the names of the cases, such as benchmarks, that only the first of two sides has.
// If the second side has the case but not the metric, the name is "allocs/op of Name".
func alone(own, other []Series, o CompareOptions) []string {
	var names []string
	for _, s := range own {
		if !o.wants(s.Metric) || counterpart(s, other) >= 0 {
			continue
		}
		name := s.Name
		isSameCase := func(theirs Series) bool { return theirs.Name == s.Name }
		if slices.ContainsFunc(other, isSameCase) {
			if s.Metric.IsPercentile() {
				continue // a slower machine may have too few samples for a percentile
			}
			name = s.Metric.Name + " of " + s.Name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// counterpart returns the index of the series that s is compared with, or -1 if there is none. It
// prefers a series from the same machine.
func counterpart(s Series, in []Series) int {
	found := -1
	for i, o := range in {
		if o.Name != s.Name || o.Metric.Name != s.Metric.Name {
			continue
		}
		if o.Machine == s.Machine {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// addTimes adds the times of benchmarks, which have no raw bytes to compare them with.
func (c *Comparison) addTimes(times []Change, o CompareOptions) {
	for _, change := range times {
		if !c.collect(change.Before.Metric, o) {
			continue
		}
		oldLogs := logsOf(change.Before.Values)
		newLogs := logsOf(change.After.Values)
		switch {
		case change.machinesDiffer() && !o.Across:
			change.Verdict, change.Basis = change.machineVerdict()
		case change.Before.Metric.IsTime() && !o.Across:
			change.Verdict = MeasuredApart
			change.Basis = "measured one after the other, so the machine may be what changed: " +
				"compare the binaries of go test -c in turns (pipebench help ci); " +
				"--across judges the times all the same"
		case min(len(change.Before.Values), len(change.After.Values)) < LeastSamples:
			change.Verdict = TooNoisy
			change.Basis = fmt.Sprintf("fewer than %d lines on a side: use -count %d",
				LeastSamples, LeastSamples)
		case min(len(oldLogs), len(newLogs)) < LeastSamples:
			change.judgeZeros()
		default:
			change.logRatio = medianOfLines(newLogs).minus(medianOfLines(oldLogs))
		}
		c.Changes = append(c.Changes, change)
	}
}

// judge gives verdicts on the changes that have an estimate in logRatio. The more such changes
// there are, the surer each verdict has to be (Bonferroni's correction).
func (c *Comparison) judge() {
	n := 0
	for _, change := range c.Changes {
		if change.logRatio.n > 0 && !change.Before.Metric.ShownOnly {
			n++
		}
	}
	n = max(n, 1)
	for i := range c.Changes {
		change := &c.Changes[i]
		if change.logRatio.n == 0 {
			continue
		}
		alpha := DefaultAlpha / float64(n)
		change.setInterval(1 - Confidence)
		lo, hi := change.logRatio.interval(alpha)
		change.decide(lo, hi, c.tolerance)
		if change.Verdict == TooNoisy && change.Interval != nil && change.BestCase() > 0 {
			change.setInterval(alpha) // this one shows why there is no verdict
		}
	}
}

// note adds notes for the reader. It sets Doubt if a CI job must not pass.
func (c *Comparison) note(before, after Dataset, o CompareOptions) {
	isOld := func(name string) bool { return slices.Contains(before.Failed, name) }
	failed := slices.DeleteFunc(slices.Clone(after.Failed), isOld)
	switch {
	case len(failed) > 0:
		c.NewFails = true
		c.Doubt = fmt.Sprintf("%s failed in %s", someOf(failed), after.Name)
	case len(c.OnlyOld) > 0:
		c.Doubt = fmt.Sprintf("only %s has %s", c.Old, lacking(c.OnlyOld, after))
	case len(before.Failed) > 0:
		c.Doubt = fmt.Sprintf("%s failed in %s", someOf(before.Failed), before.Name)
	}
	missing := o.Missing(c.Names)
	switch {
	case len(c.OnlyNew) > 0:
		why := fmt.Sprintf("only %s has %s", c.New, lacking(c.OnlyNew, before))
		c.Notes = append(c.Notes, why)
		if missing != "" {
			c.Doubt = cmp.Or(c.Doubt, why)
		}
	case missing != "":
		c.Doubt = cmp.Or(c.Doubt, fmt.Sprintf("metric %s is not in both; compared were %s",
			missing, strings.Join(c.Names, ", ")))
	}
	for _, p := range slices.Concat(before.Problems, after.Problems) {
		c.Notes = append(c.Notes, p.String())
	}
}

// WhyNothing says why there is nothing to compare.
func (c *Comparison) WhyNothing() string {
	reasons := c.Notes
	if c.Doubt != "" && !slices.Contains(c.Notes, c.Doubt) {
		reasons = append([]string{c.Doubt}, c.Notes...)
	}
	return "nothing to compare: " + strings.Join(reasons, "; ")
}

// lacking names what a side lacks. For the files of drive about one server, it says why if a record
// does.
func lacking(names []string, side Dataset) string {
	text := someOf(names)
	_, figure, isDrive := strings.Cut(names[0], "Drive/")
	if side.Set == nil || !isDrive || strings.HasPrefix(figure, "of=") {
		return text
	}
	why := ""
	for _, t := range side.Set.Targets {
		if t.Verdict == results.VerdictNotTried {
			why = ": " + t.Evidence.Why
		}
	}
	return fmt.Sprintf("%s (not tried in %s%s)", text, side.Name, why)
}

// someOf names at most three of the names, and counts the others.
func someOf(names []string) string {
	text := strings.Join(names[:min(3, len(names))], ", ")
	if more := len(names) - 3; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
