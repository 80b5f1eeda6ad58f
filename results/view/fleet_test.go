package view

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
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
	notes := sections[1].Notes
	if !slices.Contains(notes, "13 of 14 machines did not measure this.") {
		t.Errorf("how many measured is not said: %q", notes)
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
		Name: "costly", Runs: []results.Environment{{OS: "linux"}},
		Answers: []results.Finding{cost},
	}
	const holds = " A new pipe holds: 4 KiB."
	const slot = " A full one takes a byte again after reading (socketpair): 4 KiB."
	tests := []struct {
		name    string
		members []stat.Member
		want    string
	}{
		{
			"costs", []stat.Member{extra, answeringMember("b", 4096), costly},
			"What the pipes do: 1 answer, alike on a and b." + holds + "|" +
				"What other kinds of pipe do: 1 answer, alike on a and b." + slot,
		},
		{
			"one was asked less", []stat.Member{extra, answeringMember("b", 4096), fewer},
			"What the pipes do: 1 answer, alike on 3 machines." + holds + "|" +
				"What other kinds of pipe do: 1 answer, alike on a and b." + slot,
		},
		{
			"one kind on one machine", []stat.Member{extra, fewer},
			"What the pipes do: 1 answer, alike on 2 machines." + holds + "|" +
				"What other kinds of pipe do: no question was answered on two machines, " +
				"nothing to compare.",
		},
		{
			"one machine", []stat.Member{extra, costly},
			"What the pipes do: no question was answered on two machines, nothing to compare.|" +
				"What other kinds of pipe do: no question was answered on two machines, " +
				"nothing to compare.",
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

// A file that was torn and its run that ended early are one thing: its machine is named once.
func TestMissingMeasurementsAreNamedAfterTheDifferences(t *testing.T) {
	machines := with(alike(3), func(i int, m *resultstest.Machine) {
		m.Slow = map[string]float64{"ndjson": 1 + float64(i%2), "content-length": 1 + float64(i/2)}
	})
	members := stat.FleetOf(setOf(machines...)).Members()
	file := func(name string) results.Problem {
		return results.Problem{File: name + ".jsonl", What: "torn line", Incomplete: true}
	}
	torn := file("c")
	inFolder := results.Problem{File: filepath.Join("d", results.FileName), Incomplete: true}
	var problems []results.Problem
	for _, m := range append(members, members...) {
		run := m.Environment().Run
		problems = append(problems, results.Problem{Run: run, Incomplete: true})
	}
	for _, tt := range []struct {
		problems []results.Problem
		want     string
	}{
		{[]results.Problem{torn, {What: "newer"}}, "Measurements of c are missing or incomplete."},
		{problems[:4], "Measurements of n01, n02 and n03 are missing or incomplete."},
		{append(problems, torn),
			"Measurements of n01, n02, n03 and c are missing or incomplete."},
		{append(problems, torn, inFolder, file("e"), file("f")),
			"Measurements of n01, n02, n03, c, d and 2 more are missing or incomplete."},
		{[]results.Problem{problems[0], torn, inFolder},
			"Measurements of n01, c and d are missing or incomplete."},
	} {
		lead := FleetSections(members, tt.problems)[0].Lead
		at := slices.Index(lead, tt.want)
		if at < 2 || strings.Contains(strings.Join(lead[at:], "\n"), "slower") {
			t.Errorf("lead %q", lead)
		}
	}
}

// Which version measured may be the reason for a difference, as the kernel may.
func TestVersionsTellMachinesApart(t *testing.T) {
	a, b := measuringMember("a", 0.9), measuringMember("b", 0.9)
	b.Runs[0].Version = "0.1.0"
	b.Runs[0].Go = "go1.25"
	table := newComparison([]stat.Member{a, b}).machineTable()
	if len(table.Columns) != 3 || table.Rows[1][1].Text != "0.1.0" {
		t.Errorf("columns %v, rows %v", table.Columns, table.Rows)
	}
}
