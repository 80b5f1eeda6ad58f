package results

import (
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is a distribution of times. A percentile is absent if fewer than ten of these times lie
// above it, so p99 needs at least 1,000 of them.
type Latency struct {
	Count  int64  `json:"count"`
	MinNS  int64  `json:"min_ns"`
	P50NS  *int64 `json:"p50_ns,omitempty"`
	P90NS  *int64 `json:"p90_ns,omitempty"`
	P99NS  *int64 `json:"p99_ns,omitempty"`
	P999NS *int64 `json:"p999_ns,omitempty"`
	MaxNS  int64  `json:"max_ns"`
	// Over counts the times that are longer than one minute, where the histogram ends. MaxNS is
	// exact even then.
	Over int64  `json:"over,omitempty"`
	HDR  string `json:"hdr"` // HdrHistogram V2 compressed, base64
}

// maxLatencyNS is the end of a histogram's range: one minute, longer than any measurement waits.
const maxLatencyNS = 60_000_000_000

// MinTailCount is how many observations must lie above a percentile for it to be shown.
const MinTailCount = 10

// NewHistogram makes an empty histogram for 1 ns to one minute, with three significant digits. It
// takes 221 KB of memory.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatencyNS, 3) }

// Observe records a time in a histogram made by [NewHistogram]. A time above the histogram's range
// is counted at the end of the range, and the result is true.
func Observe(h *hdrhistogram.Histogram, ns int64) (over bool) {
	over = ns > maxLatencyNS
	within := min(max(ns, 0), maxLatencyNS) // a coarse clock may give 0, never less
	if err := h.RecordValue(within); err != nil {
		panic("results: histogram of another range: " + err.Error())
	}
	return over
}

// NewLatency summarises times in nanoseconds.
func NewLatency(ns []int64) (Latency, error) {
	h := NewHistogram()
	var over int64
	for _, v := range ns {
		if Observe(h, v) {
			over++
		}
	}
	l, err := SummariseHistogram(h)
	if err != nil || len(ns) == 0 {
		return l, err
	}
	// The histogram rounds times; these are exact.
	l.Over = over
	l.MinNS = max(0, slices.Min(ns))
	l.MaxNS = slices.Max(ns)
	return l, nil
}

// SummariseHistogram returns the Latency for a histogram made by [NewHistogram].
func SummariseHistogram(h *hdrhistogram.Histogram) (Latency, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Latency{}, fmt.Errorf("encode histogram: %w", err)
	}
	l := percentilesOf(h)
	l.MinNS = h.Min()
	l.MaxNS = h.Max()
	l.HDR = string(encoded)
	return l, nil
}

// percentilesOf returns a Latency with the count and the percentiles of h.
func percentilesOf(h *hdrhistogram.Histogram) Latency {
	n := h.TotalCount()
	return Latency{
		Count:  n,
		P50NS:  percentile(h, n, 50),
		P90NS:  percentile(h, n, 90),
		P99NS:  percentile(h, n, 99),
		P999NS: percentile(h, n, 99.9),
	}
}

// percentile returns the time below which the given percentage of the n observations lies. It
// returns nil if fewer than [MinTailCount] observations lie above that time.
func percentile(h *hdrhistogram.Histogram, n int64, percent float64) *int64 {
	const rounding = 1e-8 // more than the error of the next line
	above := float64(n) * (100 - percent) / 100
	if above < MinTailCount-rounding {
		return nil
	}
	return new(h.ValueAtQuantile(percent))
}

// Quantiles are the names that [Latency.Quantile] accepts.
var Quantiles = []string{"p50", "p90", "p99", "p99.9", "max"}

// Quantile returns the quantile with the given name, one of [Quantiles], in nanoseconds. The result
// is nil if there are too few observations.
func (l Latency) Quantile(name string) *int64 {
	// In the order of Quantiles.
	points := [...]*int64{l.P50NS, l.P90NS, l.P99NS, l.P999NS, new(l.MaxNS)}
	if i := slices.Index(Quantiles, name); i >= 0 && l.Count > 0 {
		return points[i]
	}
	return nil
}

// Histogram decodes the distribution that l was made from.
func (l Latency) Histogram() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(l.HDR))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	return h, nil
}

// MergeLatencies merges the distributions that the samples have under any of the keys. If no sample
// has one, the result's Count is 0.
func MergeLatencies(samples []Sample, keys ...string) (Latency, error) {
	l, h, err := merge(samples, keys)
	if err != nil || h == nil {
		return l, err
	}
	whole, err := SummariseHistogram(h)
	l.HDR = whole.HDR
	return l, err
}

// MergePercentiles is MergeLatencies without HDR, whose encoding takes most of the time.
func MergePercentiles(samples []Sample, keys ...string) (Latency, error) {
	l, _, err := merge(samples, keys)
	return l, err
}

// merge returns the merged distribution also as a histogram, which is nil if no sample has one.
func merge(samples []Sample, keys []string) (Latency, *hdrhistogram.Histogram, error) {
	var all []Latency
	for _, s := range samples {
		for _, key := range keys {
			if l, ok := s.Latency[key]; ok {
				all = append(all, l)
			}
		}
	}
	if len(all) == 0 {
		return Latency{}, nil, nil
	}
	merged := NewHistogram()
	var over, shortest, longest int64
	for _, l := range all {
		h, err := l.Histogram()
		if err != nil {
			return Latency{}, nil, err
		}
		// Merge drops times above the range. The program that wrote the file may also have dropped
		// some.
		dropped := merged.Merge(h)
		outside := dropped + max(0, l.Count-h.TotalCount())
		if err := merged.RecordValues(maxLatencyNS, outside); err != nil {
			return Latency{}, nil, fmt.Errorf("merge latencies: %w", err)
		}
		isFirst := merged.TotalCount() == l.Count
		if l.Count > 0 && (isFirst || l.MinNS < shortest) {
			shortest = l.MinNS
		}
		over += max(l.Over, outside)
		longest = max(longest, l.MaxNS)
	}
	sum := percentilesOf(merged)
	sum.Over = over
	sum.MinNS = shortest
	sum.MaxNS = longest
	return sum, merged, nil
}
