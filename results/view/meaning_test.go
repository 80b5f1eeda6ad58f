package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

// runSet is a default run in which the framings take times of raw's time, and one large message
// takes the nanoseconds given for each placement, whole, through a larger pipe, and in small
// writes.
func runSet(times map[string]float64, levers map[string][3]float64) *results.Set {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	add := func(c results.Cell, ns float64) {
		s.Add(resultstest.Record(c, int64(c.Size), resultstest.Around(ns, 0.005)...))
	}
	for place, ns := range levers {
		for framing, times := range times {
			c := resultstest.Cell(framing, 65_000)
			c.Capacity = 0
			c.Placement = place
			add(c, 20_000*times)
			c.Source = "fresh"
			c.Work = 1
			c.Touch = true
			add(c, 40_000)
		}
		c := resultstest.Cell("ndjson", 1_000_000)
		c.Capacity = 0
		c.Placement = place
		add(c, ns[0])
		c.Capacity = 1 << 20
		add(c, ns[1])
		c.Capacity = 0
		c.WriteSize = 8 << 10
		add(c, ns[2])
	}
	return s
}

func TestARunAnswersItsQuestionsInOrder(t *testing.T) {
	times := map[string]float64{
		"raw": 1, "length-prefix": 1.05, "content-length": 1.051, "ndjson": 1.15, "chunked:61440": 1.25,
	}
	levers := map[string][3]float64{"same": {300e3, 300e3, 500e3}, "apart": {1500e3, 400e3, 300e3}}
	answer := Summarise(runSet(times, levers)).Meaning
	wants := []string{
		"Use the framing that the other end speaks. If the reader parses (1 ns per byte), every " +
			"framing reaches 100 % (±0 %) of raw's speed on one CPU (messages of 65,000 B).",
		"If the reader does nothing with the bytes, speed compared with raw on one CPU: " +
			"length-prefix 95 %, content-length 95 %, ndjson 87 %, 60 KiB chunks 80 % (each ±",
		"On two CPUs: length-prefix 95 %, content-length 95 %",
		"For messages of 1,000,000 B, a pipe of 1 MiB compared with the usual one: " +
			"no faster on one CPU, 3.8 times as fast on two CPUs. It helps a reader",
	}
	if len(answer) != len(wants) {
		t.Fatalf("%d sentences: %q", len(answer), answer)
	}
	for i, want := range wants {
		if !strings.Contains(answer[i], want) {
			t.Errorf("sentence %d is\n%s\nwithout\n%s", i+1, answer[i], want)
		}
	}
}

// Framings whose intervals overlap are not ranked: another run could turn their order round.
func TestFramingsThatLookAlikeAreNotRanked(t *testing.T) {
	times := map[string]float64{"raw": 1, "length-prefix": 1.05, "ndjson": 1.0501}
	levers := map[string][3]float64{"same": {300e3, 300e3, 500e3}}
	answer := Summarise(runSet(times, levers)).Meaning
	if !strings.Contains(answer[1], "every framing 95 % (±0 %), all certainly slower than raw.") {
		t.Error(answer[1])
	}
}

