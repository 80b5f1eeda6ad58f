package rules

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// fillSteps begin the four steps that fill a pipe with writes of one size; the
// size follows.
var fillSteps = []string{"capacity/fill/", "short-write/", "one-byte-after/", "poll/after/"}

// A filling is what was found of writes of one size, a probe for each of
// fillSteps, nil where there is none.
type filling struct {
	size   int
	probes []*results.Probe
}

// splitFills takes the fillings out of the probes of one kind of pipe.
func splitFills(probes []results.Probe) (rest []results.Probe, fills []filling) {
	for _, p := range probes {
		step, size, ok := cutFill(p.Step)
		if !ok {
			rest = append(rest, p)
			continue
		}
		at := slices.IndexFunc(fills, func(f filling) bool { return f.size == size })
		if at < 0 {
			at = len(fills)
			fills = append(fills, filling{size, make([]*results.Probe, len(fillSteps))})
		}
		fills[at].probes[step] = &p
	}
	slices.SortFunc(fills, func(a, b filling) int { return cmp.Compare(a.size, b.size) })
	return rest, fills
}

func cutFill(step string) (which, size int, ok bool) {
	for i, prefix := range fillSteps {
		if text, found := strings.CutPrefix(step, prefix); found {
			size, err := strconv.Atoi(text)
			return i, size, err == nil
		}
	}
	return 0, 0, false
}

// fillTable has a row for each size of writes.
func fillTable(kind string, fills []filling, notes *sources) view.Table {
	t := view.Table{
		Title:   title(kind) + " when writes of one size, without blocking, fill it until one is refused",
		Columns: view.Columns(">each write", ">accepted", ">last write in part", ">1 B more fits", ">poll says writable", "documented rule"),
	}
	for _, f := range fills {
		row := []string{valueText(f.size, "B")}
		for _, p := range f.probes {
			row = append(row, foundText(p))
		}
		t.Append(append(row, f.rule(notes))...)
	}
	return t
}

func foundText(p *results.Probe) string {
	if p == nil {
		return "-"
	}
	return valueText(p.Value, p.Unit)
}

// rule joins how the four stand to their rules, each verdict once.
func (f filling) rule(notes *sources) string {
	var verdicts []string
	for i, p := range f.probes {
		if p == nil {
			continue
		}
		verdict := notes.rule(*p)
		if Verdict(*p) == differs {
			verdict = strings.TrimSuffix(fillSteps[i], "/") + " " + verdict
		}
		if !slices.Contains(verdicts, verdict) {
			verdicts = append(verdicts, verdict)
		}
	}
	return strings.Join(verdicts, ", ")
}
