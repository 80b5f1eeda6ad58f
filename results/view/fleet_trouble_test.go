package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// Of machines that are too noisy, the page has rough figures and what to do.
func TestNoisyMachinesAreNotLeftWithoutFigures(t *testing.T) {
	var members []stat.Member
	for _, name := range []string{"b", "a"} {
		m := measuringMember(name, 0.9)
		for i := range m.Figures {
			m.Figures[i].ToRaw = stat.Estimate{N: 3, Median: 0.9}
		}
		const load = "other programs kept about 1.3 of 2 CPUs busy"
		m.Warnings = []stat.Warning{{ID: "load", Found: load}, {ID: "load", Found: load}}
		m.Runs[0].Command = "pipebench run"
		members = append(members, m)
	}
	sections := FleetSections(members, nil)
	const title = "Too noisy to tell whether a framing, or raw, differs"
	if got := sections[0].Title; got != title {
		t.Errorf("title %q", got)
	}
	lead := strings.Join(sections[0].Lead, " ")
	const advice = "Most comparisons with raw bytes are too noisy on 2 machines: b and a. Close " +
		"other programs there, or measure longer (--max-time)."
	if !strings.Contains(lead, advice) {
		t.Errorf("%q is missing in %q", advice, lead)
	}
	if got := rowsOf(t, sections[1].Tables)["b"]; got != "~0.90 | ~0.90" {
		t.Errorf("figures %q", got)
	}
	const why = "most comparisons with raw bytes are too noisy, or have fewer than 6 samples | " +
		"other programs kept about 1.3 of 2 CPUs busy"
	if got := rowsOf(t, sections[2].Tables)["b, a"]; got != why { // once for both
		t.Errorf("reason %q", got)
	}
}

// The page warns of raw bytes whose median means little, and of findings that are not as
// documented, even if only one machine has them.
func TestDoubtfulRawAndRefutedRulesAreNamed(t *testing.T) {
	raw := results.Cell{Framing: "raw", Size: 65_000, Placement: "same", Pattern: patternStream}
	f := stat.NewFleet()
	f.Add(results.Environment{Run: "a", Machine: "a", Hostname: "a"})
	f.Add(results.Environment{Run: "b", Machine: "b", Hostname: "b"})
	warnings := []string{stat.TwoClusters + ": something else changed meanwhile; run it again"}
	f.Add(results.Record{Run: "a", Cell: raw})
	f.Add(results.Record{Run: "b", Cell: raw, Warnings: warnings})
	raw.Pipe = "fifo"
	f.Add(results.Record{Run: "b", Cell: raw, Warnings: warnings})
	f.Add(results.Finding{Run: "a", ID: "rule/socketpair/full/buffered", Value: 100.0, Unit: "B",
		Verdict: results.Refuted})
	sections := FleetSections(f.Members(), nil)
	rows := rowsOf(t, sections[1].Tables)
	const refuted = "1 finding not as documented | socketpair/full/buffered is 100 B"
	if rows["a"] != refuted {
		t.Errorf("rows %q", rows)
	}
	const doubt = "raw 65,000 B stream on one CPU pipe=fifo | " + stat.TwoClusters
	if rows["b"] != doubt {
		t.Errorf("rows %q", rows)
	}
	const said = "Some comparisons with raw bytes are in doubt on 1 machine: b."
	if !slices.Contains(sections[0].Lead, said) {
		t.Errorf("lead %q", sections[0].Lead)
	}
}

// A run that was interrupted is called so beside the noise that it left.
func TestAnInterruptedRunIsCalledSo(t *testing.T) {
	set := setOf(alike(2)...)
	for i := range set.Records {
		r := &set.Records[i]
		if r.Run == set.Environments[0].Run {
			r.Samples = r.Samples[:2]
			r.Stopped = "interrupted"
		}
	}
	sections := FleetSections(stat.FleetOf(set).Members(), nil)
	const want = "the run was interrupted"
	if got := rowsOf(t, sections[2].Tables)["n01"]; !strings.HasSuffix(got, want) {
		t.Errorf("row %q", got)
	}
}

// Two of eight machines that are slow and under load are machines to look at.
func TestAQuarterOfTheMachinesMayStandOut(t *testing.T) {
	set := setOf(slow(8, 2, map[string]float64{"": 1.8})...)
	for i := range set.Environments {
		e := &set.Environments[i]
		e.CPUs = 2
		e.Load1 = new(0.1)
		if i < 2 {
			e.Load1 = new(6.0)
		}
	}
	out := attentionSection(newComparison(stat.FleetOf(set).Members()))
	const want = "n01, n02 | unusual in speed, and in this | load 6.00 on 2 CPUs"
	if got := textOf(out.Tables[0]); got != want {
		t.Errorf("rows %q", got)
	}
}
