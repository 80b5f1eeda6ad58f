package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// SourceTitle returns the title of the document that a claim is from.
func SourceTitle(seed string) string { return cmp.Or(words().Sources[seed], seed) }

// verdictsOfClaims are the verdicts in the order that they are counted in.
var verdictsOfClaims = []string{"holds", "refuted", "depends", "not-testable-here"}

// WriteClaims writes verdicts on claims, in the order of the set. For people that is a screen: how
// many there are of each verdict, what is refuted and why, and the verdicts of each document;
// Options.Detail, markdown and CSV have a row for each claim. At a terminal the figure and the reason
// share a column.
func WriteClaims(w io.Writer, format Format, set *results.Set, o Options) error {
	switch {
	case len(set.Claims) == 0:
		return ErrNothing
	case format == FormatJSON:
		return Write(w, set, format, o)
	case format == FormatTable && !o.Detail:
		return claimsScreen(set.Claims, o).Write(w, format, o)
	}
	columns := []columnOf[results.Claim]{
		{"`id", func(c results.Claim) Cell { return textCell(c.ID) }},
		{"seed", func(c results.Claim) Cell { return textCell(c.Seed) }},
		{"~claim", func(c results.Claim) Cell { return textCell(c.Claim) }},
		{"!verdict", func(c results.Claim) Cell { return verdictCell(c.Verdict) }},
		{"~figure", func(c results.Claim) Cell { return textCell(c.Figure) }},
		{"~why", func(c results.Claim) Cell { return textCell(c.Why) }},
	}
	if format == FormatTable { // the number of the document is that of the ID
		found := columnOf[results.Claim]{"~what was found", func(c results.Claim) Cell { return textCell(foundText(c)) }}
		columns = []columnOf[results.Claim]{columns[0], columns[3], columns[2], found}
	}
	return tableOf("Common claims about stdio, and whether they hold here", set.Claims, columns...).Write(w, format, o)
}

// claimTable has a row for each claim, and for each machine a column with its verdict. A claim that
// a machine judged more than once has a row each time.
func claimTable(s *results.Set) Table {
	type claims = onMachines[results.Claim]
	sorted := slices.SortedStableFunc(slices.Values(s.Claims), func(a, b results.Claim) int {
		return cmp.Or(strings.Compare(a.Seed, b.Seed), strings.Compare(a.ID, b.ID))
	})
	machines := stat.Distinct(sorted, func(c results.Claim) string { return s.Machine(c.Run) })
	// said is what the machines say, each with its name unless all say the same.
	said := func(of func(results.Claim) string) func(claims) Cell {
		return func(judged claims) Cell {
			texts := judged.texts(machines, of)
			if len(texts) > 1 {
				texts = judged.texts(machines, func(c results.Claim) string { return MachineTitle(s, s.Machine(c.Run)) + ": " + of(c) })
			}
			return textCell(JoinParts(texts...))
		}
	}
	rows := byMachine(s, sorted, func(c results.Claim) string { return c.Seed + " " + cmp.Or(c.ID, c.Claim) })
	return tableOf("Common claims about stdio, and whether they hold here", rows, slices.Concat([]columnOf[claims]{
		{"source|seed", func(judged claims) Cell { return Cell{Text: SourceTitle(judged.first.Seed), Base: judged.first.Seed} }},
		{"@`id", func(judged claims) Cell { return textCell(judged.first.ID) }},
		{"~claim", func(judged claims) Cell { return textCell(judged.first.Claim) }},
	}, foundOn(machines, func(id string) string { return "!" + cmp.Or(MachineTitle(s, id), "verdict") },
		func(c results.Claim) Cell { return verdictCell(c.Verdict) },
	), []columnOf[claims]{
		{"~figure", said(func(c results.Claim) string { return c.Figure })},
		{"~why", said(func(c results.Claim) string { return c.Why })},
	})...)
}

// foundText returns the figure that decided, and the reason.
func foundText(c results.Claim) string { return when(c.Figure != "", c.Figure+": ") + c.Why }

// claimsScreen shows verdicts so that they fit a screen, refuted claims with as many reasons as have
// room.
func claimsScreen(all []results.Claim, o Options) Page {
	type claims = []results.Claim // of a document, of which the table counts the verdicts
	source := func(of claims) Cell { return textCell(of[0].Seed + "  " + SourceTitle(of[0].Seed)) }
	heads := []columnOf[claims]{{"source", source}}
	for _, v := range verdictsOfClaims {
		heads = append(heads, columnOf[claims]{">" + VerdictText(v), func(of claims) Cell {
			n := len(judged(of, v))
			return when(n > 0, textCell(fmt.Sprint(n)))
		}})
	}
	bySeed := stat.GroupBy(all, func(c results.Claim) string { return c.Seed })
	slices.SortFunc(bySeed, func(a, b claims) int { return strings.Compare(a[0].Seed, b[0].Seed) })
	p := Page{Blocks: []string{claimTotals(all)}, Tables: []Table{tableOf("", bySeed, heads...)}}
	refuted := judged(all, "refuted")
	if len(refuted) > 0 {
		p.Blocks = append(p.Blocks, "", o.paint("Refuted", red))
	}
	const around = 9 // lines: totals, a heading, the head of the table, the note, and blanks between
	const screenLines = 39
	room := screenLines - around - len(p.Tables[0].Rows)
	shown := refuted[:min(len(refuted), room)]
	for i, c := range shown {
		p.Blocks = append(p.Blocks, " "+Escape(Truncate(c.ID+": "+c.Claim, o.width()-2)))
		if reasons := room - len(shown); i < reasons {
			p.Blocks = append(p.Blocks, "   "+Escape(Truncate(foundText(c), o.width()-4)))
		}
	}
	p.Notes = []string{"every claim and its figures with --detail; one of them with --explain ID"}
	return p
}

