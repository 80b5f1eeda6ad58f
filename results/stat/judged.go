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
// limits, and the time of each size. Where the set is of several commands they are in the names.
func judgedSeries(s *results.Set) []Series {
	j := judged{set: s, several: len(servers(s)) > 1}
	for _, t := range s.Targets {
		j.command = t.Command
		j.addTarget(t)
	}
	for _, f := range s.Faults {
		var e struct {
			Command  []string `json:"command"`
			Protocol string   `json:"protocol"`
		}
		if f.Evidence.Decode(&e) == nil && e.Protocol != "" { // of a server
			j.command = e.Command
			j.addVerdict("Fault/"+f.ID, f.Verdict)
		}
	}
	for _, c := range s.Checks {
		j.command, j.several = nil, false // of a client it differs each time
		j.addVerdict("Check/"+c.Side+"/"+c.Name, c.Verdict)
	}
	return j.series()
}

// judged gathers values by name and metric.
type judged struct {
	set     *results.Set
	several bool
	command []string
	all     []Series
}

func (j *judged) add(name, machine string, m Metric, values ...float64) {
	if j.several {
		name += "/of=" + strings.Join(j.command, " ")
	}
	i := slices.IndexFunc(j.all, func(s Series) bool { return s.Name == name && s.Metric.Name == m.Name })
	if i < 0 {
		i = len(j.all)
		j.all = append(j.all, Series{Name: name, Metric: m, Machine: machine})
	}
	if m.Counter {
		j.all[i].Values = nil // the last word counts
	}
	j.all[i].Values = append(j.all[i].Values, values...)
}

func (j *judged) addVerdict(name, verdict string) {
	if v, told := severity(verdict); told {
		j.add(name, "", verdictMetric, v)
	}
}

func (j *judged) addTarget(t results.Target) {
	limits := map[string]*int64{"requests": t.RequestLimit, "replies": t.ReplyLimit}
	if e := t.Evidence.LimitEvidence; t.SearchedTo != nil {
		side := map[bool]string{true: "replies", false: "requests"}[e != nil && e.Side == "reply"]
		limits[side] = new(int64(noLimit))
	}
	for side, n := range limits {
		if n != nil {
			j.add("Drive/"+side, "", limitMetric, float64(*n))
		}
	}
	if g := t.Evidence.GrowthEvidence; g != nil {
		j.addVerdict(fmt.Sprintf("Drive/growth/capacity=%d", t.Evidence.Capacity), t.Verdict)
	}
	if t.Size == 0 || t.RequestLimit != nil || t.ReplyLimit != nil {
		return
	}
	name := fmt.Sprintf("Drive/size=%d", t.Size)
	if l := t.Evidence.LoadEvidence; l != nil {
		name += fmt.Sprintf("/inflight=%d/rate=%g", l.Inflight, l.Rate)
	}
	j.addVerdict(name, t.Verdict)
	if times := MustMetric("time"); t.Served() && len(t.Samples) > 0 {
		j.add(name, j.set.Machine(t.Run), times, times.Values(t.Samples)...)
	}
}

// series completes what was gathered.
func (j *judged) series() []Series {
	for i := range j.all {
		j.all[i].Figure = Median(j.all[i].Values)
	}
	return j.all
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
		for side, of := range map[int]*[]*results.Set{0: &before, 1: &after} {
			set := &results.Set{Environments: s.Environments}
			for _, t := range both[side] {
				t.Samples = Filter(t.Samples, func(s results.Sample) bool { return s.Round == i+1 })
				if i == 0 || len(t.Samples) > 0 {
					set.Add(t)
				}
			}
			*of = append(*of, set)
		}
	}
	return before, after
}
