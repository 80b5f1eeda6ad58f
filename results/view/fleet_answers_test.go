package view

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A kind of pipe that is not there is named once. Its answers are not counted as different.
func TestAKindThatIsNotThereIsNoDifference(t *testing.T) {
	const kib = 1 << 10
	linux, windows := answeringMember("lab", 64*kib), answeringMember("wine", 64*kib)
	missing := stat.Answer{ID: "rule/named/kind", Value: "unsupported",
		Verdict: results.Unsupported}
	linux.Answers = append(linux.Answers, missing)
	windows.Answers = append(windows.Answers,
		stat.Answer{ID: "rule/named/capacity/stated", Value: 4096.0, Unit: "B"},
		stat.Answer{ID: "rule/named/full/write", Value: "EAGAIN"})
	sections := FleetSections([]stat.Member{linux, windows})
	const want = "What other kinds of pipe do: 1 answer, alike on 2 machines."
	if lead := sections[0].Lead; lead[len(lead)-1] != want {
		t.Errorf("got %q", lead)
	}
	if got := strings.Join(sections[2].Notes, "|"); got != "a named pipe: not there on lab" {
		t.Errorf("notes %q", got)
	}
}

// A claim stands on the page in words, with the name by which people ask for it.
func TestClaimsOfAFleetStandInWords(t *testing.T) {
	claim := func(name string, v results.Verdict) stat.Member {
		return stat.Member{
			Name: name, Runs: []results.Environment{{OS: "linux"}},
			Answers: []stat.Answer{{ID: "claim/000-x", Title: "pipes leak", Verdict: v}},
		}
	}
	sections := FleetSections([]stat.Member{
		claim("a", results.Holds), claim("b", results.Refuted),
	})
	const asks = "Pipes leak (000-x)"
	if got := sections[0].Lead[0]; got != asks+": holds on a, refuted on b." {
		t.Errorf("got %q", got)
	}
	if got := rowsOf(t, sections[1].Tables)[asks]; got != "holds | ≠ refuted" {
		t.Errorf("row %q", got)
	}
}
