package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// SourceTitle returns the title of the document that a claim is from.
func SourceTitle(seed string) string { return cmp.Or(words().Sources[seed], seed) }

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
