package view

import (
	"strings"

	"github.com/pipebench/pipebench/results"
)

// What follows is for tables that are not written as loops with literals yet.

// A Cell is a [Value].
type Cell = Value

func textCell(s string) Value                  { return textValue(s) }
func figureCell(v float64, shown string) Value { return figureValue(v, shown) }
func verdictCell(verdict string) Value         { return verdictValue(verdict) }
func (t *Table) AppendCells(row ...Value)      { t.AppendValues(row...) }

// Columns makes columns of titles, each with a sign before it for each thing that is special: ">"
// aligns it to the right, "+" makes it a detail, "@" shows it on pages alone, "#" in CSV and JSON
// alone, "?" spares it where the screen has no room. "`", "~", "!" and "_" are styles. What follows
// "|" is the title for programs. A title made of data is a [Column] of its own.
func Columns(titles ...string) []Column {
	var out []Column
	for _, t := range titles {
		var c Column
		c.Title = strings.TrimLeft(t, ">+@#?`~!_")
		signs := strings.TrimSuffix(t, c.Title)
		c.Title, c.Data, _ = strings.Cut(c.Title, "|")
		c.Right = strings.Contains(signs, ">")
		c.Detail = strings.Contains(signs, "+")
		c.Key = !strings.Contains(signs, "?")
		switch {
		case strings.Contains(signs, "@"):
			c.Only = PageOnly
		case strings.Contains(signs, "#"):
			c.Only = DataOnly
		}
		for sign, style := range map[string]Style{"`": Code, "~": Long, "!": Verdict, "_": Warning} {
			if strings.Contains(signs, sign) {
				c.Style = style
			}
		}
		out = append(out, c)
	}
	return out
}

// when returns what is shown if that is known or applies, else the zero value.
func when[T any](is bool, shown T) (none T) {
	if is {
		return shown
	}
	return none
}

func machineCell(s *results.Set, id string) Value { return machineValue(s, id) }
