package stat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pipebench/pipebench/results"
)

// A Metric is a figure that can be computed from a sample. Its name is the same in assertions,
// comparisons, CSV columns and JSON. [Metrics] explains each.
type Metric struct {
	Name   string // "goodput"
	Unit   string // unit of its values: "B/s", "ns", "%", "B", "" for a count
	Better Better

	// Counter is set if the metric is counted, not timed. If a counter is the same in every sample,
	// any change of it is real.
	Counter bool

	// ByRange is set for a counter that may differ a little between equal starts of a program. Such
	// a counter has changed only if the gap between the old and the new range is wider than both
	// ranges. The figure of a program is then the least value, that of a benchmark the median.
	ByRange bool

	// ShownOnly is set for a metric that tables show, but that never makes a CI job fail.
	ShownOnly bool

	// fixed is how much of a sample's count may belong to no message, such as the read that finds
	// the end of the stream. It is in bytes for B/op.
	fixed float64

	// key and quantile are set only for a percentile. The key is one of those in
	// [results.Sample.Latency], or "" for the latency that a user feels. The quantile is one of
	// [results.Quantiles].
	key, quantile string

	// The value is scale · count / per, or scale · count if per is not set. A scale of 0 means 1.
	// There is no value if count or per returns nil, or if per returns 0 or less.
	count, per amount
	scale      float64
}

// An amount is a function that returns a count from a sample, or nil if the sample lacks it.
type amount func(*results.Sample) *int64

// A Better says which way a metric improves.
type Better int

// The ways in which a metric can improve.
const (
	Lower   Better = -1
	Neither Better = 0
	Higher  Better = +1
)

// String returns "lower" or "higher", as in the Go benchmark format. For Neither, it returns "".
func (b Better) String() string {
	switch b {
	case Lower:
		return "lower"
	case Higher:
		return "higher"
	}
	return ""
}

// Value returns the metric of one sample. The second result is false if the sample lacks it.
func (m Metric) Value(s results.Sample) (float64, bool) {
	if m.count == nil {
		return 0, false // the zero metric, or a metric of benchmark text
	}
	n := m.count(&s)
	if n == nil {
		return 0, false
	}
	scale := cmp.Or(m.scale, 1)
	if m.per == nil {
		return float64(*n) * scale, true
	}
	per := m.per(&s)
	if per == nil || *per <= 0 {
		return 0, false
	}
	return float64(*n) * scale / float64(*per), true
}

// IsPercentile reports whether the metric is a percentile, computed from all samples together.
func (m Metric) IsPercentile() bool { return m.quantile != "" }

// IsTime reports whether the metric is a time or a speed, and no count, share or memory.
func (m Metric) IsTime() bool {
	isOther := m.Counter || m.Unit == "" || m.Unit == "B" || m.Unit == "%"
	return !isOther || m.Name == toRaw.Name
}

// Values returns the values of the metric in those samples that have it, in the order of the
// samples.
func (m Metric) Values(samples []results.Sample) []float64 {
	return valuesOf(m.observations([]results.Record{{Samples: samples}}))
}

// Format writes a value of the metric with its unit, as all tables do.
func (m Metric) Format(v float64) string {
	switch {
	case m.ByRange && m.Unit == "B", m.Unit == unitLimit:
		return FormatBytes(int64(v))
	case m.ByRange:
		return results.FormatGrouped(int64(v))
	case m.Unit == unitVerdict:
		return verdictWords[min(max(int(v), 0), len(verdictWords)-1)]
	}
	return results.FormatUnit(v, m.Unit)
}

