package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// measuringMember returns a machine on which framings keep a share of raw's goodput.
func measuringMember(name string, share float64) stat.Member {
	m := stat.Member{Name: name, Runs: []results.Environment{{Hostname: name, OS: "linux"}}}
	for _, framing := range []string{"ndjson", "length-prefix"} {
		m.Cells++
		m.Figures = append(m.Figures, stat.Figure{
			Cell: results.Cell{
				Framing: framing, Size: 65_536, Placement: "same", Pattern: patternStream,
			},
			ToRaw: stat.Estimate{
				N: 10, Median: share,
				Interval: &stat.Interval{Lo: 0.99 * share, Hi: 1.01 * share},
			},
		})
	}
	return m
}

// A speedOn has the speeds of framings on a machine, in GB/s.
type speedOn struct {
	name   string
	speeds map[string]float64
}

// membersOf sums up records of machines with such speeds.
func membersOf(machines ...speedOn) []stat.Member {
	f := stat.NewFleet()
	for _, m := range machines {
		f.Add(results.Environment{Run: m.name, Machine: m.name, Hostname: m.name, OS: "linux"})
		for framing, speed := range m.speeds {
			r := results.Record{Run: m.name, Cell: results.Cell{
				Framing: framing, Size: 65_536, Placement: "same", Pattern: patternStream,
			}}
			for i := range 10 {
				r.Samples = append(r.Samples, results.Sample{
					Fork: 1, Round: i + 1, ElapsedNS: 1e9, Messages: 1,
					PayloadBytes: int64(speed * 1e9),
				})
			}
			f.Add(r)
		}
	}
	return f.Members()
}

// If a difference goes with a property of the machines, a sentence says what goes with which value.
func TestADifferenceBetweenKindsOfMachinesNamesTheKinds(t *testing.T) {
	const shares = " 60 % of raw's speed on linux 6.1 and 84 % on linux 6.18"
	const chance = ": too few machines to rule out that these groups differ by chance"
	for _, tt := range []struct {
		each int // the number of machines of a kind
		more string
	}{{8, ""}, {4, chance}} {
		var members []stat.Member
		for i := range 2 * tt.each {
			m := measuringMember(fmt.Sprint("m", i), 0.6)
			m.Runs[0].Kernel = "6.1.7"
			if i >= tt.each {
				m = measuringMember(m.Name, 0.84)
				m.Runs[0].Kernel = "6.18.2"
			}
			members = append(members, m)
		}
		want := "length-prefix keeps" + shares + " (messages of 64 KiB, on one CPU)" + tt.more
		answer := FleetSections(members, nil)[0]
		if !slices.Contains(answer.Lead, want+".") || answer.Title != want {
			t.Errorf("title %q, lead %q", answer.Title, answer.Lead)
		}
		// A certain difference is told in the title, before one that may be chance.
		members[0].Answers = answeringMember("", 4096).Answers
		members[1].Answers = answeringMember("", 65_536).Answers
		title := FleetSections(members, nil)[0].Title
		isPipes := strings.HasPrefix(title, "A new pipe holds 4 KiB on")
		if isPipes != (tt.more != "") {
			t.Errorf("title %q", FleetSections(members, nil)[0].Title)
		}
	}
}

// Properties that go together are named together, as figures cannot tell which of them it is.
func TestPropertiesThatGoTogetherAreNamedTogether(t *testing.T) {
	var members []stat.Member
	for i := range 16 {
		m := measuringMember(fmt.Sprint("m", i), []float64{0.6, 0.84}[i%2])
		m.Runs[0].Kernel = []string{"6.1.7", "6.18.2"}[i%2]
		m.Runs[0].CPU = []string{"Xeon", "EPYC"}[i%2]
		members = append(members, m)
	}
	const want = "60 % of raw's speed on linux 6.1 with Xeon and 84 % on linux 6.18 with EPYC"
	answer := FleetSections(members, nil)[0]
	if !strings.Contains(answer.Title, want) || strings.Contains(answer.Lead[1], "EPYC") {
		t.Errorf("title %q, lead %q", answer.Title, answer.Lead)
	}
}

