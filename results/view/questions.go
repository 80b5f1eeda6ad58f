package view

import (
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A question is a row of the table of rules.
type question struct {
	asks  string
	steps []string // findings that answer it; "name/" stands for all that begin so
	least bool     // of several answers, take the least value, or one that says yes
}

var pipeQuestions = []question{
	{asks: "A new pipe holds", steps: []string{"capacity/stated", "capacity/accepted"}},
	{asks: "Filled in writes of the worst size, it holds", steps: []string{"capacity/fill/"},
		least: true},
	{asks: "Filled in writes of 60 KiB, it holds", steps: []string{"capacity/fill/61440"}},
	{asks: "Asked to hold 100,000 B, it holds", steps: []string{"settable/100000"}},
	{asks: "A full one takes a byte again after reading", steps: []string{"slot"}},
	{asks: "poll(2) calls it writable after reading", steps: []string{"poll/writable-after"}},
	{asks: "A write goes in whole or not at all up to", steps: []string{"all-or-nothing"}},
	{asks: "Writes of 4,096 B of two programs mix", steps: []string{"interleave/4096/"},
		least: true},
	{asks: "Writes of 60 KiB of two programs mix", steps: []string{"interleave/61440/"},
		least: true},
	{asks: "A write to a full one, without blocking, gives", steps: []string{"full/write"}},
	{asks: "A write after the reader has left gives", steps: []string{"broken/no-reader"}},
	{asks: "SIGPIPE is sent with it", steps: []string{"broken/no-reader/sigpipe"}},
	{asks: "A blocked write gives, when the reader leaves",
		steps: []string{"broken/after-0/error"}},
	{asks: "The writer is told of it after", steps: []string{"broken/after-0/notice"}},
	{asks: "A parent that only writes to an echoing child hangs after",
		steps: []string{"deadlock/parent-writes"}},
}

// machineQuestions do not depend on the kind of pipe.
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

// answers reports whether a finding answers the question. A finding that says that an experiment
// came to no result answers all questions of that experiment.
func (q question) answers(step string, f results.Finding) bool {
	noResult := f.Verdict == results.CannotTell || f.Verdict == results.Unsupported
	for _, asked := range q.steps {
		switch {
		case step == asked:
			return true
		case strings.HasSuffix(asked, "/") && strings.HasPrefix(step, asked):
			return true
		case noResult && (step == "kind" || strings.HasPrefix(asked, step+"/")):
			return true
		}
	}
	return false
}

// tooFewTries is the answer of an experiment whose tries were too few to decide.
const tooFewTries = "too few tries"

// answer returns the one of the findings about a kind of pipe that answers the question best. One
// whose tries were too few is the worst answer.
func (q question) answer(all []results.Finding) (best results.Finding, ok bool) {
	for _, f := range all {
		_, step := kindOf(f)
		if !q.answers(step, f) || ok && f.Value == "too few" {
			continue
		}
		n, isNumber := f.Number()
		least, _ := best.Number()
		if !ok || best.Value == "too few" || q.least && (isNumber && n < least || f.Value == true) {
			best = f
			ok = true
		}
	}
	return best, ok
}

// notSeen is the answer if something that depends on chance did not happen. It may still be
// possible.
const notSeen = "not seen"

// cell words the answer that a finding gives. It has a Base if it is the same in every run: neither
// a time, a rate nor a chance.
func (q question) cell(f results.Finding) Value {
	kind, step := kindOf(f)
	chance := strings.HasPrefix(step, "interleave/")
	text := exactValue(f.Value, f.Unit)
	switch {
	case f.Class != "": // hangs, fails
		text = f.Class
	case chance && f.Value == false:
		text = notSeen
	case f.Value == "too few":
		text = tooFewTries
	default:
		size, fill := strings.CutPrefix(step, "capacity/fill/")
		if n, err := strconv.ParseFloat(size, 64); fill && q.least && err == nil {
			text += " (" + results.FormatExact(n, "B") + " each)"
		}
		if f.Verdict == results.Refuted {
			text += " (≠ documented)"
		}
	}
	n, isNumber := f.Number()
	switch {
	case f.Unit == "ns" || kind == "" || kind == "pty" || chance:
		return Value{Text: text}
	case isNumber && f.Unit == "B" && f.Class == "" && !q.least:
		return figureValue(n, text)
	}
	return textValue(text)
}
