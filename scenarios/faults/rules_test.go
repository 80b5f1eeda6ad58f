package faults

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/evidencetest"
)

// Each rule is given evidence that makes it go every way that it can go.
func TestRules(t *testing.T) {
	interval := func(lo, hi float64) stat.Estimate {
		return stat.Estimate{
			N:        6,
			Median:   (lo + hi) / 2,
			Interval: &stat.Interval{Lo: lo, Hi: hi, Confidence: 0.97},
		}
	}
	sent := [2]int64{100, 100}
	for _, c := range []struct {
		name  string
		found finding
		want  Verdict
	}{
		{
			"reader gone, told",
			&ReaderClosed{Offered: 9, Accepted: 5, Read: 1, Broken: true},
			Noticed,
		},
		{"reader gone, accepted and unread", &ReaderClosed{Offered: 9, Accepted: 9}, SilentLoss},
		{"reader gone, all read", &ReaderClosed{Offered: 9, Accepted: 9, Read: 9}, Sound},

		{"print ended by the signal", &Printer{Signal: true}, Noticed},
		{"print ended by the error", &Printer{Exit: "exit status 1"}, Noticed},
		{"print ended well", &Printer{Exit: "exit status 0"}, SilentLoss},

		{"output whole", queuedOutput{&Output{Sent: 9, Delivered: 9, ExitCode: 1}}, Sound},
		{"output short, exit 0", queuedOutput{&Output{Sent: 9, Delivered: 8}}, SilentLoss},
		{
			"output short, exit 1",
			queuedOutput{&Output{Sent: 9, Delivered: 8, ExitCode: 1}},
			Noticed,
		},

		{"server left", &Orphan{Exited: true}, Sound},
		{"server stayed", &Orphan{}, Orphaned},

		{
			"writer slow everywhere",
			&FullPipe{ToBest: map[string]stat.Estimate{
				"a": interval(0.01, 0.02),
				"b": interval(0.01, 0.1),
			}},
			Slow,
		},
		{
			"writer slow in one framing",
			&FullPipe{ToBest: map[string]stat.Estimate{
				"a": interval(0.01, 0.02),
				"b": interval(0.5, 0.6),
			}},
			Sound,
		},
		{
			"writer perhaps as fast",
			&FullPipe{ToBest: map[string]stat.Estimate{
				"a": {N: 6, Median: 0.1, Interval: &stat.Interval{Lo: 0.05, Hi: 1.2}},
			}},
			Sound,
		},
		{"writer without figures", &FullPipe{}, Sound},

		{"exchange done", &Exchange{Size: 100, Received: sent}, Sound},
		{
			"exchange stalled on one side",
			&Exchange{Size: 100, Received: sent, Stalled: [2]bool{false, true}},
			Stuck,
		},
		{"exchange short", &Exchange{Size: 100, Received: [2]int64{100, 99}}, Noticed},

		{"log, all answered", &Logging{Asked: 3, Answered: 3}, Sound},
		{"log, no answer", &Logging{Asked: 3, Answered: 2}, Stuck},
		{"log, server gone", &Logging{Asked: 3, Answered: 2, Error: "EOF"}, Noticed},

		{"small message waits for all", &HeadOfLine{Share: interval(0.9, 1.1)}, Slow},
		{"small message waits for a part", &HeadOfLine{Share: interval(0.01, 0.6)}, Sound},

		{"writes whole", &InterleavedWrites{Writes: 9}, Sound},
		{"writes cut", &InterleavedWrites{Writes: 9, Cut: 1}, Corrupted},

		{
			"messages mixed",
			&InterleavedFrames{Sent: 9, Intact: 8, Altered: 1, Errors: 4},
			Corrupted,
		},
		{"messages whole", &InterleavedFrames{Sent: 9, Intact: 9}, Sound},
		{"messages lost with an error", &InterleavedFrames{Sent: 9, Intact: 8, Errors: 1}, Noticed},
		{"messages lost without", &InterleavedFrames{Sent: 9, Intact: 8}, SilentLoss},

		{"text whole", &SplitText{Messages: 2, Intact: 2}, Sound},
		{"text dropped", &SplitText{Messages: 2, Intact: 1, Lost: 1}, SilentLoss},
		{"text replaced", &SplitText{Messages: 2, Lost: 1, Altered: 1}, Corrupted},

		{
			"end of input not seen",
			&DirtyLines{Cases: []DirtyCase{
				{Sent: 2, Intact: 2},
				{Sent: 2, Intact: 2, Endless: true},
			}},
			Stuck,
		},
		{"dirt skipped", &DirtyLines{Cases: []DirtyCase{{Sent: 2, Intact: 2, Skipped: 1}}}, Sound},
		{
			"dirt fatal, with an error",
			&DirtyLines{Cases: []DirtyCase{
				{Sent: 2, Intact: 2},
				{Sent: 2, Intact: 1, Error: "bad"},
			}},
			Noticed,
		},
		{
			"dirt fatal, without",
			&DirtyLines{Cases: []DirtyCase{
				{Sent: 2, Intact: 1, Error: "bad"},
				{Sent: 2, Intact: 1},
			}},
			SilentLoss,
		},

		{
			"framings agree",
			&Mismatch{First: understood, Sent: 3, Understood: 3, Waits: true},
			Sound,
		},
		{"first message waited for", &Mismatch{First: waits, Sent: 3, Error: "later"}, Stuck},
		{"framing refused", &Mismatch{First: refused, Sent: 3, Error: "no"}, Refused},
		{"framing garbled", &Mismatch{First: garbled, Sent: 3, Garbled: 1, Waits: true}, Corrupted},
		{
			"later message waited for",
			&Mismatch{First: understood, Sent: 3, Understood: 2, Waits: true},
			Stuck,
		},
		{"message gone", &Mismatch{First: understood, Sent: 3, Understood: 2}, SilentLoss},

		{
			"cost quadratic",
			&ReaderGrowth{Slope: stat.Growth{
				Slope:    1.9,
				Interval: &stat.Interval{Lo: 1.5, Hi: 2.1},
			}},
			Grows,
		},
		{
			"cost quadratic, perhaps",
			&ReaderGrowth{Slope: stat.Growth{Slope: 1.9, Interval: &stat.Interval{Lo: 0.5, Hi: 3}}},
			Sound,
		},
		{
			"cost linear and high",
			&ReaderGrowth{
				Slope:  stat.Growth{Slope: 1},
				ToOurs: []Sized{{Figure: interval(900, 1000)}},
			},
			Slow,
		},
		{
			"cost linear",
			&ReaderGrowth{
				Slope:  stat.Growth{Slope: 1.1},
				ToOurs: []Sized{{Figure: interval(0.9, 4)}},
			},
			Sound,
		},

		{"line refused at the limit", &UnboundedLine{Limit: 100, Held: 300, Detected: true}, Sound},
		{
			"line refused, far more held",
			&UnboundedLine{Limit: 100, Held: 301, Detected: true},
			Grows,
		},
		{"line never refused", &UnboundedLine{Limit: 100, Held: 10}, Grows},
	} {
		got, advice := c.found.judge()
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if advice == "" || strings.Contains(advice, "%!") {
			t.Errorf("%s: advice %q", c.name, advice)
		}
	}
}

