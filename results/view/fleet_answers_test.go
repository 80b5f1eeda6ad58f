package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A kind of pipe that is not there is named once. Its answers are not counted as different.
func TestAKindThatIsNotThereIsNoDifference(t *testing.T) {
	const kib = 1 << 10
	linux, windows := answeringMember("lab", 64*kib), answeringMember("wine", 64*kib)
	missing := results.Finding{ID: "rule/named/kind", Value: "unsupported",
		Verdict: results.Unsupported}
	linux.Answers = append(linux.Answers, missing)
	windows.Answers = append(windows.Answers,
		results.Finding{ID: "rule/named/capacity/stated", Value: 4096.0, Unit: "B"},
		results.Finding{ID: "rule/named/full/write", Value: "EAGAIN"})
	sections := FleetSections([]stat.Member{linux, windows}, nil)
	const want = "What other kinds of pipe do: 1 answer, alike on 2 machines. " +
		"A full one takes a byte again after reading (socketpair): 64 KiB."
	if lead := sections[0].Lead; lead[len(lead)-1] != want {
		t.Errorf("got %q", lead)
	}
	if got := sections[2].Notes[0]; got != "a named pipe: not there on lab" {
		t.Errorf("note %q", got)
	}
}

// Under "alike" stands only what at least two machines answered in the same way. Answers that are
// not compared, as those of pseudo-terminals, are left out, and a note says so.
func TestOnlyAlikeAnswersStandUnderAlike(t *testing.T) {
	asked := func(name string, slot float64) stat.Member {
		m := answeringMember(name, 4096)
		m.Answers = append(m.Answers,
			results.Finding{ID: "rule/pty/slot", Value: slot, Unit: "B"},
			results.Finding{ID: "rule/socketpair/broken/after-0/notice", Value: 1e6, Unit: "ns"})
		return m
	}
	alone := asked("b", 220)
	slot := results.Finding{ID: "rule/fifo/slot", Value: 1.0, Unit: "B"}
	alone.Answers = append(alone.Answers, slot)
	sections := FleetSections([]stat.Member{asked("a", 1), alone}, nil)
	lead := sections[0].Lead
	const want = "What other kinds of pipe do: 1 answer, alike on 2 machines. " +
		"A full one takes a byte again after reading (socketpair): 4 KiB."
	if got := lead[len(lead)-1]; got != want {
		t.Errorf("got %q", got)
	}
	alike := sections[2]
	rows := rowsOf(t, alike.Tables)
	if alike.ID != "other-rule-findings-alike" || len(rows) != 1 {
		t.Errorf("section %s has %v", alike.ID, rows)
	}
	const notCompared = "Times, costs, pseudo-terminals and what depends on"
	if got := alike.Notes[0]; !strings.HasPrefix(got, notCompared) {
		t.Errorf("note %q", got)
	}
}

// A claim stands on the page in words, with the name by which people ask for it.
func TestClaimsOfAFleetStandInWords(t *testing.T) {
	claim := func(name string, v results.Verdict) stat.Member {
		return stat.Member{
			Name: name, Runs: []results.Environment{{OS: "linux"}},
			Answers: []results.Finding{{ID: "claim/000-x", Title: "pipes leak", Verdict: v}},
		}
	}
	sections := FleetSections([]stat.Member{
		claim("a", results.Holds), claim("b", results.Refuted),
	}, nil)
	const asks = "Pipes leak (000-x)"
	if got := sections[0].Lead[0]; got != asks+": holds on a, refuted on b." {
		t.Errorf("got %q", got)
	}
	const rows = asks + " | holds | a\n | refuted | b"
	if got := textOf(sections[1].Tables[0]); got != rows {
		t.Errorf("rows %q", got)
	}
}

