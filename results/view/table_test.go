package view

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results/stat"
)

func TestTableFormats(t *testing.T) {
	table := Table{Title: "Things", Columns: []Column{
		{Title: "name", Key: true},
		{Title: "count", Right: true, Key: true},
		{Title: "how", Detail: true},
	}}
	table.Append("a|b", "1", "by hand")
	table.Append("much longer", "1000", "by, machine")
	for _, tt := range []struct {
		format Format
		want   string
	}{
		{FormatTable, `Things
 name         count
────────────────────
 a|b              1
 much longer   1000
`},
		{FormatMarkdown, `**Things**

| name        | count |
|:------------|------:|
| a\|b        |     1 |
| much longer |  1000 |
`},
		{FormatCSV, "name,count,how\na|b,1,by hand\nmuch longer,1000,\"by, machine\"\n"},
	} {
		var out bytes.Buffer
		if err := table.Write(&out, tt.format, Options{}); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.format, out.String(), tt.want)
		}
	}
	if err := table.Write(&bytes.Buffer{}, FormatBench, Options{}); err == nil {
		t.Error("a table of words was written as benchmark text")
	}
}

func TestLongWordsStayWhole(t *testing.T) {
	long := strings.Repeat("x", 60)
	got := wrap("a "+long+" b c", 10)
	if strings.Join(got, "|") != "a|"+long+"|b c" {
		t.Errorf("got %q", got)
	}
}

// On a narrow screen columns that can be spared go first, then words take more lines, and then they
// are broken. Where even that does not help, keys stay.
func TestTablesFitTheScreen(t *testing.T) {
	table := Table{Columns: []Column{
		{Title: "name", Key: true},
		{Title: "figure", Right: true, Key: true},
		{Title: "spare", Right: true},
		{Title: "rest", Right: true},
		{Title: "what", Key: true},
	}}
	table.Append("server", "1.23 ms", "0123456789", "0123456789", "a sentence of some words that may go on in the next line")
	for _, row := range []struct {
		width   int
		columns string
	}{
		{100, "name figure spare rest what"},
		{80, "name figure spare what"},
		{60, "name figure what"},
		{45, "name figure what"},
		{10, "name figure what"},
	} {
		var text strings.Builder
		if err := table.Write(&text, FormatTable, Options{Width: row.width}); err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(text.String(), "\n")
		if got := strings.Join(strings.Fields(head), " "); got != row.columns {
			t.Errorf("%d columns hold %s, want %s", row.width, got, row.columns)
		}
		for line := range strings.Lines(rest) {
			if n := utf8.RuneCountInString(line) - 1; n > row.width && row.width > 40 {
				t.Errorf("%d columns: %d in %q", row.width, n, line)
			}
		}
	}
	long := Table{Columns: []Column{{Title: "name", Key: true}}}
	long.Append(strings.Repeat("x", 200))
	if got, _ := long.fit(80, false); len(got) != 1 || len(got[0].Columns) != 1 {
		t.Errorf("%v", got)
	}
	var text strings.Builder
	if err := table.Write(&text, FormatTable, Options{Width: 50, Detail: true}); err != nil {
		t.Fatal(err)
	}
	for _, figure := range []string{"spare", "rest"} {
		if strings.Count(text.String(), figure) != 1 || strings.Count(text.String(), "name") < 2 {
			t.Errorf("with all details %q is not in one of the tables\n%s", figure, text.String())
		}
	}
}

func TestUnitsStayWithTheirNumbers(t *testing.T) {
	const text = "83 % (±39 %), 16 KiB in 1.37 ms, 447 µs or 3 s, 66,536 B at 1.5 GB/s"
	units := []string{"%", "KiB", "ms", "µs", "s", "B", "GB"}
	for width := 8; width < len(text); width++ {
		for _, line := range wrap(text, width) {
			first := strings.Trim(strings.Fields(line)[0], "),/s")
			if slices.Contains(units, first) || strings.HasPrefix(line, "s,") {
				t.Errorf("in %d columns, a line begins with the unit of %q", width, line)
			}
		}
	}
	if got := wrap("4 samples 4 maps", 5); len(got) != 4 {
		t.Errorf("words that begin like units stay with their numbers: %q", got)
	}
}

// A figure of few samples and one that is too uncertain are marked alike.
func TestRoughFiguresAreMarkedAlike(t *testing.T) {
	for _, tt := range []struct {
		interval *stat.Interval
		want     string
	}{
		{nil, "~10.00"},
		{&stat.Interval{Lo: 4, Hi: 14}, "~10.00"},
		{&stat.Interval{Lo: 8, Hi: 12}, "10.00 ±20%"},
	} {
		e := stat.Estimate{Median: 10, Interval: tt.interval, N: 6}
		if got := RatioText(&e); got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.interval, got, tt.want)
		}
	}
}

// Only a dash that stands for an empty value is left out on a page.
func TestPageKeepsMinusSigns(t *testing.T) {
	table := Table{Columns: []Column{{Title: "case"}, {Title: "change", Right: true}}}
	table.Append("time", "-3.2")
	table.Append("limit", "")
	rows := table.ForPage().Rows
	if got := rows[0][1].Text; got != "-3.2" {
		t.Errorf("a change of -3.2 is shown as %q", got)
	}
	if got := rows[1][1].Text; got != "" {
		t.Errorf("an empty value is shown as %q", got)
	}
}
