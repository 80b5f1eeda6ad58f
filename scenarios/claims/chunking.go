package claims

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe/script"
)

// chunkingClaims are what document 000 says chunks cost.
var chunkingClaims = []Claim{
	claim("000-header-40", "Configuration", by(gatherHeaders, judgeHeaders),
		"A frame's header takes about 40 bytes",
		"Header and newline of every frame of messages from 1 KiB to 16 MiB are counted. Holds if all lie within 15 % of 40; refuted if none does; else depends."),
	claim("000-overhead-bytes", "Performance Considerations", by(gatherWire, judgeWire),
		"Chunking adds less than 1 % to the bytes on the wire",
		"Bytes on the wire beyond the payload, for messages of 1 KiB to 1 MiB in chunks of 60 KiB, exact. Holds if below 1 % for every size; refuted if for none; else depends."),
	claim("000-overhead-time", "Performance Considerations", by(costRatios("time", "chunked:61440", "stream", 0), judgeCost(1.01, "time")),
		"Chunking adds less than 1 % to the time of a message",
		"Time a message in chunks over time as a line, round by round, for every size and placement. Holds if every interval ends below 1.01; refuted if every one begins above; else depends."),
	claim("000-overhead-cpu", "Performance Considerations", by(costRatios("cpu", "chunked:61440", "stream", 0), judgeCost(1.01, "CPU time")),
		"Chunking adds less than 1 % to the CPU time of a message",
		"CPU time of both ends in chunks over that as a line, round by round, for every size and placement. Holds if every interval ends below 1.01; refuted if every one begins above; else depends."),
	claim("000-latency-small", "Performance Considerations", by(gatherSmall, judgeSmall),
		"Messages below 60 KiB have no additional latency",
		"Round trips of 256 B, 4 KiB and 32 KiB against lines, round by round: by a sender that frames every message, and by one that chunks only what exceeds the size. Holds if for the latter every interval ends below 1.05 and for the former as well; refuted if for both every one begins above; else depends."),
	claim("000-throughput", "Performance Considerations", by(costRatios("time", "chunked:61440", "stream", 64<<10), judgeCost(1+noticeable, "time")),
		"Chunking has no significant impact on throughput",
		"Time of messages of 64 KiB and 1 MiB in chunks over time as lines, round by round, for every placement. Holds if every interval ends below 1.05; refuted if every one begins above; else depends."),
}

// Headers are the evidence of 000-header-40.
type Headers struct {
	Messages []HeaderOf `json:"messages"`
}

// A HeaderOf is what the frames of one message carry beside its bytes.
type HeaderOf struct {
	Message int `json:"message"` // bytes
	Frames  int `json:"frames"`
	Least   int `json:"least"` // bytes of header and newline, of any frame
	Most    int `json:"most"`
}

func gatherHeaders(context.Context, *session) (e Headers) {
	f := script.Must(framers.Chunked(60 << 10))
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
		h := HeaderOf{Message: size, Least: size}
		for _, wire := range framesOf(f, bytes.Repeat([]byte("x"), size)) {
			extra := len(wire) - bytes.Count(wire, []byte("x")) // a header has no such letter
			h.Frames++
			h.Least, h.Most = min(h.Least, extra), max(h.Most, extra)
		}
		e.Messages = append(e.Messages, h)
	}
	return e
}

func judgeHeaders(e Headers) Judgement {
	var t tally
	least, most := 1<<30, 0
	for _, m := range e.Messages {
		least, most = min(least, m.Least), max(most, m.Most)
		t.add(faults.Size(m.Message), m.Least >= 34 && m.Most <= 46)
	}
	return t.judge(fmt.Sprintf("%d to %d B", least, most), "36 of a UUID, two numbers, three colons and the newline",
		"no frame's header is near 40 bytes", "beyond 15 % of 40 for messages of ")
}