// metrics are all metrics except the percentiles, in the order in which tables show them.
var metrics = []Metric{
	{Name: "goodput", Unit: "B/s", Better: Higher, count: payload, scale: 1e9, per: elapsed},
	{Name: "rate", Unit: "msg/s", Better: Higher, count: messages, scale: 1e9, per: elapsed},
	{Name: "time", Unit: "ns", Better: Lower, count: elapsed, per: messages},
	{Name: "overhead", Unit: "%", Better: Lower, Counter: true,
		count: beyondPayload, scale: 100, per: payload},
	{Name: "wire", Unit: "B", Better: Lower, Counter: true,
		count: func(s *results.Sample) *int64 { return &s.WireBytes }, per: messages},
	{Name: "calls", Better: Lower, Counter: true, fixed: 2, count: allCalls, per: messages},
	{Name: "writer-calls", Better: Lower, Counter: true, fixed: 2,
		count: func(s *results.Sample) *int64 { return &s.Writer.Calls }, per: messages},
	{Name: "reader-calls", Better: Lower, Counter: true, fixed: 2,
		count: func(s *results.Sample) *int64 { return &s.Reader.Calls }, per: messages},
	{Name: "cpu", Unit: "ns/MiB", Better: Lower, count: cpuTime, scale: 1 << 20, per: payload},
	{Name: "cpu-time", Unit: "ns", Better: Lower, count: cpuTime, per: messages},
	{Name: "allocs", Better: Lower, Counter: true, fixed: 64, count: allocs, per: messages},
	{Name: "short", Better: Lower, Counter: true, count: short, per: messages},
	{Name: "eagain", Better: Lower, Counter: true, count: eagain, per: messages},
	{Name: "waits", Better: Lower, Counter: true, count: waits, per: messages},
	{Name: "waiting", Unit: "%", Better: Lower,
		count: func(s *results.Sample) *int64 { return s.Writer.WaitNS }, scale: 100, per: elapsed},
	{Name: "lost", Unit: "B", Better: Lower, Counter: true,
		count: ofPart(closed, func(l results.Closed) int64 { return l.LostBytes })},
	{Name: "told", Unit: "ns", Better: Lower,
		count: ofPart(closed, func(l results.Closed) int64 { return l.ToldNS })},
	{Name: "switches", Better: Lower, Counter: true, count: switches, per: messages},
	{Name: "peak", Unit: "B", Better: Lower, count: peak},
	{Name: "late", Unit: "%", Better: Lower,
		count: ofPart(load, func(l results.Load) int64 { return l.Late + l.Unsent }), scale: 100,
		per: ofPart(load, func(l results.Load) int64 { return l.Due })},
}

func payload(s *results.Sample) *int64  { return &s.PayloadBytes }
func messages(s *results.Sample) *int64 { return &s.Messages }
func elapsed(s *results.Sample) *int64  { return &s.ElapsedNS }

func beyondPayload(s *results.Sample) *int64 { return new(s.WireBytes - s.PayloadBytes) }
func allCalls(s *results.Sample) *int64      { return new(s.Writer.Calls + s.Reader.Calls) }

func cpuTime(s *results.Sample) *int64 { return both(s.Writer.CPUNS, s.Reader.CPUNS) }
func allocs(s *results.Sample) *int64  { return both(s.Writer.Allocs, s.Reader.Allocs) }
func short(s *results.Sample) *int64   { return either(s.Writer.Short, s.Reader.Short) }
func eagain(s *results.Sample) *int64  { return either(s.Writer.EAGAIN, s.Reader.EAGAIN) }
func waits(s *results.Sample) *int64   { return either(s.Writer.Waits, s.Reader.Waits) }

// both adds up a counter of the two ends of the pipe. The result is nil if one end lacks the
// counter.
func both(w, r *int64) *int64 {
	if w == nil || r == nil {
		return nil
	}
	return new(*w + *r)
}

// either adds up a counter that one end of the pipe may lack: only writers have short writes.
func either(w, r *int64) *int64 {
	if w == nil || r == nil {
		return cmp.Or(w, r)
	}
	return new(*w + *r)
}

// peak returns the peak memory of the end that has more.
func peak(s *results.Sample) *int64 {
	w, r := s.Writer.PeakBytes, s.Reader.PeakBytes
	if w != nil && r != nil && *r > *w {
		return r
	}
	return cmp.Or(w, r)
}

