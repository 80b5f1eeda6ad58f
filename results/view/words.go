package view

import (
	"cmp"
	"fmt"
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

// verdicts are the values of the file that are shown in other words.
var verdicts = map[string]string{
	"deaf":                 "no reply, process alive",
	"exit 0":               "exited silently (code 0)",
	"depends":              "conditional",
	"not-testable-here":    "not testable here",
	"cannot-tell":          "cannot tell",
	"unpaired, indicative": "not paired: no verdict",
}

// VerdictText returns a verdict of the file in words.
func VerdictText(verdict string) string {
	if code, ok := strings.CutPrefix(verdict, "exit "); ok && code != "0" {
		return "exited (code " + code + ")"
	}
	return cmp.Or(verdicts[verdict], verdict)
}

// CheckText returns what was found of a check, with the verdicts of the file in words. A program that
// did well and ended with code 0 is not said to have left silently.
func CheckText(c results.Check) string {
	if c.Verdict == results.CheckOK {
		return strings.ReplaceAll(c.Found, "exit 0", "code 0")
	}
	return strings.NewReplacer("deaf", verdicts["deaf"], "exit 0", verdicts["exit 0"]).Replace(c.Found)
}

// verdictClasses are what verdicts mean for a person, "" for nothing; all others are bad. The words of
// claims, faults, servers and probes differ, their meanings do not.
var verdictClasses = map[string]string{
	"holds": "good", "ok": "good", "sound": "good", "exit 0": "good", "yes": "good", recommendedMark: "good",
	"conditional": "mixed", "slow": "mixed", "grows": "mixed", "noticed": "mixed", "refused": "mixed",
	"error reply": "mixed", "grows faster than linear": "mixed",
	"not testable here": "", "cannot tell": "", "unsupported": "", "*": "", "": "",
}

// absentFields are the words for fields of a cell that are not set.
var absentFields = map[string]string{"drain": "full speed", "rate": "full", "transfer": "copy", "size": "recorded", "leave": "stays"}

// FieldValue returns the value of a cell's field in words.
func FieldValue(name, value string) string {
	if value == "" || value == "0" {
		return cmp.Or(absentFields[name], "default")
	}
	n, err := strconv.ParseFloat(value, 64)
	spec, chunk, _ := strings.Cut(value, ":")
	size, chunkErr := strconv.ParseInt(chunk, 10, 64)
	switch {
	case name == "drain" && err == nil:
		return strings.NewReplacer(".00 ", " ", ".0 ", " ").Replace(results.FormatGoodput(n)) // as it was asked for
	case name == "leave":
		return "leaves after " + results.FormatCount(int(n), "message")
	case name == "framing" && chunkErr == nil:
		return spec + ":" + strings.ReplaceAll(results.FormatSize(size), " ", "")
	}
	return results.ShortValue(name, value)
}

// fieldText returns a field of a cell in words.
func fieldText(c results.Cell, name string) string { return FieldValue(name, c.Field(name)) }

// fieldPhrases are those of fields that do not stand behind their name.
var fieldPhrases = map[string]string{
	"pipe": "%s pipe", "payload": "%s payload", "capacity": "%s capacity", "size": "%s messages",
	"drain": "reader at %s", "leave": "reader %s",
}

// FieldPhrase returns a field of a cell as titles and sentences have it.
func FieldPhrase(name, value string) string {
	text := FieldValue(name, value)
	switch {
	case name == "placement":
		return PlacementPhrase(value)
	case name == "peer":
		return map[string]string{"process": "two processes", "thread": "two threads"}[value]
	case name == "pipe" && value != "anonymous" && value != "named": // "fifo" and the rest say what they are
		return text
	}
	return fmt.Sprintf(cmp.Or(fieldPhrases[name], name+" %s"), text)
}

// placements say where the two ends run, in a sentence and in a title.
var placements = map[string][2]string{
	"same":    {"on the same CPU", "same CPU"},
	"sibling": {"on two hardware threads of one core", "two threads of a core"},
	"apart":   {"on two cores with a shared LLC", "two cores, shared LLC"},
	"far":     {"on two cores without a shared LLC", "two cores, no shared LLC"},
	"free":    {"unpinned", "unpinned"},
}

// PlacementPhrase says where the two ends run.
func PlacementPhrase(placement string) string {
	return cmp.Or(placements[placement][0], "with placement "+placement)
}

func shortPlacement(placement string) string { return cmp.Or(placements[placement][1], placement) }

// JoinParts joins the parts that are not empty.
func JoinParts(parts ...string) string { return strings.Join(nonEmpty(parts), " · ") }

func nonEmpty(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
}

// Truncate cuts a text that is longer than most characters.
func Truncate(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

func orDash(s string) string { return cmp.Or(s, "-") }
