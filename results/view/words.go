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

// Escape spells what could steer a terminal, or make a page or picture ill-formed, as Go would in a
// string: control characters but line ends and tabs, marks that turn the direction of text, and
// bytes that are no UTF-8. Names, errors and last words of other programs are shown through it.
func Escape(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1 || hidden(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case hidden(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteString(s[:n])
		}
		s = s[n:]
	}
	return out.String()
}

// hidden reports whether a character is escaped.
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) ||
		r == '\u2028' || r == '\u2029' || r == 0xfffe || r == 0xffff
}

// EndText is VerdictText for a program that wrote to its standard error, or did not.
func EndText(verdict string, wrote bool) string {
	if verdict == "exit 0" && wrote {
		return "exited (code 0)"
	}
	return VerdictText(verdict)
}

// VerdictText returns a verdict of the file in words.
func VerdictText(verdict string) string {
	if code, ok := strings.CutPrefix(verdict, "exit "); ok && code != "0" {
		return "exited (code " + code + ")"
	}
	return cmp.Or(words().Verdicts[verdict], verdict)
}

// toneOf returns what a verdict in words means for a person. One that is not listed is a way to
// fail.
func toneOf(text string) Tone {
	tone, known := words().VerdictClasses[strings.TrimPrefix(text, "-")]
	if !known {
		return Bad
	}
	return tone
}

// FieldValue returns the value of a cell's field in words.
func FieldValue(name, value string) string {
	if value == "" || value == "0" {
		return cmp.Or(words().Absent[name], "default")
	}
	n, err := strconv.ParseFloat(value, 64)
	spec, chunk, _ := strings.Cut(value, ":")
	size, chunkErr := strconv.ParseInt(chunk, 10, 64)
	switch {
	case name == "drain" && err == nil:
		return strings.NewReplacer(".00 ", " ", ".0 ", " ").Replace(results.FormatGoodput(n)) // as it was asked for
	case name == "closes_after":
		return "leaves after " + results.FormatCount(int(n), "message")
	case name == "framing" && chunkErr == nil:
		return spec + ":" + strings.ReplaceAll(results.FormatSize(size), " ", "")
	}
	return results.ShortValue(name, value)
}

// fieldText returns a field of a cell in words.
func fieldText(c results.Cell, name string) string { return FieldValue(name, c.Field(name)) }

// FieldPhrase returns a field of a cell as titles and sentences have it.
func FieldPhrase(name, value string) string {
	text := FieldValue(name, value)
	switch {
	case name == "placement":
		return PlacementPhrase(value)
	case name == "pipe" && value != "anonymous" && value != "named": // "fifo" and the rest say what they are
		return text
	}
	return fmt.Sprintf(cmp.Or(words().Phrases[name], name+" %s"), text)
}

// PlacementPhrase says where the two ends run.
func PlacementPhrase(placement string) string {
	return cmp.Or(words().Placements[placement], "with placement "+placement)
}

func shortPlacement(placement string) string {
	return cmp.Or(words().ShortPlacements[placement], placement)
}

// JoinParts joins the parts that are not empty.
func JoinParts(parts ...string) string { return strings.Join(nonEmpty(parts), " · ") }

func nonEmpty(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
}

// Truncate cuts a text that is longer than most characters.
func Truncate(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:max(0, most)]) + "…"
	}
	return text
}

func orDash(s string) string { return cmp.Or(s, "-") }

// MaxNameLength is the number of characters of a foreign name that fit a legend or an axis.
const MaxNameLength = 60

// CommandName writes a command as a title, without the folders of the program.
func CommandName(command []string) string {
	if len(command) == 0 {
		return "?"
	}
	return Truncate(strings.Join(append([]string{filepath.Base(command[0])}, command[1:]...), " "), MaxNameLength)
}