// Of a few machines, a sentence names the property that goes with a difference, if it is only one.
func TestAFewMachinesOfTwoKernelsNameTheKernel(t *testing.T) {
	var members []stat.Member
	for i, kernel := range []string{"6.18.2", "6.1.7", "6.18.3", "6.1.9"} {
		share := 0.6
		if strings.HasPrefix(kernel, "6.18") {
			share = 0.84 - 0.001*float64(i)
		}
		m := measuringMember(fmt.Sprint("m", i), share)
		m.Runs[0].Kernel = kernel
		members = append(members, m)
	}
	const want = "60 % of raw's speed on linux 6.1 (m1 and m3) and 84 % on linux 6.18 (m2 and m0)"
	if got := FleetSections(members, nil)[0].Title; !strings.Contains(got, want) {
		t.Errorf("title %q, want %q in it", got, want)
	}
	for i, cpu := range []string{"x", "y", "x", "y"} { // it may be the processor as well
		members[i].Runs[0].CPU = cpu
	}
	got := FleetSections(members, nil)[0].Title
	if !strings.Contains(got, "6.1 with y (m1 and m3)") {
		t.Errorf("title %q", got)
	}
}

func TestMachinesThatDidNotMeasureAreNotCompared(t *testing.T) {
	members := []stat.Member{measuringMember("fast", 0.9)}
	for i := range 13 {
		members = append(members, stat.Member{
			Name:    fmt.Sprint("asked", i),
			Runs:    []results.Environment{{OS: "linux"}},
			Answers: []results.Finding{{ID: "claim/0", Verdict: results.Holds}},
		})
	}
	sections := FleetSections(members, nil)
	lead := strings.Join(sections[0].Lead, "\n")
	if !strings.Contains(lead, "13 of 14 machines did not measure this.") {
		t.Errorf("how many measured is not said:\n%s", lead)
	}
	for _, text := range []string{"most machines", "beyond chance", "stands out"} {
		if strings.Contains(lead, text) {
			t.Errorf("one machine is compared with none: %q in\n%s", text, lead)
		}
	}
	table := sections[1].Tables[0]
	if len(table.Rows) != 1 || table.Rows[0][0].Text != "fast" {
		t.Errorf("the table has %v", table.Rows)
	}
}

// A few machines are named, and only what the intervals show is said of them.
func TestTheDifferenceBetweenAFewMachinesIsToldByTheirNames(t *testing.T) {
	const where = " (messages of 64 KiB, on one CPU)"
	const alike = "No framing's share of raw's speed differs by a tenth beyond the noise in "
	const clear = " clear enough to compare, nor raw's speed by a factor of 1.5"
	tests := []struct {
		shares []float64       // of ndjson; the other framing always keeps 90 %
		noise  map[int]float64 // half the interval, by machine; 1 % by default
		title  string
	}{
		{
			[]float64{0.57, 0.83}, nil,
			"ndjson keeps 57 % of raw's speed on m0 and 83 % on m1" + where,
		},
		{
			[]float64{0.88, 0.89, 1.11, 0.88}, nil,
			"ndjson keeps 111 % of raw's speed on m2 and 88 to 89 % on m0, m3 and m1" + where,
		},
		{
			[]float64{0.57, 0.83}, map[int]float64{0: 0.24, 1: 0.24},
			alike + "2 measurements" + clear,
		},
		{
			[]float64{0.57, 0.83}, map[int]float64{0: 0.4},
			alike + "1 measurement" + clear,
		},
		{ // the same, of which two others do not differ
			[]float64{0.88, 0.89, 0.48}, map[int]float64{2: 0.9},
			alike + "2 measurements" + clear,
		},
	}
	for _, tt := range tests {
		var members []stat.Member
		for i, share := range tt.shares {
			m := measuringMember(fmt.Sprint("m", i), 0.9)
			noise := cmp.Or(tt.noise[i], 0.01)
			m.Figures[0].ToRaw.Median = share
			m.Figures[0].ToRaw.Interval = &stat.Interval{
				Lo: (1 - noise) * share, Hi: (1 + noise) * share,
			}
			members = append(members, m)
		}
		answer := FleetSections(members, nil)[0]
		want := tt.title + "."
		if got := strings.Join(answer.Lead, " "); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if answer.Title != tt.title {
			t.Errorf("title %q, want %q", answer.Title, tt.title)
		}
	}
}

