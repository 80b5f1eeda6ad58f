package view

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

// besideOf makes a run of raw and ndjson, which takes a factor of raw's time.
func besideOf(run, host string, after time.Duration, factor float64) *results.Set {
	framed := map[string][]float64{"ndjson": resultstest.Around(10000*factor, 0.01)}
	set := resultstest.Beside("same", resultstest.Around(10000, 0.01), framed)
	e := &set.Environments[0]
	e.Run = run
	e.Hostname = host
	e.Time = e.Time.Add(after)
	for i := range set.Records {
		set.Records[i].Run = run
	}
	return set
}

const srvDisagrees = "The runs of srv disagree: compared with other framings, ndjson is 1.3 " +
	"times slower in the run of 2026-11-22 than in the run of 2026-11-21"

func TestRunsThatDisagreeAreToldFirst(t *testing.T) {
	set := results.Merge(besideOf("old", "srv", 0, 1.2), besideOf("new", "srv", 25*time.Hour, 1.6))
	sum := Summarise(set)
	text := strings.Join(sum.Meaning, "\n")
	advice := "The tables pool all runs; the sentences leave such measurements out."
	if !strings.HasPrefix(text, srvDisagrees) || !strings.Contains(text, advice) {
		t.Errorf("got %q", text)
	}
	page := Sections(set)
	if !strings.HasPrefix(page[0].Title, srvDisagrees) {
		t.Errorf("the page has the title %q", page[0].Title)
	}
	var screen strings.Builder
	if err := Write(&screen, set, FormatTable, Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	for _, twice := range []string{stat.RunsDiffer, "forks differ"} {
		if strings.Contains(screen.String(), twice) {
			t.Errorf("%q is on the screen:\n%s", twice, &screen)
		}
	}
	if notes := strings.Join(sum.Notes, "\n"); !strings.Contains(notes, stat.RunsDiffer) {
		t.Errorf("all figures have the notes %q", notes)
	}
}

func TestRunsOfOneDayAreNamedByTheirTimes(t *testing.T) {
	set := results.Merge(besideOf("old", "srv", 0, 1.2), besideOf("new", "srv", time.Hour, 1.6))
	text := strings.Join(Summarise(set).Meaning, "\n")
	if strings.Count(text, ":00:00 UTC") != 2 {
		t.Errorf("got %q", text)
	}
}

func TestRunsThatDisagreeAreNotComparedWithMachines(t *testing.T) {
	set := results.Merge(besideOf("old", "srv", 0, 1.2), besideOf("new", "srv", 25*time.Hour, 1.6),
		besideOf("1", "alpha", 0, 1.1))
	answer := FleetSections(stat.FleetOf(set).Members(), nil)[0]
	text := strings.Join(answer.Lead, "\n")
	if !strings.HasPrefix(answer.Title, srvDisagrees) || !strings.HasPrefix(text, srvDisagrees) {
		t.Errorf("title %q, lead %q", answer.Title, text)
	}
	if strings.Contains(text, "on srv") {
		t.Errorf("a figure of no run is compared: %q", text)
	}
	set = results.Merge(set, besideOf("2", "alpha", 25*time.Hour, 1.5))
	text = strings.Join(FleetSections(stat.FleetOf(set).Members(), nil)[0].Lead, "\n")
	if !strings.Contains(text, "The runs of alpha disagree: ") {
		t.Errorf("got %q", text)
	}
}
