package results

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTableFormats(t *testing.T) {
	table := Table{Title: "Things", Columns: Columns("name", ">count", "+how")}
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
		{FormatJSON, `[
  {
    "count": "1",
    "how": "by hand",
    "name": "a|b"
  },
  {
    "count": "1000",
    "how": "by, machine",
    "name": "much longer"
  }
]
`},
	} {
		var out bytes.Buffer
		if err := table.Write(&out, tt.format); err != nil {
			t.Fatal(err)
		}
		if out.String() != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.format, out.String(), tt.want)
		}
	}
	if err := table.Write(&bytes.Buffer{}, FormatBench); err == nil {
		t.Error("a table of words was written as benchmark text")
	}
}

func TestTableOfNothing(t *testing.T) {
	var out bytes.Buffer
	if err := (Table{Columns: Columns("name")}).Write(&out, FormatJSON); err != nil || out.String() != "[]\n" {
		t.Errorf("got %q, %v; want an empty list", out.String(), err)
	}
}

func TestLongWordsStayWhole(t *testing.T) {
	long := strings.Repeat("x", 60)
	got := wrap("a "+long+" b c", 10)
	if strings.Join(got, "|") != "a|"+long+"|b c" {
		t.Errorf("got %q", got)
	}
}

// A comparison of pairs fits a terminal of 120 columns, however long its cases are
// called.
func TestAComparisonFitsATerminal(t *testing.T) {
	cell := testCell("content-length", 1<<20)
	cell.Pattern, cell.Placement = "roundtrip", "sibling"
	other := cell
	other.Transfer = "vmsplice"
	var before, after []*Set
	for i := range 12 {
		a, b := &Set{}, &Set{}
		for _, c := range []Cell{cell, other} {
			a.Add(testRecord(c, 1<<20+26, 123456.7, 234567.8, 123999))
			b.Add(testRecord(c, 1<<20+26, 987654.3-float64(i), 87654.3, 300000))
		}
		before, after = append(before, a), append(after, b)
	}
	c, err := ComparePairs(before, after, CompareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := c.Write(&text, FormatTable, ViewOptions{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
