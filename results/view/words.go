package view

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
)

// Escape replaces characters that could control a terminal or make a page invalid. All text from
// other programs must go through it.
func Escape(s string) string {
	if !strings.ContainsFunc(s, needsEscape) && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1: // a byte that is not UTF-8
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case needsEscape(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		case needsEscape(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

func needsEscape(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029' || r == 0xfffe || r == 0xffff
}

// VerdictText puts a verdict of the results file into words.
func VerdictText(verdict string) string {
	switch verdict {
	case results.VerdictDeaf:
		return "no reply, process alive"
	case "exit 0":
		return "exited silently (code 0)"
	case results.VerdictInFrames:
		return "answers in frames, not in MCP's lines"
	case string(results.Expected):
		return "expected failure"
	case string(results.Depends):
		return "conditional"
	case string(results.CannotTell):
		return "cannot tell"
	}
	if code, ok := strings.CutPrefix(verdict, "exit "); ok {
		return "exited (code " + code + ")"
	}
	return verdict
}

// EndText puts into words how a program ended, such as "exit 0". wroteErrors says whether the
// program wrote to standard error.
func EndText(verdict string, wroteErrors bool) string {
	if verdict == "exit 0" && wroteErrors {
		return "exited (code 0)"
	}
	return VerdictText(verdict)
}

// toneOf returns what a verdict means for a person. A verdict that is not listed counts as a
// failure.
func toneOf(verdict string) Tone {
	switch verdict {
	case "ok", "holds":
		return Good
	case "slow", "expected", "depends", results.VerdictErrorReply, results.VerdictSuperlinear:
		return Mixed
	case "", "noted", "cannot-tell", "unsupported", results.VerdictNotTried:
		return Neutral
	}
	return Bad
}

// fieldWords has the words for fields of [results.Cell]. The keys are names of fields.
var fieldWords = map[string]struct {
	title         string // of a column; "": the name
	absent        string // the value if it is not set; "": "default"
	before, after string // what makes a phrase of a value
}{
	"batch":        {absent: "one"},
	"capacity":     {after: " capacity"},
	"closes_after": {absent: "stays", before: "reader "},
	"drain":        {absent: "full speed", before: "reader at "},
	"inflight":     {absent: "one"},
	"payload":      {after: " payload"},
	"rate":         {absent: "full"},
	"size":         {absent: "recorded", after: " messages"},
	"source":       {title: "memory", absent: "reused", after: " memory"},
	"touch":        {title: "used", absent: "no"}, // whether the reader looks at the bytes
	"transfer":     {absent: "copy"},
	"work":         {absent: "none"},
	"write_size":   {absent: "whole"},
}

func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// FieldValue returns the value of a cell's field in words.
func FieldValue(name, value string) string {
	if value == "" || value == "0" {
		return cmp.Or(fieldWords[name].absent, "default")
	}
	switch {
	case name == "touch" && value == "true":
		return "yes"
	case name == "work":
		return value + " ns/B"
	case name == "closes_after":
		n, _ := strconv.Atoi(value)
		return "leaves after " + results.FormatCount(n, "message")
	case name == "framing":
		return results.FramingPhrase(value)
	}
	return results.ShortValue(name, value)
}

func fieldText(c results.Cell, name string) string { return FieldValue(name, c.Field(name)) }

// FieldPhrase puts a setting of a measurement into the words of titles and sentences, such as
// "reader at 20 MB/s".
func FieldPhrase(name, value string) string {
	text := FieldValue(name, value)
	words := fieldWords[name]
	switch {
	case name == "placement":
		return results.PlacementPhrase(value)
	case name == "touch":
		return "bytes looked at"
	case name == "pipe" && (value == "anonymous" || value == "named"):
		return text + " pipe"
	case name == "pipe":
		return text // "fifo" and the rest say what they are
	case words.before+words.after != "":
		return words.before + text + words.after
	}
	return spaced(name) + " " + text
}

// CommonFields returns phrases for the settings that all cells share. It leaves out settings
// without a value, and those named in elsewhere.
func CommonFields(cells []results.Cell, elsewhere ...string) []string {
	elsewhere = append(elsewhere, results.DifferingFields(cells)...)
	first := []string{"pipe", "capacity", "io", "payload", "size", "placement"}
	names := append(first, results.CellFieldNames()...)
	var parts []string
	for i, name := range names {
		value := cells[0].Field(name)
		told := slices.Contains(elsewhere, name) || slices.Contains(names[:i], name)
		// of all defaults, only that of the capacity gets a phrase
		isSet := value != "" && (value != "0" || name == "capacity")
		if isSet && !told {
			parts = append(parts, FieldPhrase(name, value))
		}
	}
	return parts
}

// JoinParts joins the parts that are not empty, with " · " between them.
func JoinParts(parts ...string) string { return strings.Join(nonEmpty(parts), " · ") }

func nonEmpty(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
}

// joinAnd lists names: "a, b and c".
func joinAnd(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// Truncate cuts a text after limit characters, and appends "…" if the text was longer.
func Truncate(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:max(0, limit)]) + "…"
	}
	return text
}

// maxNameLength is the largest number of characters of a command that fits a legend or an axis.
const maxNameLength = 60

// CommandName writes a command as a title, without the folders in the path of the program.
func CommandName(command []string) string {
	if len(command) == 0 {
		return "?"
	}
	words := append([]string{filepath.Base(command[0])}, command[1:]...)
	return Truncate(strings.Join(words, " "), maxNameLength)
}
