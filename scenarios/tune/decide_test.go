package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// A model is a machine whose figures are known. A byte takes time to copy, each write takes some
// more, and if the ends have two CPUs, each filling of the pipe costs a wake-up.
type model struct {
	byteNS  float64 // for each byte
	writeNS float64 // for each write
	wakeNS  float64 // for each filling of the pipe, on two CPUs
	frameNS float64 // for each chunk frame
	noise   float64 // of each figure, as a share
	enough  int     // bytes of a pipe that no message fills; 0: each fills all
	load    float64 // what other programs add to the time that passes, as a share; CPU time is unaffected
	brief   bool    // its waits have no histograms, which take long to make
}

var usual = model{byteNS: 0.25, writeNS: 800, wakeNS: 80_000, frameNS: 800, noise: 0.01}

const usualPipe = 64 << 10

// costs returns the CPU time and the time that passes for one message of a cell, in nanoseconds.
func (m model) costs(c results.Cell) (cpu, passes float64) {
	size := float64(c.Size)
	pipe := float64(max(usualPipe, c.Capacity))
	cpu = size * m.byteNS
	if c.WriteSize > 0 {
		cpu += size / float64(c.WriteSize) * m.writeNS
	}
	if chunk := results.ChunkSize(c.Framing); chunk > 0 {
		cpu += size / float64(chunk) * m.frameNS
	}
	passes = cpu + size*c.Work
	sleeps := size / pipe
	seldomFills := c.WriteSize > 0 && float64(c.WriteSize) <= pipe/4
	if seldomFills || m.enough > 0 && c.Capacity >= m.enough {
		sleeps = 0
	}
	if c.Placement != "same" && c.Work == 0 {
		passes += sleeps * m.wakeNS
	}
	if c.Drain > 0 {
		passes = max(passes, size/float64(c.Drain)*1e9)
	}
	return cpu, passes
}

// sample returns one sample of a cell.
func (m model) sample(c results.Cell, r *rand.Rand) results.Sample {
	const messages = 100
	noisy := func(v float64) float64 { return v * math.Exp(m.noise*r.NormFloat64()) }
	cpu, passes := m.costs(c)
	passes *= math.Exp(m.load * math.Abs(r.NormFloat64()))
	s := results.Sample{
		ElapsedNS:    int64(noisy(passes) * messages),
		Messages:     messages,
		PayloadBytes: int64(c.Size) * messages,
		WireBytes:    int64(c.Size) * messages,
		Capacity:     max(usualPipe, c.Capacity),
	}
	s.Writer.CPUNS = new(int64(noisy(cpu) * messages / 2))
	s.Reader.CPUNS = new(int64(noisy(cpu) * messages / 2))
	if c.Pattern == bench.PatternMixed {
		ahead := float64(s.Capacity + c.Size/2)
		if chunk := results.ChunkSize(c.Framing); chunk > 0 {
			ahead = float64(s.Capacity + chunk/2)
		}
		wait := int64(noisy(ahead / float64(c.Drain) * 1e9))
		s.Latency = map[string]results.Latency{"due": {Count: 48, P50NS: &wait}}
		if !m.brief {
			s.Latency["due"] = latencyOf(wait)
		}
	}
	return s
}

// latencyOf is the latency of messages that all take the same time.
func latencyOf(ns int64) results.Latency {
	l, err := results.NewLatency(slices.Repeat([]int64{ns}, 48))
	if err != nil {
		panic(err)
	}
	return l
}

// records are n samples of every cell of the grid.
func (m model) records(n int, seed uint64) []results.Record {
	r := rand.New(rand.NewPCG(seed, 1))
	twoCPUs := placement.Topology{CPUs: []placement.CPU{
		{ID: 0, Core: "0", Cache: "0-1"}, {ID: 1, Core: "1", Cache: "0-1"},
	}}
	var out []results.Record
	for _, c := range Cells(twoCPUs, Options{Size: 1_000_000, Framing: "ndjson"}) {
		record := results.Record{Kind: results.KindMeasurement, Run: "test", Cell: c}
		for i := range n {
			s := m.sample(c, r)
			s.Round = i
			record.Samples = append(record.Samples, s)
		}
		out = append(out, record)
	}
	return out
}