// A few machines that differ from the first column are all named, however long their names are.
func TestColumnsNameTheMachinesThatDiffer(t *testing.T) {
	const first = "linux arm64-16k (emulated)"
	c := column{names: []string{first, "linux ppc64le (emulated)", "a (Wine)"}}
	if got := c.title(true); got != first+" and 2 more" {
		t.Errorf("the first column is %q", got)
	}
	all := strings.Join(c.names, ", ")
	if got := c.title(false); got != all {
		t.Errorf("got %q, want %q", got, all)
	}
	c.names = slices.Repeat(c.names, 3)
	if got := c.title(false); got != first+" and 8 more" {
		t.Errorf("of many machines: %q", got)
	}
}

// A few answers that are alike are told in sentences, many in a table that is folded.
func TestAnswersThatAreAlikeAreShown(t *testing.T) {
	members := func(claims int) []stat.Member {
		var all []stat.Member
		for _, name := range []string{"a", "b"} {
			m := stat.Member{Name: name, Runs: []results.Environment{{OS: "linux"}}}
			for i := range claims {
				id := fmt.Sprint("claim/", i)
				m.Answers = append(m.Answers, results.Finding{ID: id, Verdict: results.Holds})
			}
			all = append(all, m)
		}
		return all
	}
	few := FleetSections(members(2), nil)[0].Lead[0]
	if !strings.HasSuffix(few, ": 2 answers, alike on 2 machines. 0: holds. 1: holds.") {
		t.Errorf("of two: %q", few)
	}
	sections := FleetSections(members(4), nil)
	if lead := sections[0].Lead[0]; !strings.HasSuffix(lead, ": 4 answers, alike on 2 machines.") {
		t.Errorf("of four: %q", lead)
	}
	alike := sections[1]
	if !alike.Folded || !strings.HasPrefix(textOf(alike.Tables[0]), "0 | holds | a, b\n") {
		t.Errorf("of four: %+v", alike)
	}
}

// textOf returns the rows of a table, each as a line of its texts.
func textOf(t Table) string {
	var lines []string
	for _, row := range t.Rows {
		var texts []string
		for _, v := range row {
			texts = append(texts, strings.TrimSpace(v.Text))
		}
		lines = append(lines, strings.Join(texts, " | "))
	}
	return strings.Join(lines, "\n")
}

// A limit whose search was cut short is not compared with one that is exact.
func TestALimitThatIsNotExactDiffersFromNoOther(t *testing.T) {
	members := func(isCut bool) []stat.Member {
		f := stat.NewFleet()
		for i, limit := range []int64{199_998, 199_999} {
			host := string('a' + rune(i))
			f.Add(results.Environment{Run: host, Machine: host, Hostname: host})
			target := results.Target{
				Run: host, Command: []string{"server"}, Verdict: "exited", RequestLimit: &limit,
			}
			target.Evidence.Limit = &results.LimitEvidence{CutShort: isCut && i == 0}
			f.Add(target)
		}
		return f.Members()
	}
	tests := []struct {
		isCut bool
		want  string
	}{
		{true, "How servers turned out: 1 answer, alike on 2 machines. server: exited beyond " +
			"199,998 B (search cut short) and exited beyond 199,999 B."},
		{false, "How servers turned out: 1 of 1 answer differ between a and b."},
	}
	for _, tt := range tests {
		lead := FleetSections(members(tt.isCut), nil)[0].Lead
		if !slices.Contains(lead, tt.want) {
			t.Errorf("cut short: %v: got %q", tt.isCut, lead)
		}
	}
}

// A sentence on answers names what some machines alone have in common, as those on speeds do.
func TestAnAnswerNamesWhatItsMachinesHaveInCommon(t *testing.T) {
	var members []stat.Member
	for i, holds := range []float64{65_536, 32_768, 65_536, 32_768, 65_536} {
		m := answeringMember(fmt.Sprint("w", i+1), holds)
		m.Runs[0].Kernel = "6.1.0"
		if holds == 32_768 {
			m.Runs[0].Kernel = "6.8.0"
		}
		members = append(members, m)
	}
	const want = "A new pipe holds 32 KiB on linux 6.8 (w2 and w4), 64 KiB on the 3 others probed."
	if got := FleetSections(members, nil)[0].Lead[0]; got != want {
		t.Errorf("got %q", got)
	}
}
