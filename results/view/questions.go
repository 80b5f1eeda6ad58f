package view

import (
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A question is a row of the table about pipes. The answer is what a step of the probe command
// found. The names of steps look like "capacity/fill/61440".
type question struct {
	asks  string
	steps []string // steps that answer the question; "poll/" stands for all that begin so
	worst bool     // if there are several answers, take the smallest number or true
	main  bool     // most people ask it
}

// newPipeHolds is the first question about anonymous pipes.
const newPipeHolds = "A new pipe holds"

// pipeQuestions are asked of each kind of pipe.
var pipeQuestions = []question{
	{asks: newPipeHolds, steps: []string{"capacity/stated", "capacity/accepted"}, main: true},
	{asks: "Filled in writes of the worst size, it holds", steps: []string{"capacity/fill/"},
		worst: true},
	{asks: "Filled in writes of 60 KiB, it holds", steps: []string{"capacity/fill/61440"}},
	{asks: "Asked to hold 100,000 B, it holds", steps: []string{"settable/100000"}},
	{asks: "A full one takes a byte again after reading", steps: []string{"slot"}, main: true},
	{asks: "poll(2) calls it writable after reading", steps: []string{"poll/writable-after"}},
	{asks: "A write goes in whole or not at all up to", steps: []string{"all-or-nothing"},
		main: true},
	{asks: "Writes of 4,096 B of two programs mix", steps: []string{"interleave/4096/"},
		worst: true},
	{asks: "Writes of 60 KiB of two programs mix", steps: []string{"interleave/61440/"},
		worst: true},
	{asks: "A write to a full one, without blocking, gives", steps: []string{"full/write"}},
	{asks: "A write after the reader has left gives", steps: []string{"broken/no-reader"}},
	{asks: "SIGPIPE is sent with it", steps: []string{"broken/no-reader/sigpipe"}},
	{asks: "A blocked write gives, when the reader leaves",
		steps: []string{"broken/after-0/error"}},
	{asks: "The writer is told of it after", steps: []string{"broken/after-0/notice"}},
	{asks: "A parent that only writes to an echoing child hangs after",
		steps: []string{"deadlock/parent-writes"}},
}

// machineQuestions are asked once, because their answers do not depend on the kind of pipe.
var machineQuestions = []question{
	{asks: "Copies are slow at these differences of addresses, mod 4096",
		steps: []string{"copy-zone"}},
	{asks: "… and take so many times as long there", steps: []string{"copy-zone/slowdown"}},
	{asks: "Waking a reader takes, on one CPU", steps: []string{"wake-up/same", "wake-up/free"}},
	{asks: "… and on two CPUs",
		steps: []string{"wake-up/apart", "wake-up/sibling", "wake-up/far"}},
	{asks: "Messages of 1 MB to an idle reader, one CPU",
		steps: []string{"write-size/same/whole", "write-size/free/whole"}},
	{asks: "… in writes of 8 KiB",
		steps: []string{"write-size/same/8KiB", "write-size/free/8KiB"}},
	{asks: "… through a pipe of 1 MiB",
		steps: []string{"write-size/same/pipe-1MiB", "write-size/free/pipe-1MiB"}},
	{asks: "Messages of 1 MB to an idle reader, two CPUs",
		steps: []string{"write-size/apart/whole", "write-size/sibling/whole"}},
	{asks: "… in writes of 8 KiB",
		steps: []string{"write-size/apart/8KiB", "write-size/sibling/8KiB"}},
	{asks: "… through a pipe of 1 MiB",
		steps: []string{"write-size/apart/pipe-1MiB", "write-size/sibling/pipe-1MiB"}},
}

// isAnsweredBy reports whether the finding of a step answers the question.
func (q question) isAnsweredBy(step string, f results.Finding) bool {
	noResult := f.Verdict == results.CannotTell || f.Verdict == results.Unsupported
	for _, asked := range q.steps {
		switch {
		case step == asked:
			return true
		case strings.HasSuffix(asked, "/") && strings.HasPrefix(step, asked):
			return true
		case noResult && step == "kind": // no pipe of this kind could be made
			return true
		case noResult && strings.HasPrefix(asked, step+"/"): // the whole experiment has no result
			return true
		}
	}
	return false
}

// undecidedValue is the value of a finding if its experiment was tried too few times to decide.
const undecidedValue = "too few"

// answer returns the first finding that answers the question, or the worst one if q.worst is set.
// Undecided findings come last.
func (q question) answer(all []results.Finding) (answer results.Finding, found bool) {
	for _, f := range all {
		_, step := kindOf(f)
		if !q.isAnsweredBy(step, f) || found && f.Value == undecidedValue {
			continue
		}
		n, isNumber := f.Number()
		least, _ := answer.Number()
		isWorse := isNumber && n < least || f.Value == true
		if !found || answer.Value == undecidedValue || q.worst && isWorse {
			answer = f
			found = true
		}
	}
	return answer, found
}

const notSeen = "not seen" // it did not happen here, but by chance it may

// dependsOnChance reports whether another run may find another value.
func dependsOnChance(kind, step string, f results.Finding) bool {
	isSocket := kind == "socketpair" || kind == "unix" || kind == "seqpacket"
	if isSocket && step == "broken/after-0/error" { // the reset, or the end, comes first
		return true
	}
	// Whether writes mix depends on chance, unless the rules say that they never do.
	isRuled := strings.HasPrefix(step, "interleave/4096/") &&
		(f.Verdict == results.Holds || f.Verdict == results.Refuted)
	return strings.HasPrefix(step, "interleave/") && !isRuled
}

// outcome returns the answer that a finding gives. Machines are compared by its [Value.Base], which
// is empty if another run may give another answer.
func (q question) outcome(f results.Finding) columnAnswer {
	kind, step := kindOf(f)
	isChance := dependsOnChance(kind, step, f)
	text := exactValue(f.Value, f.Unit)
	open := 0
	switch {
	case f.Class != "": // the experiment came to no result
		text = strings.Replace(f.Class, "hangs", "no result", 1) // kept records say "hangs"
		isChance = true                                          // as on the load
	case strings.HasPrefix(step, "interleave/") && f.Value == false:
		text = notSeen
		open = 1
	case f.Value == undecidedValue:
		text = "too few tries"
		open = 2
	default:
		size, isFill := strings.CutPrefix(step, "capacity/fill/")
		if n, err := strconv.ParseFloat(size, 64); isFill && q.worst && err == nil {
			text += " (" + results.FormatExact(n, "B") + " each)"
		}
		if f.Verdict == results.Refuted {
			text += " (≠ documented)"
		}
	}
	n, isNumber := f.Number()
	switch {
	case f.Unit == "ns":
		return columnAnswer{Value: Value{Text: text}, ns: n}
	case kind == "" || kind == "pty" || isChance:
		return columnAnswer{Value: Value{Text: text}, open: open}
	case isNumber && f.Unit == "B" && f.Class == "" && !q.worst:
		return columnAnswer{Value: figureValue(n, text)}
	}
	return columnAnswer{Value: textValue(text), open: open}
}