// slowWakeUps has capacities that cannot be set.
func withoutCapacities(records []results.Record) []results.Record {
	return slices.DeleteFunc(records, func(r results.Record) bool { return r.Cell.Capacity > 0 })
}

// A choice that was not measured has no row, and what is not proven is not said of a reader for
// which the advice is certain.
func TestAnAnswerSaysNoMoreThanIsKnown(t *testing.T) {
	records := slices.DeleteFunc(usual.records(12, 1), func(r results.Record) bool {
		return r.Cell.WriteSize > 0 && r.Cell.Pattern != "stream"
	})
	d := Decide(records, Balanced)
	d.Unproven = "noise"
	answer := d.Answer(new(ReaderCost(118)))
	for _, row := range answer.Page(true).Tables[1].Rows {
		if strings.Contains(row[0].Text, "writes") {
			t.Errorf("a row without a figure: %+v", row)
		}
	}
	text := strings.Join(answer.Sentences, " ")
	for _, other := range []string{"ot proven", "only moves bytes", "Goodput"} {
		if strings.Contains(text, other) {
			t.Errorf("%q, of a reader that works on the bytes, in %s", other, text)
		}
	}
}

// slowDown makes the messages of the chosen records take so many times as long.
func slowDown(records []results.Record, factor float64, chosen func(results.Cell) bool) {
	for _, r := range records {
		for i := range r.Samples {
			if chosen(r.Cell) {
				r.Samples[i].ElapsedNS = int64(float64(r.Samples[i].ElapsedNS) * factor)
			}
		}
	}
}

// A change that makes messages slower at one placement is not advised for all, by any objective,
// and whether or not the records prove anything. The answer names the placement for which it holds.
func TestAChangeIsAdvisedOnlyIfNoPlacementContradicts(t *testing.T) {
	for _, objective := range []Objective{Balanced, Throughput, Latency} {
		for _, disturbed := range []bool{false, true} {
			records := withoutWrites(usual.records(12, 1))
			slowDown(records, 1.3, func(c results.Cell) bool {
				return c.Capacity > 0 && c.Placement == "same" && c.Pattern == "stream"
			})
			for i := range records {
				records[i].Disturbed = disturbed
			}
			answer := Decide(records, objective).Answer(nil)
			text := strings.Join(answer.Sentences, "\n")
			const want = "Only if you know that the ends run on two CPUs, use a pipe of " +
				"1 MiB: 4.5 times as fast."
			if answer.Lever != unchanged || !strings.Contains(text, want) {
				t.Errorf("%s, disturbed: %t: lever %s, no %q in\n%s", objective, disturbed,
					answer.Lever, want, text)
			}
		}
	}
}

// To change nothing is certain only if each change certainly loses somewhere, or gains too little.
// By any objective, the answer says so, or says that nothing is known.
func TestChangeNothingIsSaidOnlyIfItIsCertain(t *testing.T) {
	cheapWakeUps := usual
	cheapWakeUps.wakeNS = 100
	isPipe := func(c results.Cell) bool { return c.Capacity > 0 && c.Placement == "apart" }
	for _, objective := range []Objective{Balanced, Throughput, Latency} {
		for _, isNoisy := range []bool{false, true} {
			want := "If your reader only moves bytes: change nothing. Each change certainly " +
				"loses somewhere, or certainly gains less than 15 % on average."
			if isNoisy {
				want = "If your reader only moves bytes: change nothing until you know."
			}
			records := cheapWakeUps.records(12, 1)
			slowDown(records, 1.2, isPipe)
			slowDown(records, 1.3, func(c results.Cell) bool {
				return c.WriteSize > 0 && c.Placement == "same"
			})
			for _, r := range records {
				if isNoisy && isPipe(r.Cell) {
					scatter(r)
				}
			}
			text := strings.Join(Decide(records, objective).Answer(nil).Sentences, "\n")
			if !strings.Contains(text, want) {
				t.Errorf("%s, noisy: %v: no %q in\n%s", objective, isNoisy, want, text)
			}
		}
	}
}