// Wire is the evidence of 000-overhead-bytes.
type Wire struct {
	Overhead []WireOf `json:"overhead"` // ascending by size
}

// A WireOf is what one size of message takes beyond its payload.
type WireOf struct {
	Size    int     `json:"size"`
	Percent float64 `json:"percent"`
}

func gatherWire(ctx context.Context, s *session) (e Wire) {
	records := s.costs(ctx)
	overhead := stat.MustMetric("overhead")
	for _, size := range streamSizes { // the placements tell the same
		i := slices.IndexFunc(records, func(r results.Record) bool {
			return r.Cell.Framing == "chunked:61440" && r.Cell.Size == size && len(r.Samples) > 0
		})
		if i >= 0 {
			e.Overhead = append(e.Overhead, WireOf{size, overhead.Estimate(records[i]).Median})
		}
	}
	return e
}

func judgeWire(e Wire) Judgement {
	var t tally
	least, most := 0.0, 0.0
	for i, o := range e.Overhead {
		if i == 0 || o.Percent < least {
			least = o.Percent
		}
		most = max(most, o.Percent)
		t.add(faults.Size(o.Size), o.Percent < 1)
	}
	return t.judge(fmt.Sprintf("%.2g %% to %.2g %%, exact", least, most), "below 1 % for every size",
		"1 % and more for every size", "where every message is framed, small ones pay more: ")
}

// Costs are the evidence of the claims on time, CPU and throughput.
type Costs struct {
	Metric string  `json:"metric"`
	Ratios []Ratio `json:"ratios"` // to the same messages as lines
}

func costRatios(metric, framing, pattern string, least int) func(context.Context, *session) Costs {
	return func(ctx context.Context, s *session) Costs {
		return Costs{metric, ratios(s.costs(ctx), metric, framing, pattern, least)}
	}
}

func judgeCost(bound float64, what string) func(Costs) Judgement {
	return func(e Costs) Judgement {
		v, unsure := compareAll(e.Ratios, bound)
		limit := fmt.Sprintf("%.0f %%", 100*(bound-1))
		everywhere := fmt.Sprintf("%s more %s than the same messages as lines, at every size and placement", limit, what)
		j := decide(ratioRange(e.Ratios),
			ruling{v == Holds, v, "less than " + everywhere},
			ruling{v == Refuted, v, "more than " + everywhere},
			ruling{unsure, v, "the intervals leave open whether " + limit + " is kept to everywhere"},
			ruling{true, v, limit + " is kept to at some sizes and placements, and not at others"})
		j.Unsure = unsure
		return j
	}
}

// Small is the evidence of 000-latency-small.
type Small struct {
	Framed []Ratio `json:"framed"` // every message is framed
	Bare   []Ratio `json:"bare"`   // small messages go as lines
}

func gatherSmall(ctx context.Context, s *session) (e Small) {
	records := s.costs(ctx)
	e.Framed = ratios(records, "time", "chunked:61440", "roundtrip", 0)
	e.Bare = ratios(records, "time", "adaptive:61440", "roundtrip", 0)
	return e
}

func judgeSmall(e Small) Judgement {
	framed, _ := compareAll(e.Framed, 1+noticeable)
	bare, _ := compareAll(e.Bare, 1+noticeable)
	figure := fmt.Sprintf("framed: %s; bare: %s", ratioRange(e.Framed), ratioRange(e.Bare))
	known := framed != Depends && bare != Depends && (framed == bare || bare == Holds)
	j := decide(figure,
		ruling{!known, Depends, "the intervals leave open whether small messages take more than 5 % longer, framed or bare"},
		ruling{framed != bare, Depends, "small messages that go as bare lines take no longer, framed ones do"},
		ruling{bare == Holds, Holds, "round trips take as long as those of lines, within 5 %"},
		ruling{true, Refuted, "round trips take more than 5 % longer than those of lines"})
	j.Unsure = !known
	return j
}
