package view

import (
	"bytes"
	"strings"
	"testing"
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