func withoutWrites(records []results.Record) []results.Record {
	return slices.DeleteFunc(records, func(r results.Record) bool { return r.Cell.WriteSize > 0 })
}

// Noise can set the medians of a table apart from what paired samples say. The reader sees the
// table.
func TestAChangeThatTheTableContradictsIsNotAdvised(t *testing.T) {
	records := withoutWrites(usual.records(12, 1))
	for _, r := range records {
		c := r.Cell
		isUsual := c.Capacity == 0 && results.ChunkSize(c.Framing) == 0
		isPipe := c.Capacity > 0 || isUsual
		if c.Placement != "same" || c.Pattern != "stream" || !isPipe {
			continue
		}
		for i := range r.Samples {
			// In 7 rounds of 12 the larger pipe is a little faster; over all its median is lower.
			factor := 1.0
			switch {
			case isUsual && i < 5:
				factor = 0.5
			case isUsual && i < 7:
				factor = 0.6
			case i < 5:
				factor = 2
			case i < 7:
				factor = 0.59
			case !isUsual:
				factor = 0.99
			}
			r.Samples[i].ElapsedNS = int64(float64(r.Samples[i].ElapsedNS) * factor)
		}
	}
	answer := Decide(records, Balanced).Answer(nil)
	if answer.Lever != unchanged {
		t.Errorf("lever %s, beside %v", answer.Lever, answer.makeTables(true)[0].Rows)
	}
}

