package stat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A Better says which way a metric improves.
type Better int

// The ways in which a metric can improve.
const (
	Lower   Better = -1
	Neither Better = 0
	Higher  Better = +1
)

// String is the word that the Go benchmark format has for it, "" for neither.
func (b Better) String() string {
	return map[Better]string{Lower: "lower", Higher: "higher"}[b]
}

// A Metric is one figure that a sample gives, under one name everywhere: in assertions,
// comparisons, CSV columns and JSON.
type Metric struct {
	Name   string // "goodput"
	Title  string // "goodput, payload bytes a second"
	Unit   string // what its values are in: "B/s", "ns", "%", "B", "" for a count
	Better Better

	// Counter is set for what is counted, not timed. A counter that is the same in every sample of
	// a cell is exact, and any change of it is real.
	Counter bool

	// fixed is how much of a counter one sample may have whatever it carries: the read that finds
	// the end, the runtime's own allocations.
	fixed float64

	latency bool // a point of a latency distribution, which not every pattern has

	of func(results.Sample) (float64, bool)
}

// Value is the metric of one sample; false where the sample does not carry it.
func (m Metric) Value(s results.Sample) (float64, bool) { return m.of(s) }

// Values are the metric of each sample that carries it, in their order.
func (m Metric) Values(samples []results.Sample) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := m.of(s); ok {
			out = append(out, v)
		}
	}
	return out
}

// Format writes a value of the metric with its unit, as every view does.
func (m Metric) Format(v float64) string { return results.FormatUnit(v, m.Unit) }

// metrics are all but the percentiles, in the order in which views show them.
var metrics = []Metric{
	{Name: "goodput", Title: "payload bytes a second, one way", Unit: "B/s", Better: Higher, of: goodput},
	{Name: "rate", Title: "messages a second", Unit: "msg/s", Better: Higher, of: rate},
	{Name: "time", Title: "time a message (of a round trip: a trip)", Unit: "ns", Better: Lower, of: perMessage(func(s results.Sample) *int64 { return &s.ElapsedNS })},
	{Name: "overhead", Title: "bytes on the wire beyond the payload", Unit: "%", Better: Lower, Counter: true, of: overhead},
	{Name: "wire", Title: "bytes on the wire a message", Unit: "B", Better: Lower, Counter: true, of: perMessage(func(s results.Sample) *int64 { return &s.WireBytes })},
	{Name: "calls", Title: "system calls a message, both ends", Better: Lower, Counter: true, fixed: 2, of: perMessage(func(s results.Sample) *int64 { return new(s.Writer.Calls + s.Reader.Calls) })},
	{Name: "writer-calls", Title: "system calls a message, writing end", Better: Lower, Counter: true, fixed: 2, of: perMessage(func(s results.Sample) *int64 { return &s.Writer.Calls })},
	{Name: "reader-calls", Title: "system calls a message, reading end", Better: Lower, Counter: true, fixed: 2, of: perMessage(func(s results.Sample) *int64 { return &s.Reader.Calls })},
	{Name: "cpu", Title: "CPU time a MiB of payload, both ends", Unit: "ns/MiB", Better: Lower, of: cpuPerMiB},
	{Name: "cpu-time", Title: "CPU time a message, both ends", Unit: "ns", Better: Lower, of: perMessage(bothEnds(func(c results.Counters) *int64 { return c.CPUNS }))},
	{Name: "allocs", Title: "heap objects allocated a message, both ends", Better: Lower, Counter: true, fixed: 64, of: perMessage(bothEnds(func(c results.Counters) *int64 { return c.Allocs }))},
	{Name: "short", Title: "short writes a message", Better: Lower, Counter: true, of: perMessage(eitherEnd(func(c results.Counters) *int64 { return c.Short }))},
	{Name: "eagain", Title: "calls refused with \"not now\" a message", Better: Lower, Counter: true, of: perMessage(eitherEnd(func(c results.Counters) *int64 { return c.EAGAIN }))},
	{Name: "waits", Title: "waits outside the call a message", Better: Lower, Counter: true, of: perMessage(eitherEnd(func(c results.Counters) *int64 { return c.Waits }))},
	{Name: "switches", Title: "context switches a message, both ends", Better: Lower, Counter: true, of: perMessage(switches)},
	{Name: "peak", Title: "peak resident memory of the larger end", Unit: "B", Better: Lower, of: peak},
	{Name: "late", Title: "share of messages that the load generator sent late or not at all", Unit: "%", Better: Lower, of: late},
}

// percentiles are the points of a latency distribution that have a name.
var percentiles = []struct {
	name string
	of   func(results.Latency) *int64
}{
	{"p50", func(l results.Latency) *int64 { return l.P50NS }},
	{"p90", func(l results.Latency) *int64 { return l.P90NS }},
	{"p99", func(l results.Latency) *int64 { return l.P99NS }},
	{"p99.9", func(l results.Latency) *int64 { return l.P999NS }},
	{"max", func(l results.Latency) *int64 { return &l.MaxNS }},
}

// latencyKeys are the keys of [Sample.Latency], the one first that says most about what a user of
// the pipe would feel.
var latencyKeys = []string{"due", "roundtrip", "oneway", "service", "lateness"}

// primaryLatency is the distribution that a bare "p99" means: the first of latencyKeys that is
// there, lateness (which is the generator's, not the pipe's) apart.
func primaryLatency(latency map[string]results.Latency) (string, bool) {
	for _, key := range latencyKeys[:len(latencyKeys)-1] {
		if _, ok := latency[key]; ok {
			return key, true
		}
	}
	return "", false
}