// claimTotals counts claims by verdict: "88 claims: 41 hold, 12 refuted".
func claimTotals(all []results.Claim) string {
	parts := stat.Map(verdictsOfClaims, func(v string) string {
		n, text := len(judged(all, v)), VerdictText(v)
		if n > 1 && v == "holds" {
			text = "hold"
		}
		return when(n > 0, fmt.Sprint(n, " ", text))
	})
	return results.FormatCount(len(all), "claim") + ": " + strings.Join(nonEmpty(parts), ", ")
}

// judged returns the claims of a verdict.
func judged(all []results.Claim, verdict string) []results.Claim {
	return stat.Filter(all, func(c results.Claim) bool { return c.Verdict == verdict })
}

func faultTable(s *results.Set) Table {
	return tableOf("How stdio fails", stdioFaults(s), []columnOf[results.Fault]{
		{"`fault", func(f results.Fault) Cell { return textCell(f.ID) }},
		{"machine", func(f results.Fault) Cell { return machineCell(s, s.Machine(f.Run)) }},
		{"!verdict", func(f results.Fault) Cell { return verdictCell(f.Verdict) }},
		{"~evidence", func(f results.Fault) Cell { return textCell(EvidenceText(f.Evidence)) }},
		{"~advice", func(f results.Fault) Cell { return textCell(f.Advice) }},
		{"@`again", func(f results.Fault) Cell { return textCell(reproduceCommand(s, f)) }},
	}...)
}

func environmentTable(s *results.Set) Table {
	return tableOf("What disturbs measurements on this machine", disturbances(s), []columnOf[results.Fault]{
		{"`what", func(f results.Fault) Cell { return textCell(strings.TrimPrefix(f.ID, results.EnvironmentFault)) }},
		{"machine", func(f results.Fault) Cell { return machineCell(s, s.Machine(f.Run)) }},
		{"~found", func(f results.Fault) Cell { return textCell(f.Verdict) }},
		{"+~evidence", func(f results.Fault) Cell { return textCell(EvidenceText(f.Evidence)) }},
		{"~remedy", func(f results.Fault) Cell { return textCell(f.Advice) }},
	}...)
}

// EvidenceText writes the evidence of a finding on one line, sorted by name:
// "accepted=65536, elapsed=1.50 s". It takes a [results.Evidence], or a struct
// with the names of the file. Times ("_ns") have their unit, estimates their
// interval; what is null, and curves, which charts show, are left out.
func EvidenceText(evidence any) string {
	e, err := results.NewEvidence(evidence)
	fields := map[string]json.RawMessage{}
	if err = cmp.Or(err, e.Decode(&fields)); err != nil {
		return fmt.Sprint(evidence)
	}
	var out []string
	for name, value := range fields {
		if name == "curve" || string(value) == "null" {
			continue
		}
		text := evidenceValue(value)
		base, isTime := strings.CutSuffix(name, "_ns")
		if ns, err := strconv.ParseFloat(string(value), 64); isTime && err == nil {
			name, text = base, results.FormatDuration(ns)
		}
		out = append(out, name+"="+text)
	}
	slices.Sort(out)
	return orDash(strings.Join(out, ", "))
}

// evidenceValue writes a fraction with three digits, a text without quotes, an
// estimate as such, and anything else as JSON. Whole numbers are exact: they may
// be counts of bytes.
func evidenceValue(value json.RawMessage) string {
	n, err := strconv.ParseFloat(string(value), 64)
	if err == nil && n != math.Trunc(n) {
		return results.FormatNumber(n, 3)
	}
	var e stat.Estimate
	if value[0] == '{' && json.Unmarshal(value, &e) == nil && e.N > 0 {
		text := results.FormatNumber(e.Median, 3)
		if e.Interval != nil {
			text += fmt.Sprintf(" [%s, %s]", results.FormatNumber(e.Interval.Lo, 3), results.FormatNumber(e.Interval.Hi, 3))
		}
		return fmt.Sprintf("%s (n = %d)", text, e.N)
	}
	text := string(value)
	json.Unmarshal(value, &text) // what is no text stays as it is
	return text
}
