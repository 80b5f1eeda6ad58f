package stat

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// What two files of servers and programs are compared in beside times. Neither depends on the
// machine.
var (
	verdictMetric = Metric{
		Name: "verdict", Title: "ok, slow or fails",
		Unit: unitVerdict, Better: Lower, Counter: true,
	}
	limitMetric = Metric{
		Name: "limit", Title: "largest message that works",
		Unit: unitLimit, Better: Higher, Counter: true,
	}
)

const (
	unitVerdict = "verdict"
	unitLimit   = "bytes"

	noLimit = 1 << 50 // stands for none that was found
)

// verdictWords are by value of the metric.
var verdictWords = []string{string(results.OK), string(results.Slow), string(results.Fails)}

// severity returns the value of a verdict; false for one that says nothing about what was judged.
func severity(verdict string) (float64, bool) {
	switch verdict {
	case results.VerdictNotTried, string(results.CannotTell):
		return 0, false
	case results.VerdictOK:
		return 0, true
	case results.VerdictSlow, results.VerdictSuperlinear:
		return 1, true
	}
	return 2, true
}

// A judgedList gathers series of servers and programs: one for each name and metric.
type judgedList struct {
	all []Series
	at  map[judgedKey]int
}

type judgedKey struct{ name, metric string }

// add appends values to a series. Of what is counted the last word counts.
func (l *judgedList) add(name, machine string, m Metric, values ...float64) {
	key := judgedKey{name, m.Name}
	i, known := l.at[key]
	if !known {
		i = len(l.all)
		l.at[key] = i
		l.all = append(l.all, Series{Name: name, Metric: m, Machine: machine})
	}
	if m.Counter {
		l.all[i].Values = nil
	}
	l.all[i].Values = append(l.all[i].Values, values...)
}

// judge adds a verdict, if it says something about what was judged.
func (l *judgedList) judge(name, verdict string) {
	if v, told := severity(verdict); told {
		l.add(name, "", verdictMetric, v)
	}
}

// judgedSeries lists what a set says of servers and programs as far as it can be compared:
// verdicts, limits, and the time of each size. If the set is of several servers they are in the
// names.
func judgedSeries(s *results.Set) []Series {
	list := judgedList{at: make(map[judgedKey]int)}
	several := slices.ContainsFunc(s.Targets, func(t results.Target) bool {
		return !slices.Equal(t.Command, s.Targets[0].Command)
	})
	for _, t := range s.Targets {
		name := "Drive"
		if several {
			name += "/of=" + strings.Join(t.Command, " ")
		}
		list.addTarget(name, s.Machine(t.Run), t)
	}
	for _, f := range s.FindingsOf(results.AreaFailure) {
		var of struct{ Protocol string }
		if f.Evidence.Decode(&of) == nil && of.Protocol != "" { // a server's
			list.judge("Fault/"+f.Name(), f.Class)
		}
	}
	for _, f := range s.FindingsOf(results.AreaCheck) {
		list.judge("Check/"+f.Name(), string(f.Verdict))
	}
	for i := range list.all {
		list.all[i].Figure = Median(list.all[i].Values)
	}
	return list.all
}

// addTarget adds what a record says of a server.
func (l *judgedList) addTarget(name, machine string, t results.Target) {
	requests, replies := limitsOf(t)
	if requests >= 0 {
		l.add(name+"/requests", "", limitMetric, requests)
	}
	if replies >= 0 {
		l.add(name+"/replies", "", limitMetric, replies)
	}
	if t.Evidence.Growth != nil {
		l.judge(fmt.Sprintf("%s/growth/capacity=%d", name, t.Evidence.Capacity), t.Verdict)
	}
	if t.Size == 0 || t.RequestLimit != nil || t.ReplyLimit != nil {
		return
	}
	name += fmt.Sprintf("/size=%d", t.Size)
	if load := t.Evidence.Load; load != nil {
		name += fmt.Sprintf("/inflight=%d/rate=%g", load.Inflight, load.Rate)
	}
	l.judge(name, t.Verdict)
	if t.Served() && len(t.Samples) > 0 {
		times := MustMetric("time")
		l.add(name, machine, times, times.Values(t.Samples)...)
	}
}

// limitsOf returns the limits that a record is about, in bytes, and -1 for a side that it does not
// tell of.
func limitsOf(t results.Target) (requests, replies float64) {
	requests, replies = -1, -1
	if t.RequestLimit != nil {
		requests = float64(*t.RequestLimit)
	}
	if t.ReplyLimit != nil {
		replies = float64(*t.ReplyLimit)
	}
	if t.SearchedTo == nil {
		return requests, replies
	}
	if e := t.Evidence.Limit; e != nil && e.Side == "reply" {
		return requests, noLimit
	}
	return noLimit, replies
}

// FormatBytes writes an exact number of bytes: "10,485,759 B".
func FormatBytes(n int64) string { return results.FormatGrouped(n) + " B" }

// MedianTime returns the median of the samples' time a message, in ns; 0 without samples.
func MedianTime(samples []results.Sample) float64 { return EstimateOf("time", samples).Median }

// LinearFrom is the message size, in bytes, from which on the growth of a target's time is taken:
// below, what every request costs whatever its size is most of its time, and hides how it grows.
const LinearFrom = 64 << 10