// What noise hides is said once in a sentence, for all that it holds for.
func TestNoiseIsSaidOnceInASentence(t *testing.T) {
	records := usual.records(12, 1)
	for _, r := range records {
		c := r.Cell
		isWhole := c.WriteSize == 0 && results.ChunkSize(c.Framing) == 0
		if c.WriteSize == usualWrites.WriteSize || c.Work > 0 && c.Capacity > 0 ||
			c.Placement == "same" && c.Pattern == "stream" && !isWhole {
			scatter(r)
		}
	}
	text := strings.Join(Decide(records, Balanced).Answer(nil).Sentences, "\n")
	for sentence := range strings.SplitSeq(text, ". ") {
		if strings.Count(sentence, "oo noisy to tell") > 1 {
			t.Errorf("it is said again in: %s", sentence)
		}
	}
	for _, want := range []string{
		"cannot tell the gain of a pipe of 1 MiB at 1 ns per byte and 5 ns per byte. " +
			"Change nothing until you know.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// Round trips are shown by the median of all trips, as elsewhere; the mean stands in where a record
// has too few.
func TestRoundTripsAreShownByTheirMedian(t *testing.T) {
	trips, err := results.NewLatency(slices.Repeat([]int64{250_000}, 100))
	if err != nil {
		t.Fatal(err)
	}
	records := usual.records(12, 1)
	for _, r := range records {
		for i := range r.Samples {
			if r.Cell.Pattern == results.PatternRoundtrip {
				r.Samples[i].Latency = map[string]results.Latency{"roundtrip": trips}
			}
		}
	}
	a := Decide(records, Balanced).Answer(nil)
	text := strings.Join(a.Sentences, "\n") + a.Page(false).Tables[1].Title
	const want = "Round trip of 1,000,000 B (median), and wait"
	if !strings.Contains(text, want) {
		t.Errorf("no %q in %s", want, text)
	}
}

// A first screen has only the ways to send that the answer names; all others are in the details.
func TestAFirstScreenShowsWhatTheAnswerNames(t *testing.T) {
	a := Decide(usual.records(12, 1), Balanced).Answer(nil)
	var names []string
	for _, row := range a.Page(false).Tables[0].Rows {
		names = append(names, row[0].Text)
	}
	want := []string{
		unchanged.short(), a.Lever.short(), usualWrites.short(), Choice{Chunk: a.Chunk}.short(),
	}
	if !slices.Equal(names, want) {
		t.Errorf("%q, not %q", names, want)
	}
	if all := a.Page(true).Tables[0].Rows; len(all) <= len(want) {
		t.Errorf("with details %d rows", len(all))
	}
}

func TestAKnownOptimumIsFound(t *testing.T) {
	cheapWakeUps := usual
	cheapWakeUps.wakeNS = 100
	dearFrames := usual
	dearFrames.frameNS = 20_000
	alike := usual // pipes of 256 KiB and 1 MiB are as good
	alike.enough = 256 << 10
	smaller := Choice{Capacity: 256 << 10}
	for _, row := range []struct {
		name      string
		records   []results.Record
		objective Objective
		lever     Choice
		chunk     int
	}{
		{"slow wake-ups", usual.records(12, 1), Balanced, Choice{Capacity: 1 << 20}, 60 << 10},
		{"slow wake-ups, for goodput", usual.records(12, 2), Throughput, Choice{Capacity: 1 << 20}, 256 << 10},
		{"slow wake-ups, for latency", usual.records(12, 3), Latency, Choice{Capacity: 1 << 20}, 16 << 10},
		{"wake-ups that cost nothing", cheapWakeUps.records(12, 4), Balanced, Choice{}, 60 << 10},
		{"pipes alike", alike.records(12, 6), Balanced, smaller, 60 << 10},
		{"pipes alike, for goodput", alike.records(12, 7), Throughput, smaller, 256 << 10},
		{"pipes alike, for latency", alike.records(12, 8), Latency, smaller, 16 << 10},
		{"dear frames", dearFrames.records(12, 5), Throughput, Choice{Capacity: 1 << 20}, 256 << 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := Decide(row.records, row.objective)
			if d.Lever != row.lever || d.Unproven != "" {
				t.Errorf("lever %s, unproven %q; want %s", d.Lever, d.Unproven, row.lever)
			}
			if d.Chunk != row.chunk {
				t.Errorf("chunk %d, want %d", d.Chunk, row.chunk)
			}
		})
	}
}

// Of pipes that gain alike the smallest is advised, and the answer says what it costs.
func TestTheSmallestPipeOfAlikeIsAdvised(t *testing.T) {
	for enough, pipe := range map[int]string{256 << 10: "a pipe of 256 KiB", 0: "a pipe of 1 MiB"} {
		m := usual
		m.enough = enough
		text := strings.Join(Decide(m.records(12, 1), Balanced).Answer(nil).Sentences, "\n")
		for _, want := range []string{"only moves bytes: use " + pipe, "\nWith " + pipe} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	}
}

// An answer that another version stored is judged again, for the same objective and reader.
func TestStoredAnswersAreJudgedAnew(t *testing.T) {
	records := usual.records(12, 1)
	for _, reader := range []*ReaderCost{nil, new(ReaderCost(0.1))} {
		want := Decide(records, Latency).Answer(reader).Finding()
		want.Run = "test"
		old := want
		old.Value = "nothing"
		old.Verdict = results.CannotTell
		old.Found = "Change nothing."
		if reader != nil {
			old.Found = "Your reader spends 0.1 ns of CPU per byte: change nothing."
		}
		set := &results.Set{Records: records, Findings: []results.Finding{old}}
		JudgeAnew(set)
		if got := set.Findings[0]; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
		set = &results.Set{Records: records[:1], Findings: []results.Finding{old}}
		JudgeAnew(set)
		if got := set.Findings[0].Found; got != old.Found {
			t.Errorf("judged without its records: %q", got)
		}
	}
}

// Small writes lose on one CPU what they gain on two: they are no advice for programs that the
// scheduler places.
func TestAGambleIsNoAdvice(t *testing.T) {
	d := Decide(withoutCapacities(usual.records(12, 1)), Balanced)
	if d.Lever.WriteSize > 0 && d.Lever.WriteSize < 16<<10 {
		t.Errorf("lever %s", d.Lever)
	}
	dearWrites := usual
	dearWrites.writeNS = 6000
	d = Decide(withoutCapacities(dearWrites.records(12, 1)), Balanced)
	if d.Lever != (Choice{}) {
		t.Errorf("lever %s, though writes cost as much as they gain", d.Lever)
	}
	text := strings.Join(d.Answer(nil).Sentences, " ")
	const gamble = "Only if you know that the ends run on two CPUs, use writes of 16 KiB: 2.4 " +
		"times as fast. Elsewhere, it may lose."
	if !strings.Contains(text, gamble) {
		t.Errorf("no %q in\n%s", gamble, text)
	}
}

// Noise picks no size of chunks: the usual one stays, and the answer says that no other is
// certainly better.
func TestTheUsualChunkSizeStaysUnlessAnotherIsCertainlyBetter(t *testing.T) {
	noisy := usual
	noisy.noise = 0.7
	noisy.brief = true
	const says = "No other size is certainly better in speed and wait together."
	for seed := range uint64(8) {
		d := Decide(noisy.records(12, seed), Balanced)
		text := strings.Join(d.Answer(nil).Sentences, "\n")
		if d.Chunk != 16<<10 || !strings.Contains(text, says) {
			t.Errorf("seed %d: chunks of %d B in\n%s", seed, d.Chunk, text)
		}
	}
}

// The best size of chunks yields to one of which noise hides no wait.
func TestAChunkSizeWithClearWaitsIsAdvised(t *testing.T) {
	records := usual.records(12, 1)
	best := Decide(records, Balanced).Chunk
	for _, r := range records {
		c := r.Cell
		if c.Drain == 200_000_000 && results.ChunkSize(c.Framing) == best {
			scatter(r)
		}
	}
	d := Decide(records, Balanced)
	text := strings.Join(d.Answer(nil).Sentences, "\n")
	if d.Chunk == best || strings.Contains(text, "too noisy to tell behind") {
		t.Errorf("chunks of %d B in\n%s", d.Chunk, text)
	}
}

// Runs of one machine give the same advice, the chunk size included if the figures are as sharp as
// those of a quiet machine.
func TestRunsAgree(t *testing.T) {
	for _, row := range []struct {
		noise  float64
		chunks bool
	}{
		{0.02, true},
		{0.08, false},
	} {
		noisy := usual
		noisy.noise = row.noise
		noisy.brief = true
		first := Decide(noisy.records(12, 100), Balanced)
		differ := 0
		const runs = 20
		for seed := range uint64(runs) {
			d := Decide(noisy.records(12, seed), Balanced)
			if d.Lever != first.Lever || row.chunks && d.Chunk != first.Chunk {
				differ++
			}
		}
		if differ > runs/10 {
			t.Errorf("noise of %v: %d of %d runs give other advice than %s, chunks of %d",
				row.noise, differ, runs, first.Lever, first.Chunk)
		}
	}
}

// What other programs take of the CPU is no cost of a chunk size: CPU time counts on one CPU.
func TestTheLoadOfAMachineIsNoCost(t *testing.T) {
	loaded := usual
	loaded.load = 0.6
	want := Decide(usual.records(12, 1), Throughput)
	got := Decide(loaded.records(12, 1), Throughput)
	if got.Chunk != want.Chunk {
		t.Errorf("chunk %d on a busy machine, %d on a quiet one", got.Chunk, want.Chunk)
	}
}

func TestWhatRecordsCannotDecide(t *testing.T) {
	noisy := usual
	noisy.noise = 1.2
	disturbed := usual.records(12, 1)
	for i := range disturbed {
		disturbed[i].Disturbed = true
		for j := range disturbed[i].Samples {
			disturbed[i].Samples[j].Disturbed = "steal"
		}
	}
	chunksAlone := slices.DeleteFunc(usual.records(12, 1), func(r results.Record) bool {
		return choiceOf(r.Cell) == Choice{}
	})
	tripsAlone := slices.DeleteFunc(usual.records(12, 1), func(r results.Record) bool {
		return r.Cell.Pattern == "stream"
	})
	notReached := slices.DeleteFunc(usual.records(12, 1), func(r results.Record) bool {
		return r.Cell.Placement == "free" && r.Cell.Pattern == results.PatternRoundtrip
	})
	for name, row := range map[string]struct {
		records []results.Record
		why     string
	}{
		"round trips not reached":       {notReached, "fewer than 6 samples"},
		"no records at all":             {nil, "no run of tune"},
		"records without samples":       {usual.records(0, 1), "no run of tune"},
		"nothing to compare with":       {chunksAlone, "no run of tune"},
		"no stream":                     {tripsAlone, "ended too early"},
		"too few samples":               {usual.records(3, 1), "fewer than 6 samples"},
		"figures that noise drowns":     {noisy.records(12, 3), "noise hides"},
		"a machine that did other work": {disturbed, "other work in 100 %"},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(row.records, Balanced)
			if !strings.Contains(d.Unproven, row.why) {
				t.Errorf("unproven %q, want %q; lever %s", d.Unproven, row.why, d.Lever)
			}
			answer := d.Answer(nil)
			if !strings.HasPrefix(answer.Sentences[1], "Not proven: ") {
				t.Errorf("the answer begins with %q", answer.Sentences[1])
			}
		})
	}
}