// Each entry of advice.txt is used, and what is used is there.
func TestAdvice(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`advise\("([^"]+)"`)
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range call.FindAllStringSubmatch(string(text), -1) {
			known := false
			for outcome := range advice() {
				// A name that ends with a blank is followed by a word that the evidence has.
				begins := strings.HasSuffix(m[1], " ") && strings.HasPrefix(outcome, m[1])
				if outcome == m[1] || begins {
					used[outcome] = true
					known = true
				}
			}
			if !known {
				t.Errorf("%s: no advice for %q", file, m[1])
			}
		}
	}
	for outcome, text := range advice() {
		if !used[outcome] || text == "" {
			t.Errorf("%q: used %v, advice %q", outcome, used[outcome], text)
		}
	}
}

// What a quadratic and a linear reader leave in the records is told apart.
func TestGrowthFromRecords(t *testing.T) {
	var records []results.Record
	for size := growthFrom / 4; size <= growthTo; size *= 2 {
		linear := int64(size)
		for framing, ns := range map[string]int64{
			"ndjson":          linear,
			"ndjson-rescan":   linear * linear >> 16,
			"ndjson-bytewise": 150 * linear,
		} {
			r := results.Record{Run: "r", Cell: streamCell("same", framing, size, "blocking")}
			for i := range int64(stat.LeastSamples) {
				r.Samples = append(r.Samples, results.Sample{
					ElapsedNS:    10 * (ns + i),
					Messages:     10,
					PayloadBytes: int64(10 * size),
					Reader:       results.Counters{Calls: 40},
				})
			}
			records = append(records, r)
		}
	}
	want := map[string]Verdict{"ndjson": Sound, "ndjson-rescan": Grows, "ndjson-bytewise": Slow}
	all := GrowthOf(records, growthFrom)
	if len(all) != len(want) {
		t.Fatalf("%d readers, want %d", len(all), len(want))
	}
	for _, e := range all {
		if got, _ := e.judge(); got != want[e.Framing] {
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
func TestFullPipesFromRecords(t *testing.T) {
	var records []results.Record
	for _, cell := range fullPipePlan("same", []string{"ndjson"}).Cells {
		ns := int64(1000)
		if strings.HasPrefix(cell.IO, "sleep") {
			ns = 100_000
		}
		r := results.Record{Run: "r", Cell: cell}
		for range stat.LeastSamples {
			r.Samples = append(r.Samples, results.Sample{
				ElapsedNS:    ns,
				Messages:     1,
				PayloadBytes: 1000,
				Capacity:     65536,
			})
		}
		records = append(records, r)
	}
	for _, e := range fullPipesOf(records) {
		want := Sound
		if e.PauseNS > 0 {
			want = Slow
			if e.CeilingB != 6_553_600 {
				t.Errorf("%s: a pipe's worth per pause is %v B/s", e.IO, e.CeilingB)
			}
		}
		if got, _ := e.judge(); got != want {
			t.Errorf("%s: %s, want %s", e.IO, got, want)
		}
	}
	if waits := fullPipesOf(nil); len(waits) != 0 {
		t.Errorf("of no records: %v", waits)
	}
}

// A rule bears evidence of any content: files may be old, cut or written by others.
func TestRulesBearAnyEvidence(t *testing.T) {
	for _, like := range []finding{
		&ReaderClosed{Signals: new(int)},
		&Printer{},
		queuedOutput{&Output{}},
		nonBlockingOutput{&Output{}},
		&Orphan{},
		&Exchange{},
		&Logging{},
		&FullPipe{
			ToBest:  map[string]stat.Estimate{"a": {Interval: &stat.Interval{}}},
			Goodput: map[string]stat.Estimate{"a": {}, "b": {}},
		},
		&HeadOfLine{Wait: stat.Estimate{Interval: &stat.Interval{}}},
		&InterleavedWrites{},
		&InterleavedFrames{},
		&SplitText{Cases: make([]TextCase, 1)},
		&DirtyLines{Cases: make([]DirtyCase, 1)},
		&Mismatch{},
		&ReaderGrowth{PerByte: make([]Sized, 1), ToOurs: make([]Sized, 1)},
		&UnboundedLine{Curve: &results.Curve{}},
	} {
		judged := 0
		for _, e := range evidencetest.Altered(t, like) {
			var found finding
			output := new(Output)
			var into any = output
			switch like.(type) {
			case queuedOutput:
				found = queuedOutput{output}
			case nonBlockingOutput:
				found = nonBlockingOutput{output}
			default:
				found = reflect.New(reflect.TypeOf(like).Elem()).Interface().(finding)
				into = found
			}
			if e.Decode(into) != nil {
				continue // no evidence of this kind
			}
			judged++
			v, advice := found.judge()
			if !slices.Contains(verdicts, v) || advice == "" || strings.Contains(advice, "%!") {
				t.Errorf("%T of %s: verdict %q, advice %q", like, e, v, advice)
			}
		}
		if judged < 10 {
			t.Errorf("%T: %d altered pieces of evidence were judged", like, judged)
		}
	}
}
