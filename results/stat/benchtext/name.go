// Package benchtext names cells and their figures in Go benchmark text.
package benchtext

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pipebench/pipebench/results"
)

// firstFields are the fields that every name contains, in this order.
var firstFields = []string{"framing", "size", "io", "placement"}

// defaults are the values that a benchmark's name leaves out. They must never change, because the
// names would change with them.
var defaults = map[string]string{
	"pipe":     "anonymous",
	"capacity": "0",
	"payload":  "json",
}

// CellName returns the name of the benchmark of a cell, without "Benchmark":
// "Stream/framing=ndjson/size=65536/io=blocking/placement=same". Then come other fields that differ
// from their defaults, sorted by name.
func CellName(c results.Cell) string {
	name := "Cell"
	if c.Pattern != "" {
		name = strings.ToUpper(c.Pattern[:1]) + c.Pattern[1:]
	}
	for _, field := range firstFields {
		name += "/" + field + "=" + onePart(c.Field(field))
	}
	for _, f := range c.Values() {
		if f.Name == "pattern" || slices.Contains(firstFields, f.Name) {
			continue
		}
		if defaults[f.Name] != f.Text {
			name += "/" + f.Name + "=" + onePart(f.Text)
		}
	}
	return name
}

// WithSide adds "/side=" and the name of one side of a comparison to a benchmark's name. A "-8"
// (GOMAXPROCS) at the end of the name stays there.
func WithSide(name, side string) string {
	base := trailingNumber.ReplaceAllString(name, "")
	return base + "/side=" + side + strings.TrimPrefix(name, base)
}

var trailingNumber = regexp.MustCompile(`-([0-9]+)$`)

// onePart changes a value so that it stays one part of a name. A "-8" at the end of the name would
// be taken for GOMAXPROCS.
func onePart(value string) string {
	var out strings.Builder
	for _, r := range value {
		switch {
		case r == '/':
			out.WriteRune('+')
		case unicode.IsSpace(r), unicode.IsControl(r):
			out.WriteRune('_')
		default:
			out.WriteRune(r)
		}
	}
	return trailingNumber.ReplaceAllString(out.String(), "_$1")
}