// switches adds up all context switches of both ends.
func switches(s *results.Sample) *int64 {
	return both(
		both(s.Writer.VoluntarySwitches, s.Writer.InvoluntarySwitches),
		both(s.Reader.VoluntarySwitches, s.Reader.InvoluntarySwitches))
}

func load(s *results.Sample) *results.Load     { return s.Load }
func closed(s *results.Sample) *results.Closed { return s.Closed }

// ofPart makes an amount that counts something in one part of a sample. The amount returns nil if
// the sample lacks the part.
func ofPart[P any](part func(*results.Sample) *P, count func(P) int64) amount {
	return func(s *results.Sample) *int64 {
		if p := part(s); p != nil {
			return new(count(*p))
		}
		return nil
	}
}

// latencyKeys are the keys of [results.Sample.Latency]. Latencies that are closer to what a user
// feels come earlier.
var latencyKeys = []string{"due", "roundtrip", "oneway", "service", "lateness"}

// primaryLatency returns the key of the latency that "p99" alone stands for. It is never
// "lateness", because that is a delay of the load generator, not of the pipe.
func primaryLatency(latency map[string]results.Latency) (string, bool) {
	for _, key := range latencyKeys[:len(latencyKeys)-1] { // without lateness
		if _, ok := latency[key]; ok {
			return key, true
		}
	}
	return "", false
}

// allMetrics makes the list of [Metrics] once.
var allMetrics = sync.OnceValue(func() []Metric {
	all := slices.Clone(metrics)
	for _, key := range append([]string{""}, latencyKeys...) {
		for _, name := range results.Quantiles {
			m := Metric{
				Name:     name,
				Unit:     "ns",
				Better:   Lower,
				key:      key,
				quantile: name,
			}
			if key != "" {
				m.Name = key + "." + name
			}
			m.count = func(s *results.Sample) *int64 {
				k := key
				if k == "" { // each sample's primary latency
					k, _ = primaryLatency(s.Latency)
				}
				return s.Latency[k].Quantile(name)
			}
			all = append(all, m)
		}
	}
	return all
})

// Metrics lists every metric. Times are in ns, and memory is in bytes:
//
//	goodput, rate          payload bytes per second, messages per second
//	time, cpu-time, cpu    time per message, CPU time per message, CPU time per MiB of payload
//	overhead, wire         bytes beyond the payload, in % of it; bytes on the pipe per message
//	calls                  reads and writes per message; also writer-calls and reader-calls
//	short, eagain, waits   partial writes, refused calls, and waits outside of calls, per message
//	allocs, switches       memory allocations, and context switches, per message
//	waiting, late          share of time that the writer waits, of due messages not sent in time
//	lost, told             if the reader leaves: bytes unread, time until the writer learns of it
//	peak                   peak memory of the end that has more
//	p50 to p99.9, max      latency by Row.PrimaryLatency; of one kind: service.p99 and so on
func Metrics() []Metric { return slices.Clone(allMetrics()) }

// MetricNames lists the names of all metrics but the percentiles by key.
func MetricNames() []string {
	var known []string
	for _, m := range allMetrics() {
		if m.key == "" {
			known = append(known, m.Name)
		}
	}
	return known
}

// MetricByName finds a metric by its name. Its error lists the known names.
func MetricByName(name string) (Metric, error) {
	for _, list := range [][]Metric{allMetrics(), {verdictMetric, limitMetric}} {
		i := slices.IndexFunc(list, func(m Metric) bool { return m.Name == name })
		if i >= 0 {
			return list[i], nil
		}
	}
	all := strings.Join(MetricNames(), ", ")
	return Metric{}, fmt.Errorf("metric %q is not known; known are %s", name, all)
}

// MustMetric is [MetricByName], but panics if there is no such metric.
func MustMetric(name string) Metric {
	m, err := MetricByName(name)
	if err != nil {
		panic("stat: " + err.Error())
	}
	return m
}