// No figure stands in a sentence that noise may have made.
func TestTheFiguresOfANoisyMachineAreNotSaid(t *testing.T) {
	clear, noisy := measuringMember("clear", 0.9), measuringMember("noisy", 2.1)
	for i := range noisy.Figures {
		noisy.Figures[i].ToRaw.Interval = &stat.Interval{Lo: 0.3, Hi: 5}
	}
	half := measuringMember("half", 2.1)
	half.Figures[0].ToRaw = measuringMember("", 0.8).Figures[0].ToRaw
	half.Figures[1].ToRaw.Interval = &stat.Interval{Lo: 0.3, Hi: 5}
	other := stat.Member{
		Name: "other", Runs: []results.Environment{{OS: "linux"}},
		Answers: []results.Finding{{ID: "claim/0", Verdict: results.Holds}},
	}
	const tooNoisy = "Most comparisons with raw bytes are too noisy on 1 machine: noisy. "
	tests := []struct {
		members []stat.Member
		want    string
	}{
		{
			[]stat.Member{noisy, other},
			tooNoisy + "1 of 2 machines did not measure this.",
		},
		{
			[]stat.Member{noisy, clear},
			tooNoisy + "Close other programs there",
		},
		{
			[]stat.Member{half, other},
			"1 of 2 machines did not measure this.",
		},
	}
	for _, tt := range tests {
		lead := strings.Join(FleetSections(tt.members, nil)[0].Lead, " ")
		if !strings.HasPrefix(lead, tt.want) || strings.Contains(lead, "210 %") {
			t.Errorf("got  %q\nwant %q", lead, tt.want)
		}
	}
}

// However narrow the screen is, the table has the framing in which machines differ.
func TestTheFramingThatDiffersIsShownFirst(t *testing.T) {
	var members []stat.Member
	for i, share := range []float64{0.57, 0.83} {
		m := measuringMember(fmt.Sprint("machine", i), 0.9)
		m.Figures[0].ToRaw.Median = share
		m.Figures[0].ToRaw.Interval = &stat.Interval{Lo: 0.99 * share, Hi: 1.01 * share}
		members = append(members, m)
	}
	parts, dropped := FleetSections(members, nil)[1].Tables[1].fit(30, false)
	if got := strings.Join(dropped, ", "); got != "length-prefix" {
		t.Errorf("left out: %q", got)
	}
	if c := parts[0].Columns; c[len(c)-1].Title != "ndjson" {
		t.Errorf("columns %+v", c)
	}
}

func TestTheTitleOfAFleetSaysWhatToLookAt(t *testing.T) {
	var members []stat.Member
	for i := range 10 {
		members = append(members, measuringMember(fmt.Sprint("node", i), 0.9+0.001*float64(i)))
	}
	tests := []struct {
		slow, failed int // of the machines, the first and the last
		want         string
	}{
		{0, 0, "No figure is far from the usual ones on any of 10 machines"},
		{1, 0, "node0 stands out: length-prefix keeps 40 % of raw's speed, usually 90 % " +
			"(messages of 64 KiB, on one CPU)"},
		{2, 0, "Figures are far from the usual ones on 2 machines: node0 and node1"},
		{2, 1, "A measurement failed on 1 machine: node9"},
	}
	for _, tt := range tests {
		for i := range tt.slow {
			members[i] = measuringMember(members[i].Name, 0.4)
		}
		for i := range tt.failed {
			members[9-i].Failures = []string{"no memory"}
		}
		answer := FleetSections(members, nil)[0]
		if answer.Title != tt.want {
			t.Errorf("got %q, want %q", answer.Title, tt.want)
		}
		const furthest = "Furthest is node0: length-prefix keeps 40 % of raw's speed, usually " +
			"90 % (messages of 64 KiB, on one CPU)."
		if slices.Contains(answer.Lead, furthest) != (tt.slow > 1) {
			t.Errorf("%d slow machines: lead %q", tt.slow, answer.Lead)
		}
		if tt.failed > 0 && !strings.Contains(answer.Notes[0], "--where hostname=node9,") {
			t.Errorf("note %q", answer.Notes[0])
		}
	}
}