// An interval that a gain worth it lies in does not say that nothing changes.
func TestAGainThatNoiseMayHideIsNotDenied(t *testing.T) {
	records := usual.records(12, 1)
	for _, r := range records {
		if r.Cell.Capacity == 1<<20 && r.Cell.WriteSize == 0 && r.Cell.Work == 1 {
			for i := range r.Samples {
				r.Samples[i].ElapsedNS = r.Samples[i].ElapsedNS * int64(100-25*(i%2)) / 100
			}
		}
	}
	text := strings.Join(Decide(records, Balanced).Answer(nil).Sentences, "\n")
	if !strings.Contains(text, "cannot tell the gain of a pipe of 1 MiB at 1 ns per byte") {
		t.Errorf("a gain of up to a third is denied in\n%s", text)
	}
}

// A figure that noise hides is not told as if it were known.
func TestNoiseOfAPartIsSaid(t *testing.T) {
	isPipe := func(c results.Cell) bool { return c.Capacity == 1<<20 && c.WriteSize == 0 }
	for name, row := range map[string]struct {
		hidden func(results.Cell) bool
		want   string
	}{
		"a reader that works": {
			func(c results.Cell) bool { return isPipe(c) && c.Work == 1 },
			"cannot tell the gain of a pipe of 1 MiB at 1 ns per byte",
		},
		"waits of chunks": {
			func(c results.Cell) bool {
				return c.Pattern == bench.PatternMixed && c.Drain == 20_000_000 &&
					results.ChunkSize(c.Framing) > 0
			},
			"; too noisy to tell behind a reader of 20 MB/s",
		},
		"waits of a larger pipe": {
			func(c results.Cell) bool {
				return isPipe(c) && c.Pattern == bench.PatternMixed && c.Drain == 20_000_000
			},
			"behind a reader of 200 MB/s; too noisy to tell behind a reader of 20 MB/s.\nUse chunk",
		},
	} {
		t.Run(name, func(t *testing.T) {
			records := usual.records(12, 1)
			for _, r := range records {
				if row.hidden(r.Cell) {
					scatter(r)
				}
			}
			text := strings.Join(Decide(records, Balanced).Answer(nil).Sentences, "\n")
			if !strings.Contains(text, row.want) {
				t.Errorf("no %q in\n%s", row.want, text)
			}
		})
	}
}

