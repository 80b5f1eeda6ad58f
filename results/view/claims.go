package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// sources are the titles of the documents that claims are from, by what the file calls them.
var sources = map[string]string{
	"000": "Message chunking for stdio",
	"001": "A limit of 16 MiB for a frame",
	"002": "MCP over stdio",
	"003": "Content-Length framing",
	"004": "A plan for an MCP server",
}

// SourceTitle returns the title of the document that a claim is from.
func SourceTitle(seed string) string { return cmp.Or(sources[seed], seed) }

// verdictsOfClaims are the verdicts in the order that they are counted in.
var verdictsOfClaims = []string{"holds", "refuted", "depends", "not-testable-here"}

// WriteClaims writes verdicts on claims, in the order of the set. For people that is a screen: how
// many there are of each verdict, what is refuted and why, and the verdicts of each document;
// Options.Detail, markdown and CSV have a row for each claim.
func WriteClaims(w io.Writer, format Format, set *results.Set, o Options) error {
	switch {
	case len(set.Claims) == 0:
		return ErrNothing
	case format == FormatJSON:
		return Write(w, set, format, o)
	case format == FormatTable && !o.Detail:
		return claimsScreen(set.Claims, o).write(w, format, o.width())
	}
	return verdictTable(set.Claims, format).Write(w, format)
}

// verdictTable has a row for each verdict. At a terminal the figure and the reason share a column,
// and the number of the document is that of the ID.
func verdictTable(all []results.Claim, format Format) Table {
	columns := []columnOf[results.Claim]{
		{"`id", func(c results.Claim) Cell { return textCell(c.ID) }},
		{"seed", func(c results.Claim) Cell { return textCell(c.Seed) }},
		{"~claim", func(c results.Claim) Cell { return textCell(c.Claim) }},
		{"!verdict", func(c results.Claim) Cell { return verdictCell(c.Verdict) }},
		{"~figure", func(c results.Claim) Cell { return textCell(c.Figure) }},
		{"~why", func(c results.Claim) Cell { return textCell(c.Why) }},
	}
	if format == FormatTable {
		found := columnOf[results.Claim]{"~what was found", func(c results.Claim) Cell { return textCell(foundText(c)) }}
		columns = []columnOf[results.Claim]{columns[0], columns[3], columns[2], found}
	}
	t := tableOf("Common claims about stdio, and whether they hold here", all, columns...)
	if format == FormatTable {
		t.Columns[2].Width, t.Columns[3].Width = 32, 36 // a terminal's 120 columns with the longest ID
	}
	return t
}

// foundText returns the figure that decided, and the reason.
func foundText(c results.Claim) string {
	if c.Figure == "" {
		return c.Why
	}
	return c.Figure + ": " + c.Why
}

// claimsScreen shows verdicts so that they fit a screen, refuted claims with as many reasons as have
// room.
func claimsScreen(all []results.Claim, o Options) Page {
	p := Page{Blocks: []string{claimTotals(all)}, Tables: []Table{sourceTable(all)}}
	refuted := judged(all, "refuted")
	if len(refuted) > 0 {
		p.Blocks = append(p.Blocks, "", o.paint("Refuted", red))
	}
	const around = 9 // lines: totals, a heading, the head of the table, the note, and blanks between
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
	var parts []string
	for _, v := range verdictsOfClaims {
		n, text := len(judged(all, v)), VerdictText(v)
		if n > 1 && v == "holds" {
			text = "hold"
		}
		parts = append(parts, when(n > 0, fmt.Sprint(n, " ", text)))
	}
	return results.FormatCount(len(all), "claim") + ": " + strings.Join(nonEmpty(parts), ", ")
}

// sourceTable counts the verdicts of each document.
func sourceTable(all []results.Claim) Table {
	type claims = []results.Claim
	columns := []columnOf[claims]{{"source", func(of claims) Cell { return textCell(of[0].Seed + "  " + SourceTitle(of[0].Seed)) }}}
	for _, v := range verdictsOfClaims {
		columns = append(columns, columnOf[claims]{">" + VerdictText(v), func(of claims) Cell {
			n := len(judged(of, v))
			return textCell(when(n > 0, fmt.Sprint(n)))
		}})
	}
	bySeed := stat.GroupBy(all, func(c results.Claim) string { return c.Seed })
	slices.SortFunc(bySeed, func(a, b claims) int { return strings.Compare(a[0].Seed, b[0].Seed) })
	return tableOf("", bySeed, columns...)
}

// judged returns the claims of a verdict.
func judged(all []results.Claim, verdict string) []results.Claim {
	return stat.Filter(all, func(c results.Claim) bool { return c.Verdict == verdict })
}
