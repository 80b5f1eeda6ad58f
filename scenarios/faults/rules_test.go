package faults

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Each rule is given evidence that makes it go every way that it can go.
func TestRules(t *testing.T) {
	interval := func(lo, hi float64) stat.Estimate {
		return stat.Estimate{N: 6, Median: (lo + hi) / 2, Interval: &stat.Interval{Lo: lo, Hi: hi, Confidence: 0.97}}
	}
	sent := [2]int64{100, 100}
	for _, c := range []struct {
		name string
		got  Verdict
		want Verdict
	}{
		{"reader gone, told", judgeLeave(Leave{Offered: 9, Accepted: 5, Read: 1, Broken: true}), Noticed},
		{"reader gone, accepted and unread", judgeLeave(Leave{Offered: 9, Accepted: 9}), SilentLoss},
		{"reader gone, all read", judgeLeave(Leave{Offered: 9, Accepted: 9, Read: 9}), Sound},

		{"print ended by the signal", judgePrint(Print{Signal: true}), Noticed},
		{"print ended by the error", judgePrint(Print{Exit: "exit status 1"}), Noticed},
		{"print ended well", judgePrint(Print{Exit: "exit status 0"}), SilentLoss},

		{"output whole", judgeOutput(Output{Sent: 9, Delivered: 9, ExitCode: 1}), Sound},
		{"output short, exit 0", judgeOutput(Output{Sent: 9, Delivered: 8}), SilentLoss},
		{"output short, exit 1", judgeOutput(Output{Sent: 9, Delivered: 8, ExitCode: 1}), Noticed},

		{"server left", judgeSurvivor(Survivor{Exited: true}), Sound},
		{"server stayed", judgeSurvivor(Survivor{}), Orphaned},

		{"writer slow everywhere", judgeWaiting(Waiting{ToBest: map[string]stat.Estimate{"a": interval(0.01, 0.02), "b": interval(0.01, 0.1)}}), Slow},
		{"writer slow in one framing", judgeWaiting(Waiting{ToBest: map[string]stat.Estimate{"a": interval(0.01, 0.02), "b": interval(0.5, 0.6)}}), Sound},
		{"writer perhaps as fast", judgeWaiting(Waiting{ToBest: map[string]stat.Estimate{"a": {N: 6, Median: 0.1, Interval: &stat.Interval{Lo: 0.05, Hi: 1.2}}}}), Sound},
		{"writer without figures", judgeWaiting(Waiting{}), Sound},

		{"exchange done", judgeExchange(Exchange{Size: 100, Received: sent}), Sound},
		{"exchange stalled on one side", judgeExchange(Exchange{Size: 100, Received: sent, Stalled: [2]bool{false, true}}), Stuck},
		{"exchange short", judgeExchange(Exchange{Size: 100, Received: [2]int64{100, 99}}), Noticed},

		{"log, all answered", judgeLogging(Logging{Asked: 3, Answered: 3}), Sound},
		{"log, no answer", judgeLogging(Logging{Asked: 3, Answered: 2}), Stuck},
		{"log, server gone", judgeLogging(Logging{Asked: 3, Answered: 2, Error: "EOF"}), Noticed},

		{"small message waits for all", judgeQueueing(Queueing{Share: interval(0.9, 1.1)}), Slow},
		{"small message waits for a part", judgeQueueing(Queueing{Share: interval(0.01, 0.6)}), Sound},

		{"writes whole", judgeMixture(Mixture{Writes: 9}), Sound},
		{"writes cut", judgeMixture(Mixture{Writes: 9, Cut: 1}), Corrupted},

		{"messages mixed", judgeBabel(Babel{Sent: 9, Intact: 8, Altered: 1, Errors: 4}), Corrupted},
		{"messages whole", judgeBabel(Babel{Sent: 9, Intact: 9}), Sound},
		{"messages lost with an error", judgeBabel(Babel{Sent: 9, Intact: 8, Errors: 1}), Noticed},
		{"messages lost without", judgeBabel(Babel{Sent: 9, Intact: 8}), SilentLoss},

		{"text whole", judgeText(Text{Messages: 2, Intact: 2}), Sound},
		{"text dropped", judgeText(Text{Messages: 2, Intact: 1, Lost: 1}), SilentLoss},
		{"text replaced", judgeText(Text{Messages: 2, Lost: 1, Altered: 1}), Corrupted},

		{"dirt skipped", judgeDirt(Dirt{Cases: []DirtCase{{Sent: 2, Intact: 2, Skipped: 1}}}), Sound},
		{"dirt fatal, with an error", judgeDirt(Dirt{Cases: []DirtCase{{Sent: 2, Intact: 2}, {Sent: 2, Intact: 1, Error: "bad"}}}), Noticed},
		{"dirt fatal, without", judgeDirt(Dirt{Cases: []DirtCase{{Sent: 2, Intact: 1, Error: "bad"}, {Sent: 2, Intact: 1}}}), SilentLoss},

		{"framings agree", judgeMismatch(Mismatch{First: understood, Sent: 3, Understood: 3, Waits: true}), Sound},
		{"first message waited for", judgeMismatch(Mismatch{First: waits, Sent: 3, Error: "later"}), Stuck},
		{"framing refused", judgeMismatch(Mismatch{First: refused, Sent: 3, Error: "no"}), Refused},
		{"framing garbled", judgeMismatch(Mismatch{First: garbled, Sent: 3, Garbled: 1, Waits: true}), Corrupted},
		{"later message waited for", judgeMismatch(Mismatch{First: understood, Sent: 3, Understood: 2, Waits: true}), Stuck},
		{"message gone", judgeMismatch(Mismatch{First: understood, Sent: 3, Understood: 2}), SilentLoss},

		{"cost quadratic", judgeGrowing(Growing{Slope: stat.Growth{Slope: 1.9, Interval: &stat.Interval{Lo: 1.5, Hi: 2.1}}}), Grows},
		{"cost quadratic, perhaps", judgeGrowing(Growing{Slope: stat.Growth{Slope: 1.9, Interval: &stat.Interval{Lo: 0.5, Hi: 3}}}), Sound},
		{"cost linear and high", judgeGrowing(Growing{Slope: stat.Growth{Slope: 1}, ToOurs: []Sized{{Figure: interval(900, 1000)}}}), Slow},
		{"cost linear", judgeGrowing(Growing{Slope: stat.Growth{Slope: 1.1}, ToOurs: []Sized{{Figure: interval(0.9, 4)}}}), Sound},

		{"line refused at the limit", judgeHoard(Hoard{Limit: 100, Held: 300, Detected: true}), Sound},
		{"line refused, far more held", judgeHoard(Hoard{Limit: 100, Held: 301, Detected: true}), Grows},
		{"line never refused", judgeHoard(Hoard{Limit: 100, Held: 10}), Grows},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
}

// What a quadratic and a linear reader leave in the records is told apart.
func TestGrowthFromRecords(t *testing.T) {
	var records []results.Record
	for _, size := range growthSizes[:6] {
		linear := int64(size)
		for framing, ns := range map[string]int64{"ndjson": linear, "ndjson-rescan": linear * linear >> 16, "ndjson-bytewise": 150 * linear} {
			r := results.Record{Run: "r", Cell: growthCell(framing, size)}
			for i := range int64(stat.LeastSamples) {
				r.Samples = append(r.Samples, results.Sample{ElapsedNS: 10 * (ns + i), Messages: 10, PayloadBytes: int64(10 * size), Reader: results.Counters{Calls: 40}})
			}
			records = append(records, r)
		}
	}
	want := map[string]Verdict{"ndjson": Sound, "ndjson-rescan": Grows, "ndjson-bytewise": Slow}
	all := Growings(records)
	if len(all) != len(want) {
		t.Fatalf("%d readers, want %d", len(all), len(want))
	}
	for _, e := range all {
		if got := judgeGrowing(e); got != want[e.Framing] {
			t.Errorf("%s: %s, want %s (slope %v)", e.Framing, got, want[e.Framing], e.Slope)
		}
		for _, b := range e.Beyond {
			if !b.Extrapolated || b.Figure.N != 0 {
				t.Errorf("%s: %d B was not measured, and does not say so", e.Framing, b.Size)
			}
		}
	}
	c := curveOfGrowth(all)
	marked := 0
	for _, s := range c.Series {
		for _, p := range s.Points {
			if p.Extrapolated {
				marked++
			}
		}
	}
	if marked == 0 || len(c.Series) != len(want) {
		t.Errorf("the curve has %d lines and %d extrapolated points", len(c.Series), marked)
	}
}

// A ratio is taken round by round, and only where both were measured.
func TestWaitsFromRecords(t *testing.T) {
	var records []results.Record
	for _, cell := range FullPipePlan([]string{"ndjson"}).Cells {
		ns := int64(1000)
		if strings.HasPrefix(cell.IO, "sleep") {
			ns = 100_000
		}
		r := results.Record{Run: "r", Cell: cell}
		for range stat.LeastSamples {
			r.Samples = append(r.Samples, results.Sample{ElapsedNS: ns, Messages: 1, PayloadBytes: 1000, Capacity: 65536})
		}
		records = append(records, r)
	}
	for _, e := range Waits(records) {
		want := Sound
		if e.PauseNS > 0 {
			want = Slow
			if e.CeilingB != 6_553_600 {
				t.Errorf("%s: a pipe's worth per pause is %v B/s", e.IO, e.CeilingB)
			}
		}
		if got := judgeWaiting(e); got != want {
			t.Errorf("%s: %s, want %s", e.IO, got, want)
		}
	}
	if waits := Waits(nil); len(waits) != 0 {
		t.Errorf("of no records: %v", waits)
	}
}