// The answer gives figures for a wait whose figures the picture shows as clear, though one sample
// of a few widens the interval of the ratio.
func TestAWaitThatThePictureShowsIsTold(t *testing.T) {
	records := usual.records(6, 1)
	for _, r := range records {
		for i := range r.Samples {
			s := &r.Samples[i]
			s.Fork = 1 + i/2
			due, waits := s.Latency["due"]
			if !waits {
				continue
			}
			times := slices.Repeat([]int64{*due.P50NS}, 48)
			if i == 0 && results.ChunkSize(r.Cell.Framing) > 0 {
				times = slices.Repeat([]int64{100 * *due.P50NS}, 24)
			}
			latency, err := results.NewLatency(times)
			if err != nil {
				t.Fatal(err)
			}
			s.Latency["due"] = latency
		}
	}
	text := strings.Join(Decide(records, Balanced).Answer(nil).Sentences, "\n")
	const want = "With frames of 60 KiB, a small message waits "
	if !strings.Contains(text, want) || strings.Contains(text, "too noisy to tell behind") {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// usualWrites has the size that people advise most.
var usualWrites = Choice{WriteSize: 64 << 10}

// scatter makes the samples of a record reach from a tenth to ten times of what other cells have.
func scatter(r results.Record) {
	for i := range r.Samples {
		s := &r.Samples[i]
		factor := math.Pow(10, float64(i%3-1))
		s.ElapsedNS = int64(float64(s.ElapsedNS) * factor)
		for key, l := range s.Latency {
			s.Latency[key] = latencyOf(int64(float64(*l.P50NS) * factor * 2))
		}
	}
}

func TestTheAnswerStatesItsConditions(t *testing.T) {
	text := strings.Join(Decide(usual.records(12, 1), Balanced).Answer(nil).Sentences, "\n")
	for _, want := range []string{
		"Chunks need a protocol that both ends speak: MCP and LSP have no chunks.",
		"If your reader parses (1 ns per byte or more): change nothing: a pipe of 1 MiB " +
			"certainly gains less than 15 %.",
		"If your reader only moves bytes: use a pipe of 1 MiB (F_SETPIPE_SZ on Linux, " +
			"by either end).",
		"only if small messages must not wait behind large ones. With frames of 60 KiB, a " +
			"small message waits ",
		"\nWith a pipe of 1 MiB, a small message waits 7.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A reader that parses gets one verdict.
func TestTheAdviceFitsTheReader(t *testing.T) {
	d := Decide(usual.records(12, 1), Balanced)
	general := "If your reader parses"
	for cost, want := range map[float64]string{
		0.1: "it only moves them.",
		0.5: "a larger pipe may still gain",
		20:  "it works on the bytes. Change nothing.",
	} {
		answer := d.Answer(new(ReaderCost(cost)))
		if !strings.Contains(answer.Sentences[0], want) {
			t.Errorf("%g ns per byte: %s", cost, answer.Sentences[0])
		}
		isTold := strings.Contains(strings.Join(answer.Sentences, "\n"), general)
		if isTold != (cost < parsesNS) {
			t.Errorf("%g ns per byte: %q is told: %v", cost, general, isTold)
		}
	}
}

// The engine takes the grid, also for messages that are smaller than most writes of it.
func TestTheEngineTakesTheGrid(t *testing.T) {
	topology, err := placement.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1024, 65_000, 1_000_000, 16_000_000} {
		plan := bench.Plan{
			Run:      "r",
			Cells:    Cells(topology, Options{Size: size, Framing: "content-length"}),
			Samples:  1,
			Duration: SliceTime,
		}
		if err := plan.Validate(); err != nil {
			t.Errorf("%d B: %v", size, err)
		}
	}
}

func TestChoicesHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range choices {
		if seen[c.String()] {
			t.Errorf("two choices are called %q", c)
		}
		seen[c.String()] = true
	}
	if got := fmt.Sprint(Choice{Capacity: 1 << 20, WriteSize: 64 << 10}); got != "a pipe of 1 MiB and writes of 64 KiB" {
		t.Error(got)
	}
}

// Too few samples are said once for each question, as is an interruption.
func TestTooFewSamplesAreSaidInPlainSentences(t *testing.T) {
	records := usual.records(3, 1)
	for i := range records {
		records[i].Stopped = "interrupted"
	}
	text := strings.Join(Decide(records, Balanced).Answer(nil).Sentences, "\n")
	for _, want := range []string{
		"Not proven: too many cells have fewer than 6 samples. Run it again to the end.",
		"cannot tell the gain of a pipe of 256 KiB at 1 ns per byte and 5 ns per byte. " +
			"Change nothing until you know.",
		"too noisy to tell whether a small message waits less behind a reader of 200 MB/s or " +
			"behind a reader of 20 MB/s.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// An interrupted run says nothing of a later one that was not interrupted.
func TestALaterRunWasNotInterrupted(t *testing.T) {
	records := usual.records(3, 1)
	for i := range records {
		records[i].Run = "earlier"
		records[i].Stopped = "interrupted"
	}
	for _, r := range usual.records(3, 2) {
		r.Run = "later"
		records = append(records, r)
	}
	for _, sentence := range Decide(records, Balanced).Answer(nil).Sentences {
		if strings.Contains(strings.ToLower(sentence), "interrupted") {
			t.Error(sentence)
		}
	}
}

// Of changes that look alike, noise leaves one to try. The tables have that one alone beside whole
// messages.
func TestOneChangeIsToTryIfNothingIsProven(t *testing.T) {
	records := usual.records(12, 1)
	for _, r := range records {
		if r.Cell.Pattern == results.PatternRoundtrip && r.Cell.Capacity > 0 {
			scatter(r)
		}
	}
	d := Decide(records, Balanced)
	if d.Unproven == "" {
		t.Fatal("it is proven")
	}
	answer := d.Answer(nil)
	text := strings.Join(answer.Sentences, "\n")
	want := "If your reader only moves bytes: try " + d.Lever.String()
	if !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	for _, other := range choices {
		name := other.String()
		isNamed := strings.Contains(text, name+";") || strings.Contains(text, name+".")
		if other != d.Lever && isNamed {
			t.Errorf("%s is named, too, in\n%s", other, text)
		}
	}
}

// Of changes that certainly gain nowhere, there is none to try.
func TestWhatMayGainNowhereIsNotTried(t *testing.T) {
	noisy := usual
	noisy.wakeNS = 20_000
	noisy.noise = 1
	for name, records := range map[string][]results.Record{
		"too few samples": usual.records(3, 1),
		"noise":           noisy.records(12, 2),
	} {
		answer := Decide(records, Balanced).Answer(nil)
		text := strings.Join(answer.Sentences, "\n")
		const want = "If your reader only moves bytes: change nothing until you know."
		if answer.Lever != unchanged || !strings.Contains(text, want) {
			t.Errorf("%s: lever %s, no %q in\n%s", name, answer.Lever, want, text)
		}
	}
}

// The table has the figures of a change that gains at one placement alone.
func TestTheTableHasTheGamble(t *testing.T) {
	dearWrites := usual
	dearWrites.writeNS = 6000
	answer := Decide(withoutCapacities(dearWrites.records(12, 1)), Balanced).Answer(nil)
	c, _, _ := answer.bestGamble()
	for _, row := range answer.makeTables(false)[0].Rows {
		if row[0].Text == c.short() {
			return
		}
	}
	t.Errorf("no row for %s", c)
}

// A change whose gain is certain at no placement is not advised, however large its average gain.
func TestAnAverageAloneIsNoAdvice(t *testing.T) {
	noisy := usual
	noisy.noise = 0.35
	noisy.wakeNS = 12_000
	records := noisy.records(12, 1)
	for _, r := range records {
		for i := range r.Samples {
			r.Samples[i].Disturbed = "steal"
		}
	}
	d := Decide(records, Balanced)
	if d.Lever != unchanged || d.Unproven == "" {
		t.Errorf("use %s, though it certainly gains nowhere", d.Lever)
	}
}

// Of changes that gain at one placement, the answer names the one whose figure in the table is the
// best.
func TestTheGambleHasTheBestFigure(t *testing.T) {
	times := map[int][]int64{ // by write size; the ratios within rounds prefer 4 KiB
		0:       {10e6, 20e6, 90e6},
		4 << 10: {3.2e6, 6e6, 28e6},
		8 << 10: {5e6, 5e6, 30e6},
	}
	records := withoutCapacities(usual.records(12, 1))
	for _, r := range records {
		own, found := times[r.Cell.WriteSize]
		if !found || r.Cell.Placement != "apart" {
			own = times[0]
		}
		for i := range r.Samples {
			if r.Cell.Pattern == "stream" && r.Cell.Framing == "ndjson" {
				r.Samples[i].ElapsedNS = own[i%len(own)] * r.Samples[i].Messages
			}
		}
	}
	best, at, _ := Decide(records, Balanced).bestGamble()
	if best.WriteSize != 8<<10 || at != "apart" {
		t.Errorf("%s at %q, not writes of 8 KiB", best, at)
	}
}
