package claims

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
)

// chunkingClaims are what document 000 says chunks cost.
var chunkingClaims = []Claim{
	claim("000-header-40", gatherHeaders, judgeHeaders),
	claim("000-overhead-bytes", gatherWire, judgeWire),
	costClaim("000-overhead-time", "time", 0, 1.01),
	costClaim("000-overhead-cpu", "cpu", 0, 1.01),
	claim("000-latency-small", gatherSmall, judgeSmall),
	costClaim("000-throughput", "time", 65_000, 1+noticeable),
}

// Headers are the evidence of 000-header-40.
type Headers struct {
	Messages []HeaderOf `json:"messages"`
}

// A HeaderOf says how many bytes the frames of one message have besides the message's own.
type HeaderOf struct {
	Message int `json:"message"` // bytes
	Frames  int `json:"frames"`
	Least   int `json:"least"` // bytes of header and newline, of any frame
	Most    int `json:"most"`
}

func gatherHeaders(context.Context, *session) (Headers, error) {
	var e Headers
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		return e, err
	}
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
		h := HeaderOf{Message: size, Least: size}
		for _, wire := range framesOf(f, bytes.Repeat([]byte("x"), size)) {
			extra := len(wire) - bytes.Count(wire, []byte("x")) // a header has no such letter
			h.Frames++
			h.Least = min(h.Least, extra)
			h.Most = max(h.Most, extra)
		}
		e.Messages = append(e.Messages, h)
	}
	return e, nil
}

func judgeHeaders(e Headers) finding {
	var t tally
	least := 1 << 30
	most := 0
	for _, m := range e.Messages {
		least = min(least, m.Least)
		most = max(most, m.Most)
		t.add(faults.Size(m.Message), m.Least >= 34 && m.Most <= 46)
	}
	return t.judge(fmt.Sprintf("%d to %d B", least, most))
}

// Wire is the evidence of 000-overhead-bytes.
type Wire struct {
	Overhead []WireOf `json:"overhead"` // ascending by size
}

// A WireOf is the overhead in bytes on the wire, for messages of one size.
type WireOf struct {
	Size    int     `json:"size"`
	Percent float64 `json:"percent"`
}

func gatherWire(ctx context.Context, s *session) (Wire, error) {
	var e Wire
	records, err := s.costs(ctx)
	if err != nil {
		return e, err
	}
	overhead := stat.MustMetric("overhead")
	for _, size := range streamSizes {
		for _, r := range records {
			isOne := r.Cell.Framing == "chunked:61440" && r.Cell.Size == size
			if isOne && len(r.Samples) > 0 {
				e.Overhead = append(e.Overhead, WireOf{size, overhead.Estimate(r).Median})
				break // the other placements tell the same
			}
		}
	}
	return e, nil
}

func judgeWire(e Wire) finding {
	var t tally
	least := 0.0
	most := 0.0
	for i, o := range e.Overhead {
		if i == 0 || o.Percent < least {
			least = o.Percent
		}
		most = max(most, o.Percent)
		t.add(faults.Size(o.Size), o.Percent < 1)
	}
	return t.judge(fmt.Sprintf("%.2g %% to %.2g %%, exact", least, most))
}

// Costs are the evidence of the claims on time, CPU and throughput.
type Costs struct {
	Metric string  `json:"metric"`
	Base   string  `json:"base,omitempty"` // the framing of the other side; earlier versions: lines
	Ratios []Ratio `json:"ratios"`         // to the same messages in that framing
}

// costClaim makes a claim that chunks cost no more than bound times what raw bytes do, by one
// metric, for streams of messages of at least least bytes.
func costClaim(id, metric string, least int, bound float64) Claim {
	gather := func(ctx context.Context, s *session) (Costs, error) {
		records, err := s.costs(ctx)
		if err != nil {
			return Costs{}, err
		}
		all := ratios(records, metric, "chunked:61440", baseline, "stream", least)
		return Costs{Metric: metric, Base: baseline, Ratios: all}, nil
	}
	rule := func(e Costs) finding { return judgeCosts(e, bound) }
	return claim(id, gather, rule)
}

func judgeCosts(e Costs, bound float64) finding {
	base := e.Base
	if base == "" {
		base = "ndjson"
	}
	verdict, unsure := compareAll(e.Ratios, bound)
	f := finding{figure: "against " + base + ": " + ratioRange(e.Ratios), unsure: unsure}
	f.verdict = verdict
	if verdict == Depends {
		f.reason = "some"
		if unsure {
			f.reason = "unsure"
		}
	}
	return f
}

// Small is the evidence of 000-latency-small.
type Small struct {
	Framed []Ratio `json:"framed"` // every message is framed
	Bare   []Ratio `json:"bare"`   // small messages go as lines
}

func gatherSmall(ctx context.Context, s *session) (Small, error) {
	records, err := s.costs(ctx)
	if err != nil {
		return Small{}, err
	}
	return Small{
		Framed: ratios(records, "time", "chunked:61440", "ndjson", "roundtrip", 0),
		Bare:   ratios(records, "time", "adaptive:61440", "ndjson", "roundtrip", 0),
	}, nil
}

func judgeSmall(e Small) finding {
	framed, _ := compareAll(e.Framed, 1+noticeable)
	bare, _ := compareAll(e.Bare, 1+noticeable)
	f := finding{
		figure: fmt.Sprintf("framed: %s; bare: %s", ratioRange(e.Framed), ratioRange(e.Bare)),
	}
	switch {
	case framed == Depends || bare == Depends || framed == Holds && bare == Refuted:
		f.outcome = outcome{Depends, "unsure"}
		f.unsure = true
	case framed != bare:
		f.outcome = outcome{Depends, "framed ones"}
	default:
		f.verdict = bare
	}
	return f
}