func TestALargerPipeThatGainsNothingIsNotPraised(t *testing.T) {
	times := map[string]float64{"raw": 1, "ndjson": 1.1}
	for name, row := range map[string]struct {
		larger float64
		want   string
	}{
		"gains":        {400e3, "3.8 times as fast on two CPUs. It helps a reader"},
		"nothing":      {1500e3, "no faster on two CPUs."},
		"loses":        {3000e3, "0.50 times as fast on two CPUs."},
		"loses little": {1600e3, "0.94 times as fast on two CPUs."},
	} {
		levers := map[string][3]float64{"apart": {1500e3, row.larger, 300e3}}
		answer := strings.Join(Summarise(runSet(times, levers)).Meaning, " ")
		if !strings.Contains(answer, row.want) {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

// The sentence about a larger pipe begins with what is known, and ends with what noise hides.
func TestWhatIsKnownOfALargerPipeComesFirst(t *testing.T) {
	times := map[string]float64{"raw": 1, "ndjson": 1.1}
	set := runSet(times, map[string][3]float64{
		"same": {300e3, 300e3, 500e3}, "apart": {1500e3, 400e3, 300e3},
	})
	for i := range set.Records {
		c := set.Records[i].Cell
		if c.Placement == "same" && c.Capacity > 0 {
			for k := range set.Records[i].Samples {
				set.Records[i].Samples[k].ElapsedNS *= []int64{1, 9}[k%2]
				set.Records[i].Samples[k].ElapsedNS /= 3
			}
		}
	}
	got := strings.Join(Summarise(set).Meaning, "\n")
	const want = "3.8 times as fast on two CPUs, too noisy to tell on one CPU. It helps"
	if !strings.Contains(got, want) {
		t.Errorf("%q is missing in:\n%s", want, got)
	}
}

// A gain or a loss of which noise hides the size is certain all the same.
func TestAGainOfALargerPipeIsToldThroughNoise(t *testing.T) {
	times := map[string]float64{"raw": 1, "ndjson": 1.1}
	for larger, want := range map[float64]string{
		300e3: "one: certainly faster (by how much, noise hides) on two CPUs. It helps",
		15e6:  "one: certainly slower (by how much, noise hides) on two CPUs.",
	} {
		set := runSet(times, map[string][3]float64{"apart": {1500e3, larger, 300e3}})
		for i := range set.Records {
			if set.Records[i].Cell.Capacity == 0 {
				continue
			}
			for k := range set.Records[i].Samples {
				set.Records[i].Samples[k].ElapsedNS *= []int64{1, 3}[k%2]
			}
		}
		got := strings.Join(Summarise(set).Meaning, "\n")
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// A share that looks like a gain is marked if noise may explain it, beside one that is certain.
func TestAShareThatIsNotCertainlyFasterIsMarked(t *testing.T) {
	flat := resultstest.Around(10_000, 0)
	wide, faster := resultstest.Around(8_300, 0.24), resultstest.Around(7_000, 0.01)
	slower := resultstest.Around(20_000, 0.01)
	for want, framings := range map[string]map[string][]float64{
		": ndjson 116 % (±24 %), not certainly faster than raw.": {"ndjson": wide},
		": every framing 116 to 143 % (±24 %), ndjson not certainly faster than raw.": {
			"ndjson": wide, "chunked:61440": faster,
		},
		": ndjson 116 %, 60 KiB chunks 50 % (each ±24 % or less), ndjson not certainly faster": {
			"ndjson": wide, "chunked:61440": slower,
		},
	} {
		set := resultstest.Beside("apart", flat, framings)
		got := strings.Join(Summarise(set).Meaning, "\n")
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// A share above 100 % looks like an error, so it is explained; one that noise may explain is not.
func TestFramingsFasterThanRawAreExplained(t *testing.T) {
	const says = "Framed bytes can be faster than raw ones: "
	for name, test := range map[string]struct {
		share float64
		told  bool
	}{"faster": {0.75, true}, "alike": {0.99, false}} {
		levers := map[string][3]float64{"apart": {1500e3, 400e3, 300e3}}
		times := map[string]float64{"raw": 1, "ndjson": test.share}
		got := strings.Join(Summarise(runSet(times, levers)).Meaning, "\n")
		if strings.Contains(got, says) != test.told {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// The sentences follow the records: what is fed the other way round is said the other way round,
// and what the intervals do not carry is not said.
func TestMeaningFollowsTheRecords(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	beside := func(place string, framed map[string][]float64) *results.Set {
		return resultstest.Beside(place, flat, framed)
	}
	for _, tt := range []struct {
		name string
		set  *results.Set
		want string
		not  string
	}{
		{
			"chunks cost most",
			beside("same", map[string][]float64{
				"ndjson":        resultstest.Around(10500, 0.01),
				"chunked:61440": resultstest.Around(15000, 0.01),
			}),
			"on one CPU (messages of 64 KiB): ndjson 95 %, 60 KiB chunks 67 % (each ±",
			"noise",
		},
		{
			"ndjson costs most",
			beside("same", map[string][]float64{
				"chunked:61440": resultstest.Around(10500, 0.01),
				"ndjson":        resultstest.Around(15000, 0.01),
			}),
			"60 KiB chunks 95 %, ndjson 67 % (each ±",
			"noise",
		},
		{
			"a framing that beats raw",
			beside("apart", map[string][]float64{"ndjson": resultstest.Around(8000, 0.01)}),
			"on two CPUs (messages of 64 KiB): ndjson 125 % (±1 %).",
			"one CPU",
		},
		{
			"what tables call too noisy is no share either",
			beside("same", map[string][]float64{"ndjson": resultstest.Around(10100, 1)}),
			"Too noisy to compare framings: noise of more than ±25 %, or fewer than 6 samples, " +
				"in 1 of",
			"Speed compared",
		},
		{
			"framings whose intervals overlap are not ranked",
			beside("same", map[string][]float64{
				"ndjson":        resultstest.Around(12000, 0.1),
				"chunked:61440": resultstest.Around(12100, 0.1),
			}),
			"every framing 81 to 82 % (±9 %), all certainly slower than raw.",
			"ndjson",
		},
		{
			"what is certain of framings that are not ranked",
			beside("same", map[string][]float64{
				"ndjson":        resultstest.Around(10500, 0.1),
				"chunked:61440": resultstest.Around(11500, 0.1),
			}),
			"(±9 %), 60 KiB chunks certainly slower than raw.",
			"ndjson",
		},
		{
			"framings like raw",
			beside("same", map[string][]float64{
				"ndjson":        resultstest.Around(10050, 0.1),
				"chunked:61440": resultstest.Around(10060, 0.1),
			}),
			"every framing 98 % (±9 %), none certainly slower or faster than raw.",
			"fastest",
		},
		{
			"five samples carry no claim",
			resultstest.Beside("same", flat[:5], map[string][]float64{
				"ndjson": resultstest.Around(20000, 0)[:5],
			}),
			"",
			"Speed compared",
		},
		{
			"placements",
			results.Merge(beside("apart", map[string][]float64{"ndjson": resultstest.Around(50000,
				0.01)}),
				beside("same", map[string][]float64{"ndjson": resultstest.Around(11000, 0.01)})),
			"on one CPU (messages of 64 KiB): ndjson 91 % (±1 %).\n" +
				"On two CPUs: ndjson 20 % (±1 %).",
			"noise",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := strings.Join(Summarise(tt.set).Meaning, "\n")
			if !strings.Contains(got, tt.want) {
				t.Errorf("%q is missing in:\n%s", tt.want, got)
			}
			if strings.Contains(got, tt.not) {
				t.Errorf("%q is claimed in:\n%s", tt.not, got)
			}
		})
	}
}

// A sentence is about one message size, and says if framings are slower at others.
func TestSlowerFramingsOfOtherSizesAreTold(t *testing.T) {
	flat := resultstest.Around(10_000, 0)
	like, slow := resultstest.Around(10_050, 0.1), resultstest.Around(12_000, 0.01)
	both := map[string][]float64{"ndjson": like, "chunked:61440": like}
	set := resultstest.Beside("same", flat, both)
	slower := resultstest.Beside("same", flat, map[string][]float64{"ndjson": slow})
	for _, r := range slower.Records {
		r.Cell.Size = 4096
		set.Add(r)
	}
	got := strings.Join(Summarise(set).Meaning, "\n")
	const want = "on one CPU (messages of 64 KiB): every framing 98 % (±9 %), none certainly " +
		"slower or faster than raw at this size, some at others."
	if !strings.Contains(got, want) {
		t.Errorf("%q is missing in:\n%s", want, got)
	}
}

// Noise at one place, or of one framing, is said beside what is known.
func TestNoiseOfAPartIsSaid(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	sharp := resultstest.Around(12000, 0.01)
	wild := resultstest.Around(12000, 1)
	bothWild := map[string][]float64{"ndjson": wild, "chunked:61440": wild}
	program := resultstest.Beside("same", flat, map[string][]float64{"ndjson": wild})
	for i := range program.Records {
		program.Records[i].Cell.Source = "fresh"
		program.Records[i].Cell.Work = 1
		program.Records[i].Cell.Touch = true
	}
	set := results.Merge(
		resultstest.Beside("same", flat, map[string][]float64{
			"ndjson": sharp, "chunked:61440": sharp,
		}),
		resultstest.Beside("sibling", flat, map[string][]float64{
			"ndjson": sharp, "length-prefix": sharp, "chunked:61440": wild,
		}),
		resultstest.Beside("apart", flat, bothWild),
		resultstest.Beside("free", flat, bothWild),
		program,
	)
	for i := range set.Records { // through the usual pipe, not one of a capacity that was asked for
		set.Records[i].Cell.Capacity = 0
	}
	got := strings.Join(Summarise(set).Meaning, "\n")
	for _, want := range []string{
		"on one CPU: every framing 83 %",
		"On two threads of a core: 60 KiB chunks too noisy to tell; the others 83 % (±1 %), all " +
			"certainly slower than raw.",
		"\nOn two CPUs: too noisy to tell.\nWith the ends unpinned: too noisy to tell.\n",
		"compared with raw on one CPU (messages of 64 KiB): too noisy to tell.\n",
		"\nUntil you know, use the framing that the other end speaks.\nA quieter machine, or " +
			"more samples, may tell more.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// Noise may hide by how much a framing is slower than raw bytes, but not that it is slower.
func TestWhatIsCertainlySlowerIsToldThroughNoise(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	sharp := resultstest.Around(20000, 0.02)
	blurred := resultstest.Around(20000, 0.35)
	wild := resultstest.Around(12000, 1)
	for _, tt := range []struct {
		framed map[string][]float64
		want   string
	}{
		{
			map[string][]float64{"ndjson": sharp, "length-prefix": sharp, "chunked:4096": blurred},
			"4 KiB chunks certainly slower than raw; by how much, noise hides; the others " +
				"50 % (±2 %), all certainly slower than raw.",
		},
		{
			map[string][]float64{
				"length-prefix": resultstest.Around(15000, 0.02), "ndjson": sharp,
				"chunked:4096": blurred, "chunked:61440": wild,
			},
			"ndjson 50 % (each ±2 % or less); 60 KiB chunks too noisy to tell; " +
				"4 KiB chunks certainly slower than raw; by how much, noise hides.",
		},
		{
			map[string][]float64{
				"length-prefix": wild, "ndjson": sharp, "chunked:4096": blurred,
				"chunked:61440": wild,
			},
			"ndjson 50 % (±2 %); length-prefix and 60 KiB chunks too noisy to tell; 4 KiB " +
				"chunks certainly slower than raw; by how much, noise hides.",
		},
		{
			map[string][]float64{
				"ndjson": resultstest.Around(4000, 0.4), "length-prefix": wild,
				"chunked:32768": blurred, "chunked:61440": blurred, "chunked:16384": blurred,
			},
			"length-prefix too noisy to tell; 16 KiB chunks, 32 KiB chunks and 60 KiB chunks " +
				"certainly slower than raw; by how much, noise hides; ndjson certainly faster " +
				"than raw; by how much, noise hides.",
		},
	} {
		set := results.Merge(resultstest.Beside("same", flat, tt.framed),
			resultstest.Beside("apart", flat, map[string][]float64{"ndjson": sharp}))
		got := strings.Join(Summarise(set).Meaning, "\n")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%q is missing in:\n%s", tt.want, got)
		}
	}
}

// A run that is too noisy to compare framings gives no share of raw's speed, also where one is
// known. It names the framings that are certainly slow.
func TestANoisyRunGivesNoShares(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	wild := resultstest.Around(12000, 1)
	framed := map[string][]float64{
		"ndjson": resultstest.Around(12000, 0.1), "chunked:4096": resultstest.Around(40000, 0.1),
		"length-prefix": wild, "chunked:61440": wild, "content-length": wild,
	}
	set := resultstest.Beside("same", flat, framed)
	got := strings.Join(Summarise(set).Meaning, "\n")
	const slow = "ertainly below half of raw's speed, with messages of 64 KiB on one CPU: " +
		"4 KiB chunks"
	if !strings.HasPrefix(got, "Too noisy to compare framings: ") ||
		strings.Contains(got, "speed compared with raw") ||
		!strings.HasSuffix(got, "\nC"+slow+".") {
		t.Error(got)
	}
	title := SpeedTitle(stat.Rows(set))
	if title != "Too noisy to compare framings; c"+slow {
		t.Errorf("title %q", title)
	}
}

// On a machine that cannot tell framings apart this comes first, then what is known all the same,
// and rough figures are marked.
func TestANoisyMachineIsToldFirst(t *testing.T) {
	wild := resultstest.Around(20_000, 1)
	set := resultstest.Beside("same", wild, map[string][]float64{"ndjson": wild})
	set.Records[1].Samples[1].ElapsedNS *= 3 // the two do not scatter alike
	set.Records[1].Samples[4].ElapsedNS /= 3
	for framing, wait := range map[string]float64{"ndjson": 48e6, "chunked:61440": 5e6} {
		c := resultstest.Cell(framing, 1_000_000)
		c.Pattern = results.PatternMixed
		c.Drain = 20_000_000
		r := resultstest.Record(c, 1_000_000, resultstest.Around(wait, 0.3)...)
		set.Add(resultstest.WithLatency(r, "due", 100))
	}
	sum := Summarise(set)
	for i, want := range []string{
		"Too noisy to compare framings: ",
		"With 60 KiB chunks, a small message behind one of 1,000,000 B waits ",
	} {
		if i >= len(sum.Meaning) || !strings.HasPrefix(sum.Meaning[i], want) {
			t.Errorf("sentence %d does not begin with %q: %q", i+1, want, sum.Meaning)
		}
	}
	var screen strings.Builder
	if err := Write(&screen, set, FormatTable, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"~2.87 GB/s", "~: a rough figure"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, screen.String())
		}
	}
	set.Records[1].Stopped = "interrupted"
	told := strings.Join(Summarise(set).Meaning, " ")
	if !strings.HasPrefix(told, "Interrupted: 4 cells measured, 1 with fewer samples than asked "+
		"for. "+runAgain+" Too noisy to compare framings: ") {
		t.Error(told)
	}
}

// A noisy run of one size is not told to measure one size alone.
func TestANoisyRunOfOneSizeIsNotAdvisedToBeOne(t *testing.T) {
	const want = "Close other programs, or measure longer (--max-time)."
	const alone = "measure one size alone (--size)."
	flat := resultstest.Around(10000, 0)
	wild := map[string][]float64{"ndjson": resultstest.Around(12000, 1)}
	set := resultstest.Beside("same", flat, wild)
	if told := strings.Join(Summarise(set).Meaning, " "); !strings.Contains(told, want) {
		t.Errorf("one size: %s", told)
	}
	for _, r := range resultstest.Beside("same", flat, wild).Records {
		r.Cell.Size = 4000
		set.Add(r)
	}
	if told := strings.Join(Summarise(set).Meaning, " "); !strings.Contains(told, alone) {
		t.Errorf("two sizes: %s", told)
	}
}

// A writer that sleeps is compared with one that polls: of six samples by a figure, of five by a
// rough one, and not at all if that may be chance.
func TestASleepingWriterIsCompared(t *testing.T) {
	for _, test := range []struct {
		samples int
		sleep   float64
		want    string
	}{
		{6, 10e6, "Messages of 130,000 B to a fast reader take 200 times as long if the writer " +
			"sleeps 10ms when the pipe is full (EAGAIN) instead of waiting by poll(2)."},
		{5, 10e6, "take ~200 times as long"},
		{5, 120e3, ""},
	} {
		set := &results.Set{}
		times := map[string]float64{"poll/blocking": 50e3, "sleep=10ms/blocking": test.sleep}
		for io, ns := range times {
			c := resultstest.Cell("ndjson", 130_000)
			c.IO = io
			samples := resultstest.Around(ns, 0.01)[:test.samples]
			set.Add(resultstest.Record(c, 130_000, samples...))
		}
		got := refusalSentence(stat.Rows(set))
		if !strings.Contains(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%d samples: %s\nwithout %s", test.samples, got, test.want)
		}
	}
}

// mixedRow is a small message that waits behind large ones, for the given times.
func mixedRow(framing string, size int, waits []float64) results.Record {
	c := resultstest.Cell(framing, size)
	c.Pattern = results.PatternMixed
	c.Drain = 20_000_000
	r := resultstest.Record(c, int64(size), waits...)
	return resultstest.WithLatency(r, "due", 100)
}

// Chunks that change nothing, a cell that failed and a cell of another series do not hide what
// other chunks gain; where nothing is known to differ, that is said.
func TestTheWaitIsToldIfOneFramingDiffers(t *testing.T) {
	whole := mixedRow("ndjson", 1_000_000, resultstest.Around(48e6, 0.01))
	short := mixedRow("chunked:61440", 1_000_000, resultstest.Around(5e6, 0.01))
	equal := mixedRow("chunked:1048576", 1_000_000, resultstest.Around(48e6, 0.01))
	small := mixedRow("chunked:4096", 1_000_000, resultstest.Around(2e6, 0.01))
	failed := mixedRow("chunked:4096", 1_000_000, nil)
	failed.Unsupported = "no"
	other := equal
	other.Cell.Drain = 50_000_000
	inTwoStarts := func(r results.Record) results.Record {
		for i := range r.Samples {
			r.Samples[i].Fork = 1 + i/3
		}
		return r
	}
	wild := inTwoStarts(mixedRow("ndjson", 1_000_000,
		[]float64{18e6, 18e6, 18e6, 28e6, 28e6, 28e6}))
	wildShort := inTwoStarts(mixedRow("chunked:61440", 1_000_000,
		[]float64{2e6, 2e6, 2e6, 6e6, 6e6, 6e6}))
	fewer := func(r results.Record) results.Record {
		r.Samples = r.Samples[1:]
		return r
	}
	const told, hidden = " instead of 55.8 ms", "too noisy to tell whether a small message "
	for _, c := range []struct {
		name    string
		records []results.Record
		want    string
	}{
		{"chunks as large as the messages", []results.Record{whole, short, equal}, told},
		{"a cell that failed", []results.Record{whole, short, failed}, told},
		{"another reader", []results.Record{whole, short, other}, told},
		{"no sample is as long", []results.Record{wild, wildShort}, "waits ~"},
		{"five samples", []results.Record{wild, fewer(wildShort)}, hidden},
		{"nothing differs", []results.Record{whole, equal}, hidden},
		{"many sizes of chunks", []results.Record{whole, small, short, equal},
			"With 4 KiB chunks, a small message behind one of 1,000,000 B waits 2.32 ms instead"},
	} {
		set := &results.Set{}
		set.Add(resultstest.Environment())
		for _, r := range c.records {
			set.Add(r)
		}
		if got := mixedSentence(stat.Rows(set)); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q has no %q", c.name, got, c.want)
		}
	}
}

// A framing that may be as fast as the fastest or as the slowest is not put between them.
func TestABlurredFramingIsNotRanked(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	beside := func(chunked []float64) *results.Set {
		ndjson := resultstest.Around(11000, 0.35)
		return resultstest.Beside("same", flat,
			map[string][]float64{"ndjson": ndjson, "chunked:61440": chunked})
	}
	set := beside(resultstest.Around(12100, 0.01))
	for _, r := range beside(resultstest.Around(10400, 0.01)).Records {
		if r.Cell.Framing == "chunked:61440" {
			r.Cell.Framing = "length-prefix"
			set.Add(r)
		}
	}
	got := strings.Join(Summarise(set).Meaning, "\n")
	const want = "length-prefix 96 %, 60 KiB chunks 83 % (each ±1 % or less); ndjson too noisy "
	if !strings.Contains(got, want) {
		t.Errorf("no %q in %s", want, got)
	}
}

// Noise hides no framings that are known to differ. A single one that is blurred is too noisy to
// tell, as bare transport and in a program.
func TestBlurredFramingsAreToldApartIfTheyDiffer(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	blurred := resultstest.Around(10000, 0.35)
	far := resultstest.Around(40000, 0.35)
	apart := map[string][]float64{"ndjson": blurred, "chunked:61440": far}
	sure := map[string][]float64{"ndjson": flat, "chunked:61440": flat}
	set := results.Merge(resultstest.Beside("same", flat, apart),
		resultstest.Beside("apart", flat, sure))
	got := strings.Join(Summarise(set).Meaning, "\n")
	const certain = "ndjson too noisy to tell; 60 KiB chunks certainly slower than raw; by how much"
	if !strings.Contains(got, certain) {
		t.Errorf("framings that differ, no %q: %s", certain, got)
	}
	alone := resultstest.Beside("same", flat, map[string][]float64{"ndjson": blurred})
	got = strings.Join(Summarise(alone).Meaning, "\n")
	if !strings.HasPrefix(got, "Too noisy to compare framings: ") || strings.Contains(got, "95 %") {
		t.Errorf("one framing that is blurred: %s", got)
	}
	wild := resultstest.Around(12000, 1)
	both := map[string][]float64{"ndjson": blurred, "chunked:61440": wild}
	got = strings.Join(transportSentences(stat.Rows(resultstest.Beside("same", flat, both)),
		false, new(int)), " ")
	if !strings.HasSuffix(got, " on one CPU (messages of 64 KiB): too noisy to tell.") {
		t.Errorf("one that is blurred beside a noisier one: %s", got)
	}
	for i := range alone.Records {
		alone.Records[i].Cell.Source = "fresh"
		alone.Records[i].Cell.Work = 1
		alone.Records[i].Cell.Touch = true
	}
	program, _ := programSentence(stat.Rows(alone), new(int))
	const says = "(messages of 64 KiB): too noisy to tell."
	if !strings.HasSuffix(program, says) {
		t.Errorf("a blurred framing in a program: %s", program)
	}
}

// Other programs that disturb most samples may meet one framing more than another. A wide interval
// near raw then proves nothing, one far from it or a narrow one does.
func TestAWideIntervalOfDisturbedSamplesProvesLess(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	const slower = "ndjson certainly slower than raw; by how much, noise hides."
	for _, row := range []struct {
		ns              float64
		disturbed, want string
	}{
		{16_000, "", slower},
		{16_000, "others had its CPU", "ndjson too noisy to tell."},
		{40_000, "others had its CPU", slower},
	} {
		set := resultstest.Beside("same", flat, map[string][]float64{
			"ndjson":        resultstest.Around(row.ns, 0.35),
			"chunked:61440": resultstest.Around(20_000, 0.01),
		})
		for _, r := range set.Records {
			for i := range r.Samples {
				r.Samples[i].Disturbed = row.disturbed
			}
		}
		got := strings.Join(Summarise(set).Meaning, "\n")
		for _, part := range []string{"60 KiB chunks 50 %", row.want} {
			if !strings.Contains(got, part) {
				t.Errorf("%+v: no %q in\n%s", row, part, got)
			}
		}
	}
}

// Of two sizes that are nearly the same, the one with little noise is told.
func TestTheClearOneOfTwoNearSizesIsTold(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	beside := func(ns []float64) *results.Set {
		return resultstest.Beside("same", flat, map[string][]float64{"ndjson": ns})
	}
	set := beside(resultstest.Around(12000, 0.35))
	for _, r := range beside(resultstest.Around(12500, 0.01)).Records {
		r.Cell.Size = 65_000
		set.Add(r)
	}
	got := strings.Join(Summarise(set).Meaning, " ")
	if !strings.Contains(got, "on one CPU (messages of 65,000 B): ndjson 80 %") {
		t.Error(got)
	}
}

// A run of one size, and one with a larger pipe, change nothing in what a usual run beside them
// says: its sizes are told, and its large message.
func TestARunOfOneSizeHidesNoUsualRun(t *testing.T) {
	flat, slow := resultstest.Around(10000, 0.01), resultstest.Around(12500, 0.01)
	add := func(set *results.Set, run string, size, capacity int, ndjson []float64) {
		framings := map[string][]float64{"ndjson": ndjson}
		for _, r := range resultstest.Beside("same", flat, framings).Records {
			r.Run = run
			r.Cell.Size = size
			r.Cell.Capacity = capacity
			set.Add(r)
		}
	}
	usual := &results.Set{}
	usual.Add(resultstest.Environment())
	for _, size := range []int{4000, 65_000, 1_000_000} {
		add(usual, "run-1", size, 0, slow)
	}
	add(usual, "run-1", 1_000_000, 1<<20, flat)
	pieces := usual.Records[len(usual.Records)-1]
	pieces.Cell.Capacity = 0
	pieces.Cell.WriteSize = 65_536
	usual.Add(pieces)
	work := slices.Clone(usual.Records[2:4])
	for _, r := range work {
		r.Cell.Source, r.Cell.Work, r.Cell.Touch = "fresh", 1, true
		usual.Add(r)
	}
	want := Summarise(usual).Meaning
	if got := strings.Join(want, " "); !strings.Contains(got, "65,000 B") ||
		!strings.Contains(got, "For messages of 1,000,000 B, a pipe of 1 MiB") {
		t.Fatal(got)
	}
	one := &results.Set{}
	e := resultstest.Environment()
	e.Run = "run-2"
	one.Add(e)
	add(one, "run-2", 130_000, 0, resultstest.Around(14000, 0.01))
	add(one, "run-2", 100_000, 1<<19, flat)
	got := Summarise(results.Merge(usual, one)).Meaning
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with a run of one size (-want +got):\n%s", diff)
	}
}

// What a framing costs in a program is told on a noisy machine, too, if its own figures are sharp.
func TestASharpProgramIsToldOnANoisyMachine(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	wild := resultstest.Around(12000, 1)
	both := map[string][]float64{"ndjson": wild, "chunked:61440": wild}
	sharp := map[string][]float64{"ndjson": resultstest.Around(10100, 0.01)}
	program := resultstest.Beside("same", flat, sharp)
	for i := range program.Records {
		program.Records[i].Cell.Source = "fresh"
		program.Records[i].Cell.Work = 1
		program.Records[i].Cell.Touch = true
	}
	set := results.Merge(resultstest.Beside("same", flat, both), program)
	got := Summarise(set).Meaning
	const want = "If the reader parses (1 ns per byte), every framing reaches 99 %"
	if len(got) < 2 || !strings.HasPrefix(got[1], want) {
		t.Errorf("%q does not begin with %q", got, want)
	}
}

// A small ratio has two significant digits in tables and sentences.
func TestASmallRatioKeepsItsDigits(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	slow := map[string][]float64{"ndjson": resultstest.Around(3e6, 0)}
	rows := stat.Rows(resultstest.Beside("same", flat, slow))
	if got := RatioText(rows[1].ToRaw); got != "0.0033 ± 0%" {
		t.Errorf("ratio %q", got)
	}
	got, want := strings.Join(meaning(rows), " "), "ndjson 0.33 % (±0 %)"
	if !strings.Contains(got, want) {
		t.Errorf("no %q in %s", want, got)
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		low, median, high float64
		want              Effect
	}{
		{1.2, 1.5, 1.6, Gain},
		{1.05, 1.5, 1.6, Unclear},
		{0.92, 1, 1.05, NoGain},
		{0.8, 1, 1.2, Unclear},
		{0.4, 0.5, 0.6, Loss},
		{0.1, 0.4, 0.5, Loss}, // rough, and a loss all the same
		{0.3, 0.8, 0.9, Loss}, // the noise beside it is that of its farther end
		{3, 7, 12, Gain},      // rough, and a gain all the same
		{1.2, 1.5, 2.1, Gain}, // the noise beside it is that of its farther end
		{0.9, 7, 12, Unclear},
	} {
		ratio := stat.Estimate{
			N: 9, Median: tt.median, Interval: &stat.Interval{Lo: tt.low, Hi: tt.high},
		}
		if got := Judge(ratio, GainThatCounts); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if got := Judge(stat.Estimate{N: 5, Median: 3}, GainThatCounts); got != Unclear {
		t.Errorf("without an interval: %v", got)
	}
}

// If one end of an interval lies farther from the median than the other, the noise beside the ratio
// is the larger of the two. No framing is certainly slower by less than that.
func TestALopsidedIntervalProvesNoCost(t *testing.T) {
	for hi, want := range map[float64]bool{0.99: false, 0.8: true} {
		r := stat.Row{ToRaw: &stat.Estimate{
			Median: hi - 0.04, Interval: &stat.Interval{Lo: hi - 0.2, Hi: hi},
		}}
		if got := isSlower(r); got != want {
			t.Errorf("up to %v: %v", hi, got)
		}
	}
}

// capacitySet has messages through a pipe of 1 MiB and through the usual one, at the given times.
func capacitySet(pattern string, larger, usual []float64) *results.Set {
	set := &results.Set{}
	set.Add(resultstest.Environment())
	for capacity, ns := range map[int][]float64{1 << 20: larger, 0: usual} {
		c := resultstest.Cell("ndjson", 1_000_000)
		c.Pattern = pattern
		c.Capacity = capacity
		r := resultstest.Record(c, 1_000_001, ns...)
		set.Add(resultstest.WithLatency(r, pattern, 100))
	}
	return set
}

// A run that asks one question answers it, though it ranks no framings.
func TestARunOfOneQuestionIsAnswered(t *testing.T) {
	fast, slow := resultstest.Around(578e3, 0.01), resultstest.Around(973e3, 0.01)
	wild := resultstest.Around(973e3, 0.8)
	const hidden = ", a pipe of 1 MiB compared with the usual one: too noisy to tell"
	const faster = ", a pipe of 1 MiB compared with the usual one: 1.7 times as fast on one CPU."
	for _, tt := range []struct {
		name string
		set  *results.Set
		want []string
	}{
		{"round trips", capacitySet("roundtrip", fast, slow), []string{
			"Median round trip of 1,000,000 B on one CPU with a pipe of 1 MiB: ndjson ",
			"on one CPU with the usual pipe: ndjson ", "For round trips of 1,000,000 B" + faster,
		}},
		{"noisy round trips", capacitySet("roundtrip", wild, slow),
			[]string{"ndjson ~", "For round trips of 1,000,000 B" + hidden}},
		{"a stream", capacitySet("stream", fast, slow), []string{
			"Goodput of 1,000,000 B on one CPU with a pipe of 1 MiB: ndjson 1.73 GB/s ±",
			"For messages of 1,000,000 B" + faster,
		}},
	} {
		got := strings.Join(Summarise(tt.set).Meaning, "\n")
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in:\n%s", tt.name, want, got)
			}
		}
	}
}

// Cells at one place that differ in something else are named apart, and many of them do not drown
// the reader.
func TestSeriesThatDifferAreNamedApart(t *testing.T) {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	for i, io := range []string{"a", "b", "c", "d", "e", "f"} {
		framed := map[string][]float64{"ndjson": resultstest.Around(12000+1000*float64(i), 0)}
		for _, r := range resultstest.Beside("same", resultstest.Around(10000, 0), framed).Records {
			r.Cell.Payload = io
			s.Add(r)
		}
	}
	got := strings.Join(Summarise(s).Meaning, "\n")
	for _, want := range []string{
		"on one CPU with payload a (messages of 64 KiB): ndjson 83 %",
		"On one CPU with payload b: ndjson 77 %",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "payload e") {
		t.Errorf("more than four series are told:\n%s", got)
	}
}

func TestSummaryPoolsRunsButPairsWithinThem(t *testing.T) {
	framed := map[string][]float64{"ndjson": resultstest.Around(12000, 0)}
	one := resultstest.Beside("same", resultstest.Around(10000, 0), framed)
	framed["ndjson"] = resultstest.Around(36000, 0)
	two := resultstest.Beside("same", resultstest.Around(30000, 0), framed)
	two.Environments[0].Run = "run-2"
	for i := range two.Records {
		two.Records[i].Run = "run-2"
	}
	sum := Summarise(results.Merge(one, two))
	if len(sum.Rows) != 2 {
		t.Fatalf("got %d rows, want raw and ndjson", len(sum.Rows))
	}
	row := sum.Rows[1]
	if row.Samples != 12 || len(row.Runs) != 2 || row.ToRaw.N != 12 {
		t.Errorf("got %d samples of %d runs, %d pairs; want 12 of 2, 12", row.Samples,
			len(row.Runs), row.ToRaw.N)
	}
	if !row.ToRaw.Above(0.8332) || !row.ToRaw.Below(0.8335) {
		t.Errorf("vs raw is %+v, want 1/1.2 in both runs though they differ threefold",
			row.ToRaw.Interval)
	}
	if !strings.Contains(strings.Join(sum.Notes, "\n"), "up to 2 runs are pooled") {
		t.Errorf("pooling is not said: %q", sum.Notes)
	}
}

// The runs of tune say in a finding what their measurements mean. Beside others, they are named.
func TestTheSentencesOfRunLeaveOutTune(t *testing.T) {
	times := map[string]float64{"raw": 1, "ndjson": 1.15}
	levers := map[string][3]float64{"same": {300e3, 150e3, 500e3}}
	want := Summarise(runSet(times, levers)).Meaning
	s := runSet(times, levers)
	for i, advice := range []string{"use a pipe of 64 KiB.\nIt gains 1 %.", "change nothing."} {
		e := resultstest.Environment()
		e.Run = fmt.Sprint("tune-", i)
		e.Time = e.Time.Add(time.Hour)
		e.Command = "pipebench tune"
		s.Add(e)
		large := resultstest.Cell("ndjson", 1_000_000)
		r := resultstest.Record(large, 1_000_000, resultstest.Around(90e3, 0.005)...)
		r.Run = e.Run
		s.Add(r)
		s.Add(results.Finding{
			Run: e.Run, ID: "tune/sending", Verdict: results.Noted, Found: advice,
		})
	}
	sum := Summarise(s)
	if diff := cmp.Diff(want, sum.Meaning); diff != "" {
		t.Errorf("beside tune, run says (-alone +beside):\n%s", diff)
	}
	const named = "pipebench tune of 2026-11-21 09:00 UTC: "
	wants := []string{named + "use a pipe of 64 KiB.", "It gains 1 %.", named + "change nothing."}
	if diff := cmp.Diff(wants, answer(s, sum, "")[:3]); diff != "" {
		t.Errorf("of two runs of tune (-want +got):\n%s", diff)
	}
}

// A framing that is slow at other sizes than those of the sentences is named.
func TestAFramingThatIsSlowAtOtherSizesIsNamed(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	wild := resultstest.Around(12000, 1)
	slow := resultstest.Around(30000, 0.02)
	ofSize := func(size int, placement string, ndjson, own []float64) *results.Set {
		framings := map[string][]float64{"ndjson": ndjson, "length-prefix": own}
		set := resultstest.Beside(placement, flat, framings)
		for i := range set.Records {
			set.Records[i].Cell.Size = size
		}
		return set
	}
	set := results.Merge(
		ofSize(256, "same", flat, slow), ofSize(4000, "same", flat, slow),
		ofSize(65_000, "same", flat, flat),
		ofSize(256, "apart", flat, slow), ofSize(65_000, "apart", wild, wild),
	)
	got := strings.Join(Summarise(set).Meaning, "\n")
	for _, want := range []string{
		"On two CPUs: too noisy to tell.",
		"Certainly below half of raw's speed, at some sizes or placements: length-prefix.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}

// The title of ratios is short. It counts the framings without a figure.
func TestTheTitleOfSharesIsShort(t *testing.T) {
	flat := resultstest.Around(10000, 0)
	sharp := resultstest.Around(12000, 0.1)
	for want, framed := range map[string]map[string][]float64{
		"ndjson reaches 82 % of raw's speed on one CPU at 64 KiB (±9 % or less)": {
			"ndjson": sharp,
		},
		"Framings reach 50 to 82 % of raw's speed on one CPU at 64 KiB (±9 % or less); " +
			"1 framing too noisy for a figure": {
			"ndjson":        sharp,
			"length-prefix": resultstest.Around(20000, 0.02),
			"chunked:4096":  resultstest.Around(12000, 1),
		},
	} {
		title := SpeedTitle(stat.Rows(resultstest.Beside("same", flat, framed)))
		if title != want {
			t.Errorf("%q, want %q", title, want)
		}
	}
}
