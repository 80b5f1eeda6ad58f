package tune

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// View writes what the tune records of a set say: the answer in sentences, and
// the table; as bench, their samples in Go's benchmark format.
func View(w io.Writer, format view.Format, set *results.Set, o Objective) error {
	if !slices.ContainsFunc(set.Tunes, func(t results.Tune) bool { return len(t.Samples) > 0 }) {
		return view.ErrNothing
	}
	answer := Explain(set.Tunes, o, machineName(set))
	switch format {
	case view.FormatBench:
		return view.Write(w, Measurements(set), format, view.Options{})
	case view.FormatCSV:
		return Table(set.Tunes).Write(w, format)
	case view.FormatJSON:
		return writeJSON(w, answer, set)
	}
	if err := Table(set.Tunes).Write(w, format); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(append(lines(answer.Sentences, format), lines(warnings(set.Tunes), format)...), "\n"))
	return err
}

// lines are sentences, each on a line of its own; in Markdown a list.
func lines(sentences []string, format view.Format) []string {
	bullet := ""
	if format == view.FormatMarkdown {
		bullet = "- "
	}
	out := make([]string, len(sentences))
	for i, s := range sentences {
		out[i] = bullet + s + "."
	}
	return out
}

// warnings are those of the records, each with what it is about. Lateness is
// the machine's and touches many records at once: it is said once for all.
func warnings(records []results.Tune) []string {
	var out []string
	late, most := 0, 0.0
	for _, r := range records {
		for _, w := range r.Warnings {
			if strings.HasPrefix(w, lateWords) {
				late, most = late+1, max(most, lateShare(r.Samples))
				continue
			}
			name := strings.TrimSpace(r.Cell.Framing + " " + r.Cell.Sender)
			out = append(out, fmt.Sprintf("warning: %s, pipe of %s, reader at %s: %s", name, capacityCell(r), readerCell(r.Cell.Drain), w))
		}
	}
	if late > 0 {
		out = append(out, fmt.Sprintf("warning: in %d of %d cells the generator offered over %s of the small messages late, up to %s: the machine did other work, and p99 may be that",
			late, len(records), percent(lateWarning), percent(most)))
	}
	return out
}

// writeJSON writes the answer and the records that it rests on.
func writeJSON(w io.Writer, a Answer, set *results.Set) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Objective Objective      `json:"objective"`
		Best      int            `json:"best,omitempty"` // bytes of a whole frame; absent where noise hides it
		Margin    float64        `json:"margin"`
		Alike     []int          `json:"alike,omitempty"`
		Flat      bool           `json:"flat"`
		Sentences []string       `json:"sentences"`
		Tunes     []results.Tune `json:"tunes"`
	}{a.Objective, a.shown(), a.Margin, a.Alike, a.Flat, a.Sentences, set.Tunes})
}

func (a Answer) shown() int {
	if a.Hidden() {
		return 0
	}
	return a.Best
}

// machineName says on what the set was measured.
func machineName(set *results.Set) string {
	for _, e := range set.Environments {
		if slices.ContainsFunc(set.Tunes, func(t results.Tune) bool { return t.Run == e.Run }) {
			return e.Hostname + " (" + strings.Join(particulars(e), ", ") + ")"
		}
	}
	return "this machine"
}

// particulars are what of a machine the file tells.
func particulars(e results.Environment) []string {
	all := []string{e.CPU, fmt.Sprintf("%d CPUs", e.CPUs), strings.TrimSpace(e.OS + " " + e.Kernel)}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" || s == "0 CPUs" })
}

// Measurements are the set's tune records as measurements, which in their
// cells and samples they are.
func Measurements(set *results.Set) *results.Set {
	out := &results.Set{Environments: set.Environments}
	for _, t := range set.Tunes {
		if len(t.Samples) > 0 {
			out.Add(results.Record{Run: t.Run, Time: t.Time, Cell: t.Cell, Samples: t.Samples, Warnings: t.Warnings, Stopped: "samples"})
		}
	}
	return out
}
