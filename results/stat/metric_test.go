package stat

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// worked is a sample of which every figure can be had in one's head.
func worked(t *testing.T) results.Sample {
	t.Helper()
	l, err := results.NewLatency(resultstest.UpTo(1000))
	if err != nil {
		t.Fatal(err)
	}
	end := func(calls, cpu, peak int64) results.Counters {
		return results.Counters{
			Calls: calls, CPUNS: new(cpu), Allocs: new(int64(50)), PeakBytes: new(peak),
			VoluntarySwitches: new(int64(100)), InvoluntarySwitches: new(int64(50)),
		}
	}
	s := results.Sample{
		ElapsedNS: 1e9, Messages: 100, PayloadBytes: 100 << 20, WireBytes: 100<<20 + 78200,
		Writer: end(200, 3e8, 8<<20), Reader: end(150, 1e8, 9<<20),
		Latency: map[string]results.Latency{"service": l},
		Load:    &results.Load{Due: 200, Sent: 190, Late: 10, Unsent: 10},
	}
	s.Writer.Short, s.Writer.EAGAIN, s.Writer.Waits = new(int64(25)), new(int64(10)), new(int64(5))
	return s
}

func TestMetricsWorkedValues(t *testing.T) {
	s := worked(t)
	for name, want := range map[string]float64{
		"goodput": 104857600, "rate": 100, "time": 1e7, "overhead": 0.07457733154296875, "wire": 1<<20 + 782,
		"calls": 3.5, "writer-calls": 2, "reader-calls": 1.5, "cpu": 4e6, "cpu-time": 4e6, "allocs": 1,
		"short": 0.25, "eagain": 0.1, "waits": 0.05, "switches": 3, "peak": 9 << 20, "late": 10,
		"max": 1e6, "service.max": 1e6,
	} {
		m, err := MetricByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, ok := m.Value(s); !ok || !near(got, want, 1e-9*want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, ok, want)
		}
	}
	for name, want := range map[string]float64{"p50": 500e3, "p90": 900e3, "p99": 990e3, "service.p99": 990e3} {
		m, err := MetricByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, ok := m.Value(s); !ok || !near(got, want, 2e-3*want) {
			t.Errorf("%s: got %v, %v; want %v within three digits", name, got, ok, want)
		}
	}
}

// A counter that is not there has no value; it is not nought.
func TestAbsentIsNotZero(t *testing.T) {
	s := worked(t)
	s.Reader.CPUNS, s.Reader.Allocs, s.Reader.VoluntarySwitches = nil, nil, nil
	s.Writer.Short, s.Writer.PeakBytes, s.Reader.PeakBytes = nil, nil, nil
	s.Load, s.Latency = nil, nil
	for _, name := range []string{"cpu", "cpu-time", "allocs", "switches", "short", "peak", "late", "p50", "p99.9", "max", "service.p50", "due.p99"} {
		m, err := MetricByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if v, ok := m.Value(s); ok {
			t.Errorf("%s: got %v of a sample that does not carry it", name, v)
		}
	}
	for _, m := range Metrics() {
		if v, ok := m.Value(results.Sample{}); ok {
			t.Errorf("%s: got %v of an empty sample", m.Name, v)
		}
	}
}

func TestFeltLatency(t *testing.T) {
	for _, tt := range []struct {
		keys, want string
	}{
		{"service roundtrip", "roundtrip"},
		{"service due roundtrip", "due"},
		{"service", "service"},
		{"lateness", ""},
		{"", ""},
	} {
		all := make(map[string]results.Latency)
		for _, k := range strings.Fields(tt.keys) {
			all[k] = results.Latency{Count: 1}
		}
		if got, _ := primaryLatency(all); got != tt.want {
			t.Errorf("of %q: got %q, want %q", tt.keys, got, tt.want)
		}
	}
}

func TestMetricNamesAreUniqueAndHaveADirection(t *testing.T) {
	seen := make(map[string]bool)
	for _, m := range Metrics() {
		if seen[m.Name] || m.Better == Neither {
			t.Errorf("%q: seen before %v, better %v", m.Name, seen[m.Name], m.Better)
		}
		seen[m.Name] = true
	}
	if _, err := MetricByName("speed"); err == nil || !strings.Contains(err.Error(), "goodput, rate, time") {
		t.Errorf("got %v, want the metrics that there are", err)
	}
}

func TestFormatMetric(t *testing.T) {
	for name, want := range map[string]string{
		"goodput": "1.23 kB/s", "time": "1.23 µs", "overhead": "1235 %", "wire": "1,235 B",
		"calls": "1235", "rate": "1235 msg/s", "cpu": "1.23 µs/MiB",
	} {
		m, err := MetricByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Format(1234.56); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
