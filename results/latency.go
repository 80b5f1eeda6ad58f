package results

import (
	"fmt"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Latency is a distribution of times. A percentile is there only if at least ten observations lie
// beyond it (p99 takes 1,000, p99.9 takes 10,000): one that rests on fewer is an anecdote.
type Latency struct {
	Count  int64  `json:"count"`
	MinNS  int64  `json:"min_ns"`
	P50NS  *int64 `json:"p50_ns,omitempty"`
	P90NS  *int64 `json:"p90_ns,omitempty"`
	P99NS  *int64 `json:"p99_ns,omitempty"`
	P999NS *int64 `json:"p999_ns,omitempty"`
	MaxNS  int64  `json:"max_ns"`
	// Over is the number of observations above the histogram's range. The histogram counts them at
	// the end of its range, but MaxNS is exact.
	Over int64  `json:"over,omitempty"`
	HDR  string `json:"hdr"` // HdrHistogram V2 compressed, base64
}

// maxLatencyNS is the end of a histogram's range: a minute. Deadlines of the engine are shorter.
const maxLatencyNS = 60_000_000_000

// MinTailCount is how many observations a percentile needs above it to be shown.
const MinTailCount = 10

// NewHistogram makes the histogram that latencies are kept in: 1 ns to one minute, three
// significant digits, 221 KB.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatencyNS, 3) }

// Observe records a time in a histogram made by [NewHistogram]. A time above the histogram's range
// is counted at the end of the range, so that percentiles include it, and over is then true.
func Observe(h *hdrhistogram.Histogram, ns int64) (over bool) {
	over = ns > maxLatencyNS
	within := min(max(ns, 0), maxLatencyNS) // a clock of coarse steps may read zero, never less
	if err := h.RecordValue(within); err != nil {
		panic("results: histogram of another range: " + err.Error())
	}
	return over
}

// NewLatency summarises observations in nanoseconds. It does not keep them.
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
	// The histogram would round the smallest and the largest, so they stand beside it.
	l.Over = over
	l.MinNS = max(0, slices.Min(ns))
	l.MaxNS = slices.Max(ns)
	return l, nil
}

// SummariseHistogram sums up a histogram made by [NewHistogram].
func SummariseHistogram(h *hdrhistogram.Histogram) (Latency, error) {
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return Latency{}, fmt.Errorf("encode histogram: %w", err)
	}
	n := h.TotalCount()
	return Latency{
		Count:  n,
		MinNS:  h.Min(),
		P50NS:  percentile(h, n, 50),
		P90NS:  percentile(h, n, 90),
		P99NS:  percentile(h, n, 99),
		P999NS: percentile(h, n, 99.9),
		MaxNS:  h.Max(),
		HDR:    string(encoded),
	}, nil
}

// percentile returns a percentile of n observations; nil if not [MinTailCount] of them lie above.
func percentile(h *hdrhistogram.Histogram, n int64, percent float64) *int64 {
	const rounding = 1e-8
	above := float64(n) * (100 - percent) / 100
	if above < MinTailCount-rounding {
		return nil
	}
	return new(h.ValueAtQuantile(percent))
}

// Quantiles are the names that [Latency.Quantile] knows.
var Quantiles = []string{"p50", "p90", "p99", "p99.9", "max"}

// Quantile returns one of the [Quantiles] in nanoseconds, nil if there are too few observations.
func (l Latency) Quantile(name string) *int64 {
	points := [...]*int64{l.P50NS, l.P90NS, l.P99NS, l.P999NS, new(l.MaxNS)} // as in Quantiles
	if i := slices.Index(Quantiles, name); i >= 0 && l.Count > 0 {
		return points[i]
	}
	return nil
}

// Histogram gives back the distribution that l was made from.
func (l Latency) Histogram() (*hdrhistogram.Histogram, error) {
	h, err := hdrhistogram.Decode([]byte(l.HDR))
	if err != nil {
		return nil, fmt.Errorf("decode histogram: %w", err)
	}
	return h, nil
}

// MergeLatencies merges the distributions that samples have under any of the keys. The result may
// have percentiles for which a single sample has too few observations. Without any, its Count is 0.
func MergeLatencies(samples []Sample, keys ...string) (Latency, error) {
	var all []Latency
	for _, s := range samples {
		for _, key := range keys {
			if l, ok := s.Latency[key]; ok {
				all = append(all, l)
			}
		}
	}
	if len(all) == 0 { // encoding even an empty histogram takes a millisecond
		return Latency{}, nil
	}
	merged := NewHistogram()
	var over, shortest, longest int64
	for _, l := range all {
		h, err := l.Histogram()
		if err != nil {
			return Latency{}, err
		}
		// Merge drops observations above the range, and the program that wrote the file may have.
		dropped := merged.Merge(h)
		outside := dropped + max(0, l.Count-h.TotalCount())
		if err := merged.RecordValues(maxLatencyNS, outside); err != nil {
			return Latency{}, fmt.Errorf("merge latencies: %w", err)
		}
		isFirst := merged.TotalCount() == l.Count
		if l.Count > 0 && (isFirst || l.MinNS < shortest) {
			shortest = l.MinNS
		}
		over += max(l.Over, outside)
		longest = max(longest, l.MaxNS)
	}
	sum, err := SummariseHistogram(merged)
	sum.Over = over
	sum.MinNS = shortest
	sum.MaxNS = longest
	return sum, err
}
