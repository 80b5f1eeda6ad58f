package check

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// A likeness says how alike the outputs of several runs are: the lower, the more alike.
type likeness int

const (
	sameBytes   likeness = iota
	sameNumbers          // only numbers differ, such as a time or a process number
	sameLines            // only numbers and the order of lines differ, as with several threads
	unlike               // outputs have nothing in common, except perhaps the number of bytes
)

var likenessText = [...]string{
	"the same", "the same but for numbers",
	"the same lines in another order, but for numbers", "different",
}

// A reference holds the runs in which the program's output was a file. These runs show what the
// program usually does.
type reference []*outcome

// mostReferences is the largest number of runs in a reference.
const mostReferences = 12

func (r reference) last() *outcome { return r[len(r)-1] }

func (r reference) likeness() likeness {
	for level := sameBytes; level < unlike; level++ {
		if r.alikeAt(level) {
			return level
		}
	}
	return unlike
}

func (r reference) alikeAt(level likeness) bool {
	want := level.normalise(r[0].out)
	for _, o := range r[1:] {
		if !bytes.Equal(level.normalise(o.out), want) {
			return false
		}
	}
	return true
}

// anyEnded reports whether at least one run ended in the given way, such as "exit 0".
func (r reference) anyEnded(end string) bool {
	return slices.ContainsFunc(r, func(o *outcome) bool { return o.end == end })
}

// allEndedAlike reports whether all runs ended in the same way.
func (r reference) allEndedAlike() bool {
	return !slices.ContainsFunc(r, func(o *outcome) bool { return o.end != r[0].end })
}

// endless reports whether at least one run did not end by itself.
func (r reference) endless() bool { return r.anyEnded("") }

// endedOtherwise reports whether all runs ended by themselves and in the same way, but not in the
// given way.
func (r reference) endedOtherwise(end string) bool {
	return r.allEndedAlike() && !r.endless() && !r.anyEnded(end)
}

// lengths returns the smallest and the largest number of bytes that a run wrote.
func (r reference) lengths() (least, most int64) {
	least = r[0].total
	for _, o := range r {
		least = min(least, o.total)
		most = max(most, o.total)
	}
	return least, most
}

// commonPrefix returns how many bytes at the beginning are the same in the outputs of all runs.
func (r reference) commonPrefix() int {
	n := len(r[0].out)
	for _, o := range r[1:] {
		n = min(n, samePrefix(r[0].out, o.out))
	}
	return n
}

// normalise returns an output without the differences that the likeness k allows.
func (k likeness) normalise(out []byte) []byte {
	switch k {
	case sameNumbers:
		return hideNumbers(out)
	case sameLines:
		return []byte(strings.Join(normalLines(out), "\n"))
	}
	return out
}

// hideNumbers replaces every number by 0.
func hideNumbers(out []byte) []byte {
	hidden := make([]byte, 0, len(out))
	afterDigit := false
	for _, c := range out {
		isDigit := '0' <= c && c <= '9'
		if !isDigit {
			hidden = append(hidden, c)
		} else if !afterDigit {
			hidden = append(hidden, '0')
		}
		afterDigit = isDigit
	}
	return hidden
}

// normalLines returns the lines of an output in sorted order. It hides differences in numbers and
// in the width of columns.
func normalLines(out []byte) []string {
	var lines []string
	for line := range bytes.Lines(hideNumbers(out)) {
		lines = append(lines, strings.Join(strings.Fields(string(line)), " "))
	}
	slices.Sort(lines)
	return lines
}

// toFile runs the program with a file as its output.
func (p *program) toFile(ctx context.Context, f *finding) (*outcome, error) {
	file, err := os.CreateTemp("", "pipebench-check-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	o, err := f.start(ctx, streams{file: file}, p.options.Timeout, mostCompared)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	o.total = info.Size()
	o.out = make([]byte, min(o.total, mostCompared))
	_, err = file.ReadAt(o.out, 0)
	return o, err
}

// learn runs the program twice with a file as its output, and once more if these runs differ. It
// returns an error if the program does nothing but fail, and errSlower as addRun does.
func (p *program) learn(ctx context.Context, f *finding) error {
	for n := 0; n < 2 || n == 2 && p.ref().likeness() > sameBytes; n++ {
		if err := p.addRun(ctx, f); err != nil {
			return err
		}
	}
	ref := p.ref().last()
	if ref.total > 0 || ref.end == "" || ref.end == "exit 0" || p.options.ExpectExit != nil {
		return nil
	}
	return fmt.Errorf("%s fails before anything can be judged: %s, nothing on standard output: %s"+
		"\nis the command right? if it is to end so, say so by --expect-exit %d",
		p.options.Command[0], ref.end, cmp.Or(ref.words(), "it says nothing"), ref.code)
}

// errSlower says that a run did not end in time, although earlier runs had: the machine may have
// become busier.
var errSlower = errors.New("a run with a file did not end in its time, though others had")

// addRun runs the program with a file as its output, and adds the run to p.runs. It returns
// errSlower if the run does not end in time although an earlier run did.
func (p *program) addRun(ctx context.Context, f *finding) error {
	o, err := p.toFile(ctx, f)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.end == "" && len(p.runs) > 0 && !p.runs.endless() {
		return errSlower
	}
	p.runs = append(p.runs, o)
	return nil
}

func (p *program) judgeReference(f *finding) {
	ref := p.ref().last()
	alike := p.ref().likeness()
	wrote := size(ref.total) + ", " + ref.end
	said := ""
	if ref.code != 0 && ref.words() != "" {
		said = ": " + ref.words()
	}
	switch {
	case len(ref.holding) > 0:
		f.fails("leaves %s behind, which holds its output: who reads to the end waits for it",
			strings.Join(ref.holding, ", "))
	case p.options.ExpectExit != nil &&
		!p.ref().anyEnded(fmt.Sprint("exit ", *p.options.ExpectExit)):
		f.fails("ends with %s, where exit %d is expected: %s",
			ref.end, *p.options.ExpectExit, ref.words())
	case p.ref().endless():
		f.ok("runs on: what it writes at first is compared")
	case alike > sameBytes && p.options.Deterministic:
		f.Advice = "leave out of the output what no two runs have in common: " +
			"times, process numbers, the order of a map"
		f.fails("two runs differ from byte %s on (%s)",
			results.FormatGrouped(int64(p.ref().commonPrefix())), wrote)
	case alike > sameBytes:
		f.ok("%s; runs differ from byte %s on: they are %s",
			wrote, results.FormatGrouped(int64(p.ref().commonPrefix())), likenessText[alike])
	case ref.total == 0 && ref.code == 0 && len(p.options.Stdin) == 0:
		f.cannotTell("%s: without output there is nothing to compare; a program that reads needs "+
			"an input (--stdin FILE)", wrote)
	default:
		f.ok("%s, twice the same%s", wrote, said)
	}
}

// unfinished reports whether a run was still at work when its time was up, and had written too
// little to be judged.
func (p *program) unfinished() bool {
	const enough = 1 << 20
	for _, o := range p.ref() {
		computed := o.running || 2*o.cpu > o.took
		if o.end == "" && o.total < enough && computed {
			return true
		}
	}
	return false
}