// A TargetGrowth is how a server's time grows with the size of a message. It is judged by the
// processor time that the server used, which other work on the machine hardly changes, and by the
// time that passed where the processor time is not known.
type TargetGrowth struct {
	Growth
	Wall     *float64 // exponent of the time that passed, if Growth is that of the processor time
	From, To int      // message sizes, in bytes
	Capacity int      // of the pipe, in bytes: a server reads no more at a time; 0 if not known
	// ShowsAt is the first size at which a byte costs at least half as much again as before, in
	// bytes; 0 if there is none.
	ShowsAt int
}

// leastMessages is how many messages of a size have to be measured for it to count: a single one
// may have met a server that warms up, or a machine that was busy.
const leastMessages = 2

// FitTargetGrowth fits the growth to those of the targets that were served, ascending in size, from
// [LinearFrom] on and with two messages at least; nil where they are fewer than three.
func FitTargetGrowth(targets []results.Target) *TargetGrowth {
	g := TargetGrowth{From: math.MaxInt}
	var sizes, wall, cpu []float64
	for _, t := range targets {
		ns := MedianTime(t.Samples)
		var messages, spent int64
		for _, s := range t.Samples {
			messages += s.Messages
			if s.Reader.CPUNS != nil {
				spent += *s.Reader.CPUNS
			}
		}
		if !t.Served() || t.Size < LinearFrom || ns <= 0 || messages < leastMessages {
			continue
		}
		sizes, wall = append(sizes, float64(t.Size)), append(wall, ns)
		if spent > 0 {
			cpu = append(cpu, float64(spent)/float64(messages))
		}
		g.From, g.To = min(g.From, int(t.Size)), max(g.To, int(t.Size))
		g.Capacity = t.Samples[0].Capacity
	}
	if len(sizes) < 3 {
		return nil
	}
	times := wall
	if len(cpu) == len(sizes) {
		if passed, err := FitGrowth(sizes, wall); err == nil {
			times, g.Wall = cpu, &passed.Slope
		}
	}
	var err error
	if g.Growth, err = FitGrowth(sizes, times); err != nil {
		return nil
	}
	g.ShowsAt = dearer(sizes, times)
	return &g
}

// half is by how much a byte has to cost more than it did for growth to show.
const half = 1.5

// dearer returns the first size at which a byte costs half as much again as at the best size below.
func dearer(sizes, times []float64) int {
	best := math.Inf(1)
	for i, size := range sizes {
		cost := times[i] / size
		if cost >= half*best {
			return int(size)
		}
		best = min(best, cost)
	}
	return 0
}

// Evidence returns the growth as it stands in a record, whose capacity has a field of its own.
func (g TargetGrowth) Evidence() *results.GrowthEvidence {
	e := &results.GrowthEvidence{
		Slope:     g.Slope,
		WallSlope: g.Wall,
		Points:    g.Points,
		From:      g.From,
		To:        g.To,
		ShowsAt:   g.ShowsAt,
	}
	if g.Interval != nil {
		e.SlopeLo = &g.Interval.Lo
		e.SlopeHi = &g.Interval.Hi
	}
	return e
}

// RecordedGrowth returns the growth that a record is about, if it is about one.
func RecordedGrowth(t results.Target) (g TargetGrowth, ok bool) {
	e := t.Evidence.Growth
	if e == nil {
		return g, false
	}
	g = TargetGrowth{
		Wall:     e.WallSlope,
		From:     e.From,
		To:       e.To,
		Capacity: t.Evidence.Capacity,
		ShowsAt:  e.ShowsAt,
	}
	g.Slope = e.Slope
	g.Points = e.Points
	if e.SlopeLo != nil && e.SlopeHi != nil {
		g.Interval = &Interval{Lo: *e.SlopeLo, Hi: *e.SlopeHi}
	}
	return g, true
}

// unknownSlope is the half-width of an interval from which on the exponent could be that of
// anything.
const unknownSlope = 1

// String says how time grows, in a sentence.
func (g TargetGrowth) String() string {
	s := "time is " + g.Growth.String()
	switch {
	case g.Slope > FastGrowth: // what follows says how sure that is
		s = "time grows with " + g.exponent()
	case g.Interval != nil && g.Interval.Hi-g.Interval.Lo > 2*unknownSlope:
		s = "time is too noisy to tell how it grows"
	case g.Slope < 2-FastGrowth: // "slower than linear" is read as slow
		s = "time grows more slowly than the message (" + g.exponent() + ")"
	}
	if g.Wall != nil {
		s = "the server's CPU " + s
	}
	from, to := results.FormatSize(int64(g.From)), results.FormatSize(int64(g.To))
	s += fmt.Sprintf(" from %s to %s", from, to)
	if g.Capacity > 0 {
		s += fmt.Sprintf(" in %s pipes", results.FormatSize(int64(g.Capacity)))
	}
	switch {
	case g.Fast():
		s += ": faster than linear"
	case g.MayBeFast() && g.Interval != nil && g.Interval.Lo > 1:
		s += fmt.Sprintf(": may grow faster than linear, "+
			"but %d sizes are too few to be sure", g.Points)
	case g.MayBeFast():
		s += ": may grow faster than linear, but the interval reaches 1"
	default:
		return s
	}
	if g.ShowsAt > 0 {
		s += fmt.Sprintf("; it shows from %s on", results.FormatSize(int64(g.ShowsAt)))
	}
	return s
}