// answeringMember returns a machine that was asked how much a pipe holds.
func answeringMember(name string, holds float64) stat.Member {
	return stat.Member{
		Name: name,
		Runs: []results.Environment{{Hostname: name, OS: "linux"}},
		Answers: []results.Finding{
			{ID: "rule/anonymous/capacity/stated", Value: holds, Unit: "B"},
			{ID: "rule/socketpair/slot", Value: holds, Unit: "B"},
		},
	}
}

func TestAnswersOfAFewMachinesAreToldByTheirNames(t *testing.T) {
	const kib = 1 << 10
	members := []stat.Member{
		answeringMember("a", 64*kib), answeringMember("b", 256*kib), answeringMember("c", 64*kib),
		answeringMember("d", 16*kib),
	}
	sections := FleetSections(members, nil)
	want := "A new pipe holds 64 KiB on a and c, 256 KiB on b, 16 KiB on d."
	if got := sections[0].Lead[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const rows = "A new pipe holds | 65,536 B | a, c\n | 262,144 B | b\n | 16,384 B | d"
	if got := textOf(sections[1].Tables[0]); got != rows {
		t.Errorf("rows %q", got)
	}
	if others := sections[2]; !others.Folded || others.ID != "other-rule-findings" {
		t.Errorf("other kinds of pipe are not folded: %+v", others)
	}
}

// Many machines are told apart as few are: those that are alike are counted.
func TestAnswersOfManyMachinesSayWhatDiffers(t *testing.T) {
	var members []stat.Member
	for i := range 12 {
		holds := 65_536.0
		if i > 6 {
			holds = 4096
		}
		if i == 11 {
			holds = 1 << 20
		}
		members = append(members, answeringMember(fmt.Sprint("m", i), holds))
	}
	sections := FleetSections(members, nil)
	const want = "A new pipe holds 1 MiB on m11, 4 KiB on m7, m8, m9 and m10, " +
		"64 KiB on the 7 others probed"
	if got := sections[0].Title; got != want {
		t.Errorf("title %q, want %q", got, want)
	}
	if got := sections[0].Lead[0]; got != want+"." {
		t.Errorf("got %q, want %q", got, want)
	}
	const rows = "A new pipe holds | 65,536 B | 7 machines\n" +
		" | 4,096 B | m7, m8, m9, m10\n" +
		" | 1,048,576 B | m11"
	if got := textOf(sections[1].Tables[0]); got != rows {
		t.Errorf("rows %q", got)
	}
}

// A machine counts only if it gave an answer, and a question only if two machines answered it.
func TestOnlyAnswersThatMachinesGaveAreCounted(t *testing.T) {
	cost := results.Finding{ID: "rule/wake-up/same", Value: 2000.0, Unit: "ns"}
	chance := results.Finding{ID: "rule/anonymous/interleave/4096/2", Value: false}
	fewer := answeringMember("c", 4096)
	fewer.Answers = fewer.Answers[:1]
	extra := answeringMember("a", 4096)
	extra.Answers = append(extra.Answers,
		results.Finding{ID: "rule/anonymous/full/write", Value: "EAGAIN"}, cost, chance)
	costly := stat.Member{
		Name: "costly", Runs: []results.Environment{{OS: "linux"}}, Answers: []results.Finding{cost},
	}
	tests := []struct {
		name    string
		members []stat.Member
		want    string
	}{
		{
			"costs", []stat.Member{extra, answeringMember("b", 4096), costly},
			"What the pipes do: 1 answer, alike on a and b.|" +
				"What other kinds of pipe do: 1 answer, alike on a and b.",
		},
		{
			"one was asked less", []stat.Member{extra, answeringMember("b", 4096), fewer},
			"What the pipes do: 1 answer, alike on 3 machines.|" +
				"What other kinds of pipe do: 1 answer, alike on a and b.",
		},
		{
			"one kind on one machine", []stat.Member{extra, fewer},
			"What the pipes do: 1 answer, alike on 2 machines.|" +
				"What other kinds of pipe do: only a was asked, nothing to compare.",
		},
		{
			"one machine", []stat.Member{extra, costly},
			"What the pipes do: only a was asked, nothing to compare.|" +
				"What other kinds of pipe do: only a was asked, nothing to compare.",
		},
	}
	for _, tt := range tests {
		lead := FleetSections(tt.members, nil)[0].Lead
		if got := strings.Join(lead, "|"); got != tt.want {
			t.Errorf("%s: got  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// Machines differ also if only their FIFOs do, or if writes mix on one that must not.
func TestNoDifferenceIsPassedOver(t *testing.T) {
	asked := func(name string, fifo float64, mix bool) stat.Member {
		m := answeringMember(name, 65_536)
		mixes := results.Finding{
			ID: "rule/anonymous/interleave/4096/read-4096", Value: mix, Verdict: results.Holds,
		}
		if mix {
			mixes.Verdict = results.Refuted
		}
		holds := results.Finding{ID: "rule/fifo/capacity/stated", Value: fifo, Unit: "B"}
		m.Answers = append(m.Answers, mixes, holds)
		return m
	}
	sections := FleetSections([]stat.Member{
		asked("a", 65_536, false), asked("b", 65_536, false), asked("c", 32_768, true),
	}, nil)
	var rows string
	for _, s := range sections[1:] { // behind the answer
		rows += textOf(s.Tables[0]) + "\n"
	}
	for _, want := range []string{
		"Writes of 4,096 B of two programs mix | not seen | a, b\n | yes (≠ documented) | c\n",
		"A new pipe holds (fifo) | 65,536 B | a, b\n | 32,768 B | c\n",
	} {
		if !strings.Contains(rows, want) {
			t.Errorf("%q is missing in %q", want, rows)
		}
	}
}

// Where one measurement differs, it is said before what is alike. Round trips are compared by their
// time.
func TestADifferenceElsewhereIsSaidFirst(t *testing.T) {
	for _, tt := range []struct {
		shares  []float64 // of raw, on two machines
		pattern string
		where   string
		want    string
	}{
		{[]float64{0.5, 0.9}, patternStream, "apart", "ndjson keeps 50 % of raw's speed on m0.5 " +
			"and 90 % on m0.9 (messages of 64 KiB, on two CPUs), in 1 of 2 measurements (64 KiB)"},
		{[]float64{1.2, 2.4}, results.PatternRoundtrip, "same", "Round trips of ndjson take 1.20 " +
			"times as long as raw's on m1.2 and 2.40 times on m2.4 (messages of 64 KiB, on one " +
			"CPU)"},
	} {
		var members []stat.Member
		for _, share := range tt.shares {
			m := measuringMember(fmt.Sprint("m", share), 0.9)
			other := measuringMember("", share).Figures[0]
			other.Cell.Pattern = tt.pattern
			other.Cell.Placement = tt.where
			m.Figures = append(m.Figures, other)
			members = append(members, m)
		}
		answer := FleetSections(members, nil)[0]
		if answer.Title != tt.want || answer.Lead[0] != tt.want+"." {
			t.Errorf("title %q, lead %q", answer.Title, answer.Lead)
		}
	}
}

// Of several measurements in which machines differ, the one counts that most machines made.
func TestAMeasurementOfAllMachinesIsPreferred(t *testing.T) {
	var members []stat.Member
	for i, share := range []float64{0.6, 0.9, 0.9} {
		m := measuringMember(fmt.Sprint("m", i), share)
		small := measuringMember("", []float64{0.2, 1.8, 1.8}[i]).Figures[0]
		small.Cell.Size = 256
		if i < 2 {
			m.Figures = append(m.Figures, small)
		}
		members = append(members, m)
	}
	const want = "m0: 60 % | m1 and m2: 90 % | 2 of 2"
	if got := textOf(FleetSections(members, nil)[1].Tables[0]); !strings.Contains(got, want) {
		t.Errorf("rows %q", got)
	}
	members[0].Doubtful = []results.Cell{members[0].Figures[0].Cell}
	members[0].Doubtful[0].Framing = results.FramingRaw
	const clear = "m0: 20 % | m1: 180 % | 1 of 2 (256 B)"
	if got := textOf(FleetSections(members, nil)[1].Tables[0]); !strings.Contains(got, clear) {
		t.Errorf("with a doubtful raw, rows %q", got)
	}
}

// A machine whose system was upgraded between two runs stands with both.
func TestASystemThatChangedIsNamed(t *testing.T) {
	a, b := measuringMember("a", 0.9), measuringMember("b", 0.9)
	a.Runs = []results.Environment{{OS: "linux", Kernel: "6.18.2"}, {OS: "linux", Kernel: "5.15.0"}}
	b.Runs[0].Kernel = "6.18.3"
	const want = "a | linux 6.18, linux 5.15\nb | linux 6.18"
	if got := textOf(FleetSections([]stat.Member{a, b}, nil)[0].Tables[0]); got != want {
		t.Errorf("rows %q", got)
	}
}

// A difference that is the same in several measurements is told once.
func TestOneDifferenceAtSeveralSizesIsToldOnce(t *testing.T) {
	var members []stat.Member
	for i, share := range []float64{0.6, 0.9} {
		m := measuringMember(fmt.Sprint("m", i), 0.95)
		m.Figures = m.Figures[1:]
		for _, size := range []int{256, 4000} {
			f := measuringMember("", share-float64(size)/1e5).Figures[0]
			f.Cell.Size = size
			m.Figures = append(m.Figures, f)
		}
		members = append(members, m)
	}
	const want = "ndjson | 4,000 B, one CPU | m0: 56 % | m1: 86 % | 2 of 2"
	if got := textOf(FleetSections(members, nil)[1].Tables[0]); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A machine that is slower in everything keeps the usual shares of raw's speed.
func TestASlowMachineIsNamed(t *testing.T) {
	const where = " (messages of 64 KiB, on one CPU)"
	for _, tt := range []struct {
		speeds []float64 // of raw, in GB/s
		noise  float64
		want   string // "": not said
	}{
		{[]float64{1.8, 3.6}, 0.1, "Everything is slower on m0: raw reaches 1.80 GB/s on m0 and " +
			"3.60 GB/s on m1" + where + "."},
		{[]float64{1.8, 3.6, 1.8}, 0.1, "Everything is faster on m1: raw reaches 3.60 GB/s on m1 " +
			"and 1.80 GB/s on m0 and m2" + where + "."},
		{[]float64{2.5, 3.6}, 0.1, ""},
		{[]float64{2, 3.2}, 0.24, ""},
	} {
		var members []stat.Member
		for i, speed := range tt.speeds {
			m := measuringMember(fmt.Sprint("m", i), 0.9)
			raw := stat.Figure{Cell: m.Figures[0].Cell}
			raw.Cell.Framing = results.FramingRaw
			raw.Speed = stat.Estimate{N: 10, Median: speed * 1e9, Interval: &stat.Interval{
				Lo: (1 - tt.noise) * speed * 1e9, Hi: (1 + tt.noise) * speed * 1e9,
			}}
			for i := range m.Figures {
				m.Figures[i].Speed.Median = 0.9 * speed * 1e9
			}
			m.Figures = append(m.Figures, raw)
			members = append(members, m)
		}
		answer := FleetSections(members, nil)[0]
		said := strings.Contains(strings.Join(answer.Lead, " "), "raw reaches")
		switch {
		case tt.want == "" && said || tt.want != "" && !slices.Contains(answer.Lead, tt.want):
			t.Errorf("%v: said %q, want %q", tt.speeds, answer.Lead, tt.want)
		case said && answer.Title+"." != tt.want:
			t.Errorf("title %q", answer.Title)
		}
	}
}

// Where raw alone is slower, framings only seem to be faster.
func TestSlowRawIsSaidOfRaw(t *testing.T) {
	const speeds = ": raw reaches 2.00 GB/s on b and 3.00 GB/s on a (messages of 64 KiB, on one " +
		"CPU)"
	for ofFraming, want := range map[float64]string{
		3: "Raw alone is slower on b" + speeds + ". Framings are as fast there as " +
			"elsewhere; what they keep of that raw's speed is not compared",
		4: "Raw is slower on b" + speeds,
		2: "Everything is slower on b" + speeds,
	} {
		members := membersOf(
			speedOn{"a", map[string]float64{"raw": 3, "ndjson": 3, "length-prefix": 3}},
			speedOn{"b", map[string]float64{
				"raw": 2, "ndjson": ofFraming, "length-prefix": ofFraming,
			}},
		)
		if got := FleetSections(members, nil)[0].Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A framing that is slower as well where raw alone is slow is named.
func TestAFramingThatIsSlowBesideSlowRawIsNamed(t *testing.T) {
	members := membersOf(
		speedOn{"a", map[string]float64{
			"raw": 3, "ndjson": 3, "length-prefix": 3, "content-length": 3,
		}},
		speedOn{"b", map[string]float64{
			"raw": 2, "ndjson": 2, "length-prefix": 3, "content-length": 3,
		}},
	)
	got := FleetSections(members, nil)[0].Title
	if !strings.Contains(got, "Framings are as fast there as elsewhere, except ndjson; ") {
		t.Errorf("got %q", got)
	}
}

// Of many machines, kinds that differ in the speed of raw are named.
func TestSlowKindsOfMachinesAreNamed(t *testing.T) {
	var members []stat.Member
	for i := range 16 {
		m := measuringMember(fmt.Sprint("m", i), 0.9)
		m.Runs[0].Kernel = "6.18.2"
		speed := 3.6e9
		if i%2 > 0 {
			m.Runs[0].Kernel = "6.1.7"
			speed = 1.8e9
		}
		raw := m.Figures[0]
		raw.Cell.Framing = results.FramingRaw
		raw.ToRaw = stat.Estimate{}
		raw.Speed = stat.Estimate{N: 10, Median: speed,
			Interval: &stat.Interval{Lo: 0.9 * speed, Hi: 1.1 * speed}}
		for i := range m.Figures {
			m.Figures[i].Speed.Median = 0.9 * speed
		}
		m.Figures = append(m.Figures, raw)
		members = append(members, m)
	}
	const want = "Everything is slower on linux 6.1: raw reaches 1.80 GB/s on linux 6.1 and 3.60 " +
		"GB/s on linux 6.18 (messages of 64 KiB, on one CPU)."
	if got := FleetSections(members, nil)[0].Lead[0]; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The size at which machines differ is compared, not the usual one.
func TestMachinesAreComparedAtTheSizeAtWhichTheyDiffer(t *testing.T) {
	var members []stat.Member
	for i, share := range []float64{0.99, 0.66} {
		m := measuringMember(fmt.Sprint("m", i), 0.9)
		for _, f := range measuringMember("", share).Figures {
			f.Cell.Size = 4000
			m.Figures = append(m.Figures, f)
		}
		members = append(members, m)
	}
	const want = "66 % of raw's speed on m1 and 99 % on m0"
	if got := FleetSections(members, nil)[0].Title; !strings.Contains(got, want) {
		t.Errorf("title %q, want %q in it", got, want)
	}
	// A smaller difference at another size is counted, if it is the same way round.
	members[1].Figures[1].ToRaw = measuringMember("", 0.8).Figures[0].ToRaw
	const row = "length-prefix | 4,000 B, one CPU | m1: 66 % | m0: 99 % | 2 of 2"
	if got := textOf(FleetSections(members, nil)[1].Tables[0]); !strings.Contains(got, row) {
		t.Errorf("rows %q", got)
	}
}

// A machine that was not asked stands with no answer.
func TestAMachineThatWasAskedLessIsNotNamed(t *testing.T) {
	another := answeringMember("c", 4096)
	another.Answers[0].ID = "rule/anonymous/slot"
	large := answeringMember("b", 65_536)
	large.Answers = append(large.Answers,
		results.Finding{ID: "rule/anonymous/slot", Value: 65_536.0, Unit: "B"})
	sections := FleetSections([]stat.Member{answeringMember("a", 4096), large, another}, nil)
	const want = "A new pipe holds | 4,096 B | a\n | 65,536 B | b\n"
	if got := textOf(sections[1].Tables[0]); !strings.HasPrefix(got, want) {
		t.Errorf("rows %q", got)
	}
}

// A framing that is better at some sizes and worse at others makes two differences.
func TestADifferenceThatIsTheOtherWayRoundIsToldApart(t *testing.T) {
	var members []stat.Member
	for i, small := range []float64{0.85, 1.2} {
		m := measuringMember(fmt.Sprint("m", i), 0.9)
		for size, share := range map[int]float64{256: small, 65_000: 1.4 - small/2} {
			f := measuringMember("", share).Figures[0]
			f.Cell.Size = size
			m.Figures = append(m.Figures, f)
		}
		members = append(members, m)
	}
	lead := FleetSections(members, nil)[0].Lead
	want := []string{
		"ndjson keeps 85 % of raw's speed on m0 and 120 % on m1 (messages of 256 B, on one CPU), " +
			"in 1 of 3 measurements (256 B).",
		"ndjson keeps 80 % of raw's speed on m1 and 97 % on m0 (messages of 65,000 B, on one " +
			"CPU), in 1 of 3 measurements (65,000 B).",
	}
	if !slices.Equal(lead, want) {
		t.Errorf("lead %q", lead)
	}
}

// Where raw alone is slow, the shares of that raw are not compared: another cause is found all the
// same, and what was not measured is not called noisy.
func TestRawAloneHidesNoOtherDifference(t *testing.T) {
	var machines []speedOn
	for _, tt := range []struct {
		name                      string
		raw, ndjson, lengthPrefix float64 // in GB/s
	}{
		{"usual", 6, 5, 5.4}, {"raw", 3, 5, 5.4}, {"slow", 2, 1.67, 1.8}, {"ndjson", 6, 3, 5.4},
	} {
		machines = append(machines, speedOn{tt.name, map[string]float64{
			"raw": tt.raw, "ndjson": tt.ndjson, "length-prefix": tt.lengthPrefix,
		}})
	}
	members := membersOf(machines...)
	lead := strings.Join(FleetSections(members, nil)[0].Lead, " ")
	for _, want := range []string{
		"Raw alone is slower on raw:", "Everything is slower on slow:",
		"ndjson keeps 50 % of raw's speed on ndjson and 83 to 84 % on usual and slow (",
	} {
		if !strings.Contains(lead, want) {
			t.Errorf("%q is missing in %q", want, lead)
		}
	}
}

// Two rows of one machine need a condition that tells them apart.
func TestTheHintSelectsWhatTheRowShows(t *testing.T) {
	a, b := measuringMember("srv (linux 6.1)", 0.9), measuringMember("srv (linux 6.8)", 0.9)
	for i, m := range []stat.Member{a, b} {
		m.Runs[0] = results.Environment{Hostname: "srv", Machine: "0a", Kernel: fmt.Sprint("6.", i)}
	}
	notes := FleetSections([]stat.Member{a, b}, nil)[0].Notes
	if !strings.Contains(notes[0], " --where machine=0a --where kernel=6.0,") {
		t.Errorf("note %q", notes[0])
	}
}

func TestMissingMeasurementsAreNamedFirst(t *testing.T) {
	members := []stat.Member{measuringMember("a", 0.9), measuringMember("b", 0.9)}
	lead := FleetSections(members, []results.Problem{
		{File: "c.jsonl", What: "the file is empty", Incomplete: true}, {What: "newer"},
	})[0].Lead
	if lead[1] != "Measurements are missing: c.jsonl: the file is empty." {
		t.Errorf("lead %q", lead)
	}
}

// Which version measured may be the reason for a difference, as the kernel may.
func TestVersionsTellMachinesApart(t *testing.T) {
	a, b := measuringMember("a", 0.9), measuringMember("b", 0.9)
	b.Runs[0].Version = "0.1.0"
	b.Runs[0].Go = "go1.25"
	table := machineTable([]stat.Member{a, b})
	if len(table.Columns) != 3 || table.Rows[1][1].Text != "0.1.0" {
		t.Errorf("columns %v, rows %v", table.Columns, table.Rows)
	}
}

// The number of machines in a row counts those of which its figures are.
func TestMachinesThatStandOutAreNotCounted(t *testing.T) {
	var members []stat.Member
	for i := range 9 {
		members = append(members, measuringMember(fmt.Sprint("m", i), 0.9))
	}
	members[0].Figures[0] = measuringMember("", 0.4).Figures[0]
	const row = "all | 8 to 9 | 0.90 (0.90–0.90) | 0.90 (0.90–0.90)"
	if got := textOf(FleetSections(members, nil)[1].Tables[0]); got != row {
		t.Errorf("row %q", got)
	}
}
