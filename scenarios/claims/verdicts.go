package claims

import (
	_ "embed"
	"fmt"
	"strings"
	"sync"
)

// Verdicts that a claim can have.
const (
	Holds       = "holds"
	Refuted     = "refuted"
	Depends     = "depends"
	NotTestable = "not-testable-here"
	Noted       = "noted" // a constant, with its source: there is nothing to measure
)

// A Judgement is what a rule makes of evidence.
type Judgement struct {
	Verdict string
	Figure  string // the figure that decided, with its interval where it has one
	Why     string // one line

	// Unsure says that the verdict rests on figures whose intervals leave room for another one: it
	// may change from run to run with nothing to blame.
	Unsure bool
}

// A finding is what a rule makes of evidence: one of the outcomes that claims.txt has for the
// claim, and the figure that decided.
type finding struct {
	outcome
	figure string
	names  string // what stands in place of {} in the outcome's sentence
	unsure bool
	nobody string // why there is no evidence: then there is no outcome, and nothing is refuted
}

// An outcome names a sentence of a claim in claims.txt. "refuted: …" is the outcome {Refuted, ""}.
// If a claim can be refuted for several reasons, "refuted (late): …" is {Refuted, "late"}.
type outcome struct {
	verdict string
	reason  string
}

// holdsIf is the verdict of a claim that a test confirms or refutes.
func holdsIf(confirmed bool) outcome {
	if confirmed {
		return outcome{verdict: Holds}
	}
	return outcome{verdict: Refuted}
}

// judgement puts the finding about the claim of that ID in words.
func (f finding) judgement(id string) (Judgement, error) {
	if f.nobody != "" {
		return Judgement{Verdict: NotTestable, Figure: f.figure, Why: f.nobody}, nil
	}
	p := paragraphs()[id]
	why, ok := p.outcomes[f.outcome]
	if !ok {
		return Judgement{}, fmt.Errorf("no sentence of %s for its outcome %+v", id, f.outcome)
	}
	why = strings.Replace(why, "{}", f.names, 1)
	if p.macos != "" {
		why += "; macOS, by its source: " + p.macos
	}
	return Judgement{Verdict: f.verdict, Figure: f.figure, Why: why, Unsure: f.unsure}, nil
}

//go:embed claims.txt
var text string

// A paragraph is what claims.txt says of a claim.
type paragraph struct {
	id       string
	where    string // in the document
	text     string
	rule     string
	macos    string             // what the source of macOS says of it, where that is known
	outcomes map[outcome]string // the sentences for the verdicts
}

// paragraphs are those of claims.txt by the claim's ID. They are read when they are first asked
// for: most processes need none of them.
var paragraphs = sync.OnceValue(func() map[string]paragraph {
	all := make(map[string]paragraph)
	for entry := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		p := parseParagraph(entry)
		all[p.id] = p
	}
	return all
})

// parseParagraph reads one paragraph: lines "key: words", which may go on in lines that are
// indented. The text is a part of the program, so a mistake in it is a programmer's.
func parseParagraph(entry string) paragraph {
	p := paragraph{outcomes: make(map[outcome]string)}
	unwrapped := strings.ReplaceAll(entry, "\n  ", " ")
	for line := range strings.SplitSeq(unwrapped, "\n") {
		key, words, _ := strings.Cut(line, ": ")
		switch key {
		case "claim":
			p.id = words
		case "in":
			p.where = words
		case "says":
			p.text = words
		case "rule":
			p.rule = words
		case "macos":
			p.macos = words
		default:
			o := parseOutcome(key)
			if p.outcomes[o] != "" {
				panic("claims.txt: " + p.id + " has " + key + " twice")
			}
			p.outcomes[o] = words
		}
	}
	return p
}

// parseOutcome reads "refuted" or "refuted (reason)".
func parseOutcome(key string) outcome {
	verdict, reason, _ := strings.Cut(key, " (")
	switch verdict {
	case Holds, Refuted, Depends, NotTestable, Noted:
		return outcome{verdict, strings.TrimSuffix(reason, ")")}
	}
	panic("claims.txt: " + key + " is no verdict")
}

// A tally names the cases of a claim that went one way and the other.
type tally struct{ yes, no []string }

func (t *tally) add(name string, ok bool) {
	if ok {
		t.yes = append(t.yes, name)
		return
	}
	t.no = append(t.no, name)
}

// judge finds that all cases went the one way, that none did, or that some did. It names those that
// did not, or all.
func (t tally) judge(figure string) finding {
	f := finding{figure: figure}
	switch {
	case len(t.yes)+len(t.no) == 0:
		f.nobody = "nobody could be asked"
	case len(t.no) == 0:
		f.verdict = Holds
		f.names = list(t.yes)
	case len(t.yes) == 0:
		f.verdict = Refuted
		f.names = list(t.no)
	default:
		f.verdict = Depends
		f.names = list(t.no)
	}
	return f
}

func (t tally) figure() string {
	return fmt.Sprintf("%d of %d", len(t.yes), len(t.yes)+len(t.no))
}

// list joins names, or says that there are none.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
