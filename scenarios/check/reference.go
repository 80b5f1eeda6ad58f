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

// A likeness says how alike the outputs of several runs are. The lower its value, the more alike.
type likeness int

const (
	sameBytes   likeness = iota
	sameNumbers          // only numbers differ, such as a time or a process number
	sameLines            // numbers and the order of lines differ: what several threads write
	unlike               // nothing in common, except perhaps the number of bytes
)

var likenessText = [...]string{
	"the same", "the same but for numbers",
	"the same lines in another order, but for numbers", "different",
}

// A reference is the runs of the program with a file as its output: what the program usually does.
// More runs are added when a start in a situation seems to differ: the first runs may be alike by
// chance.
type reference []*outcome

// mostReferences bounds how often a program is started to learn what it usually does.
const mostReferences = 12

// last returns the latest run.
func (r reference) last() *outcome { return r[len(r)-1] }

// likeness returns what all runs have in common.
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

// ends reports whether at least one run with a file ended in this way.
func (r reference) ends(end string) bool {
	return slices.ContainsFunc(r, func(o *outcome) bool { return o.end == end })
}

// endsAlike reports whether all runs ended in the same way.
func (r reference) endsAlike() bool {
	return !slices.ContainsFunc(r, func(o *outcome) bool { return o.end != r[0].end })
}

// endless reports whether at least one run did not end by itself.
func (r reference) endless() bool { return r.ends("") }

// endsOtherwise reports whether all runs ended by themselves in the same way, and not in this way.
func (r reference) endsOtherwise(end string) bool {
	return r.endsAlike() && !r.endless() && !r.ends(end)
}

// lengths returns the least and the largest number of bytes that a run wrote.
func (r reference) lengths() (least, most int64) {
	least = r[0].total
	for _, o := range r {
		least = min(least, o.total)
		most = max(most, o.total)
	}
	return least, most
}

// stable returns how many bytes at the beginning all runs have in common.
func (r reference) stable() int {
	n := len(r[0].out)
	for _, o := range r[1:] {
		n = min(n, samePrefix(r[0].out, o.out))
	}
	return n
}

// normalise returns an output in a form that is the same for runs that are alike on this level.
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

// normalLines returns the lines of an output, sorted, with numbers replaced, and with single spaces
// between words: columns of a table may differ in width.
func normalLines(out []byte) []string {
	var lines []string
	for line := range bytes.Lines(hideNumbers(out)) {
		lines = append(lines, strings.Join(strings.Fields(string(line)), " "))
	}
	slices.Sort(lines)
	return lines
}

// toFile starts the program with a file as its output.
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

// learn starts the program with a file until it is known what it usually does: twice, and once more
// if the two runs differ. It sets p.slower if a run does not end in its time though others did.
func (p *program) learn(ctx context.Context, f *finding) error {
	runs := 2
	for n := 0; n < runs; n++ {
		err := p.addRun(ctx, f)
		if errors.Is(err, errSlower) {
			p.slower = true
			return nil
		}
		if err != nil {
			return err
		}
		if n == 1 && p.ref().likeness() > sameBytes {
			runs = 3
		}
	}
	return nil
}

// errSlower says that no run was added, since it did not end in its time and others had ended: the
// program is not endless, but the machine may be busier than it was.
var errSlower = errors.New("a run with a file did not end in its time, though others had")

// addRun starts the program with a file, and adds the run to the reference.
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

// judgeReference judges what the program did with a file.
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
	case p.options.ExpectExit != nil && !p.ref().ends(fmt.Sprint("exit ", *p.options.ExpectExit)):
		f.fails("ends with %s, where exit %d is expected: %s",
			ref.end, *p.options.ExpectExit, ref.words())
	case p.ref().endless():
		f.ok("runs on: what it writes at first is compared")
	case alike > sameBytes && p.options.Deterministic:
		f.Advice = "leave out of the output what no two runs have in common: " +
			"times, process numbers, the order of a map"
		f.fails("two runs differ from byte %s on (%s)",
			results.FormatGrouped(int64(p.ref().stable())), wrote)
	case alike > sameBytes:
		f.ok("%s; runs differ from byte %s on: they are %s",
			wrote, results.FormatGrouped(int64(p.ref().stable())), likenessText[alike])
	case len(ref.left) > 0:
		f.ok("%s; leaves %s behind, which holds none of its output",
			wrote, strings.Join(ref.left, ", "))
	default:
		f.ok("%s, twice the same%s", wrote, said)
	}
}

// unusable returns why the program cannot be judged by its runs with a file; nil if it can.
func (p *program) unusable() error {
	ref := p.ref().last()
	if ref.total > 0 || ref.end == "" || ref.end == "exit 0" || p.options.ExpectExit != nil {
		return nil
	}
	return fmt.Errorf("%s fails before anything can be judged: %s, nothing on standard output: %s"+
		"\nis the command right? if it is to end so, say so by --expect-exit %d",
		p.options.Command[0], ref.end, cmp.Or(ref.words(), "it says nothing"), ref.code)
}

// unfinished reports whether the program was still at work when its time was up, and had written
// less than enough to be judged by that output: it may be endless or just slow.
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
