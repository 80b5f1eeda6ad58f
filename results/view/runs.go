package view

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// disagreementSentences say on which machines two runs differ beyond the noise. Only the machine on
// which they differ most has its figures there.
func disagreementSentences(members []stat.Member) []string {
	var names []string
	var most stat.Member
	for _, m := range members {
		if m.Disagreement == nil {
			continue
		}
		names = append(names, m.Name)
		if most.Disagreement == nil || m.Disagreement.Ratio() > most.Disagreement.Ratio() {
			most = m
		}
	}
	if len(names) == 0 {
		return nil
	}
	d := most.Disagreement
	low, high := runNames(d.Low.Run, d.High.Run)
	text := fmt.Sprintf("The runs of %s disagree: %s %s%s in %s and %s in %s%s",
		most.Name, framingVerb(d.Cell), speedRange(d.Cell, d.Low.Median, d.Low.Median),
		ofRaw(d.Cell), low, speedRange(d.Cell, d.High.Median, d.High.Median), high,
		whereMeasured(d.Cell))
	if d.Compared > 1 {
		text += fmt.Sprintf(", in %d of %d measurements", d.Cells, d.Compared)
	}
	out := []string{text + "."}
	if len(names) > 1 {
		out = append(out, fmt.Sprintf("Runs disagree on %d machines: %s.", len(names),
			nameSome(names)))
	}
	advice := "Compare them: pipebench compare OLD NEW"
	if d.Cell.Framing != results.FramingRaw {
		advice += " --metric " + stat.RelativeMetric(d.Cell).Name
	}
	pooled := "The figures below are pooled over all runs."
	switch {
	case len(members) > 1:
		pooled = "Such figures are pooled below, and not compared with other machines."
	case len(most.Runs) == 2:
		pooled = "The figures below are pooled over both."
	}
	return append(out, advice+". "+pooled)
}

// runNames names two runs by their days or, if these are equal, by times.
func runNames(a, b results.Environment) (string, string) {
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04:05 UTC"} {
		nameA, nameB := a.Time.UTC().Format(layout), b.Time.UTC().Format(layout)
		if nameA != nameB {
			return "the run of " + nameA, "that of " + nameB
		}
	}
	return "run " + a.Run, "run " + b.Run
}