// allMetrics are all that [Metrics] lists, and where each is by its name.
var allMetrics, metricIndex = func() ([]Metric, map[string]int) {
	all := slices.Clone(metrics)
	for _, key := range append([]string{""}, latencyKeys...) {
		for _, p := range percentiles {
			all = append(all, latencyMetric(key, p.name, p.of))
		}
	}
	index := make(map[string]int)
	for i, m := range all {
		index[m.Name] = i
	}
	return all, index
}()

// Metrics lists every metric by the name that it has in assertions and columns: those of a whole
// sample, then "p50", "p90", "p99", "p99.9" and "max" of the latency that is felt, then those of
// each key of [Sample.Latency] ("service.p99").
func Metrics() []Metric { return slices.Clone(allMetrics) }

// MetricByName finds a metric, or names those there are.
func MetricByName(name string) (Metric, error) {
	i, ok := metricIndex[name]
	if !ok {
		return Metric{}, fmt.Errorf("metric %q is not known; known are %s", name, strings.Join(metricNames(), ", "))
	}
	return allMetrics[i], nil
}

// MustMetric is a metric whose name is written in this package.
func MustMetric(name string) Metric {
	m, err := MetricByName(name)
	if err != nil {
		panic("results: " + err.Error())
	}
	return m
}

// metricNames are the names without the keyed percentiles, for messages.
func metricNames() []string {
	var names []string
	for _, m := range metrics {
		names = append(names, m.Name)
	}
	for _, p := range percentiles {
		names = append(names, p.name)
	}
	return names
}

// latencyMetric is a percentile of one key of a sample's latency, or of the one that is felt where
// no key is given.
func latencyMetric(key, name string, of func(results.Latency) *int64) Metric {
	m := Metric{Name: name, Title: name + " latency", Unit: "ns", Better: Lower, latency: true}
	if key != "" {
		m.Name, m.Title = key+"."+name, name+" "+key+" latency"
	}
	m.of = func(s results.Sample) (float64, bool) {
		k, ok := key, true
		if k == "" {
			k, ok = primaryLatency(s.Latency)
		}
		l, found := s.Latency[k]
		if !ok || !found || l.Count == 0 {
			return 0, false
		}
		return counted(of(l))
	}
	return m
}

func goodput(s results.Sample) (float64, bool) {
	return ratio(float64(s.PayloadBytes)*1e9, float64(s.ElapsedNS))
}

func rate(s results.Sample) (float64, bool) {
	return ratio(float64(s.Messages)*1e9, float64(s.ElapsedNS))
}

func overhead(s results.Sample) (float64, bool) {
	return ratio(100*float64(s.WireBytes-s.PayloadBytes), float64(s.PayloadBytes))
}

func cpuPerMiB(s results.Sample) (float64, bool) {
	cpu, ok := counted(bothEnds(func(c results.Counters) *int64 { return c.CPUNS })(s))
	if !ok {
		return 0, false
	}
	return ratio(cpu*(1<<20), float64(s.PayloadBytes))
}

func peak(s results.Sample) (float64, bool) {
	w, r := s.Writer.PeakBytes, s.Reader.PeakBytes
	switch {
	case w == nil:
		return counted(r)
	case r == nil:
		return counted(w)
	}
	return float64(max(*w, *r)), true
}

func late(s results.Sample) (float64, bool) {
	if s.Load == nil {
		return 0, false
	}
	return ratio(100*float64(s.Load.Late+s.Load.Unsent), float64(s.Load.Due))
}

func switches(s results.Sample) *int64 {
	w := bothEnds(func(c results.Counters) *int64 { return c.VoluntarySwitches })(s)
	i := bothEnds(func(c results.Counters) *int64 { return c.InvoluntarySwitches })(s)
	if w == nil || i == nil {
		return nil
	}
	return new(*w + *i)
}

// perMessage divides a counter by the messages of its sample.
func perMessage(of func(results.Sample) *int64) func(results.Sample) (float64, bool) {
	return func(s results.Sample) (float64, bool) {
		n, ok := counted(of(s))
		if !ok {
			return 0, false
		}
		return ratio(n, float64(s.Messages))
	}
}

// bothEnds adds up a counter that says nothing unless both ends have it.
func bothEnds(of func(results.Counters) *int64) func(results.Sample) *int64 {
	return func(s results.Sample) *int64 {
		w, r := of(s.Writer), of(s.Reader)
		if w == nil || r == nil {
			return nil
		}
		return new(*w + *r)
	}
}

// eitherEnd adds up a counter that one end alone may have, as only a writer has short writes.
func eitherEnd(of func(results.Counters) *int64) func(results.Sample) *int64 {
	return func(s results.Sample) *int64 {
		w, r := of(s.Writer), of(s.Reader)
		switch {
		case w == nil:
			return r
		case r == nil:
			return w
		}
		return new(*w + *r)
	}
}

func counted(n *int64) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

// ratio is a/b where that is a number.
func ratio(a, b float64) (float64, bool) {
	if b <= 0 {
		return 0, false
	}
	return a / b, true
}

// valuesOf are the values of a metric that is in the list.
func valuesOf(name string, samples []results.Sample) []float64 {
	m := MustMetric(name)
	return m.Values(samples)
}

// Filter is those of all that are kept.
func Filter[T any](all []T, keep func(T) bool) []T {
	var out []T
	for _, v := range all {
		if keep(v) {
			out = append(out, v)
		}
	}
	return out
}
