package check

import (
	"bytes"
	"fmt"

	"github.com/pipebench/pipebench/results"
)

// A difference is how an output differs from the expected one.
type difference struct {
	class string // "" for none
	text  string // in words
}

// If the program never ends, mostOfEndless is the largest number of bytes of its output that are
// compared.
const mostOfEndless = 4 << 20

// compare returns how the output of the run o differs from what the program writes to a file. It
// reports only what is certainly wrong. The result compared is false if the outputs cannot be
// compared.
func (p *program) compare(o *outcome) (d difference, compared bool) {
	want := p.ref().last()
	if p.ref().endless() {
		n := min(p.ref().commonPrefix(), mostOfEndless, len(o.out))
		return differ(want.out[:n], o.out[:n]), true
	}
	level := p.ref().likeness()
	switch level {
	case sameLines:
		d = compareLines(want.out, o.out)
		if d.class != "" && !o.cutClearly(want.total) {
			return difference{}, false
		}
		return p.nameCut(d, o), true
	case unlike:
		return p.compareLengths(o)
	}
	wanted := level.normalise(want.out)
	came := level.normalise(o.out)
	d = differ(wanted, came[:min(len(came), len(wanted))])
	if d.class == "" && o.total > want.total && len(came) > len(wanted) {
		d = difference{classLonger, size(o.total-want.total) + " too many at the end"}
	}
	return p.nameCut(d, o), true
}

// compareLines compares two outputs as sets of lines, whatever the order of the lines.
func compareLines(want, got []byte) difference {
	wanted := normalLines(want)
	came := normalLines(got)
	missing := countMissing(wanted, came)
	lines := fmt.Sprintf("%d of %d lines", missing, len(wanted))
	switch {
	case missing > 0 && len(got) < len(want):
		return difference{classCut, "lost " + lines}
	case missing > 0:
		return difference{classAltered, "altered " + lines}
	case len(came) > len(wanted):
		return difference{classLonger, fmt.Sprintf("%d lines too many", len(came)-len(wanted))}
	}
	return difference{}
}

// countMissing counts the lines that are in the list want, but not in the list got.
func countMissing(want, got []string) (missing int) {
	counts := map[string]int{} // for each line, how many more copies are in got than in want so far
	for _, line := range got {
		counts[line]++
	}
	for _, line := range want {
		counts[line]--
		if counts[line] < 0 {
			missing++
		}
	}
	return missing
}

// cutClearly reports whether the output was certainly cut, even if its length varies from run to
// run. The parameter usualLength is in bytes.
func (o *outcome) cutClearly(usualLength int64) bool {
	return o.total == int64(o.capacity) || 10*o.total < 9*usualLength
}

// compareLengths judges only the length of the output of the run o. It is for a program whose
// outputs have nothing else in common.
func (p *program) compareLengths(o *outcome) (d difference, compared bool) {
	least, most := p.ref().lengths()
	spread := most - least
	if o.total >= least-2*spread {
		sameLength := spread == 0 && o.total == least
		return difference{}, sameLength
	}
	varies := 10*spread > least
	farLess := o.total <= least-10*spread
	if varies || !farLess || !o.cutClearly(least) {
		return difference{}, false
	}
	return p.nameCut(difference{class: classCut}, o), true
}

// nameCut sets the text of a difference of the class classCut: it says at which size the output was
// cut. Any other difference is returned unchanged.
func (p *program) nameCut(d difference, o *outcome) difference {
	if d.class != classCut {
		return d
	}
	d.text = fmt.Sprintf("cut at %s of %s", size(o.total), size(p.ref().last().total))
	if o.capacity > 0 && o.total == int64(o.capacity) {
		d.text = fmt.Sprintf("cut at %s: what one pipe holds", size(o.total))
	} else if o.queued > 0 && o.total == int64(o.queued) {
		queue := "pair of sockets"
		if o.capacity > 0 {
			queue = "pipe"
		}
		d.text = fmt.Sprintf("cut at %s: what a %s holds that nobody reads", size(o.total), queue)
	}
	return d
}

// probe is how many bytes of output after a difference are looked for elsewhere in the expected
// output.
const probe = 32

// differ returns how the bytes in got differ from the expected bytes in want. It distinguishes lost
// or repeated parts from altered bytes. There must be at least as many bytes in want as in got.
func differ(want, got []byte) difference {
	at := samePrefix(want, got)
	if at == len(want) {
		return difference{}
	}
	if at == len(got) {
		return difference{class: classCut}
	}
	where := " at byte " + results.FormatGrouped(int64(at))
	clue := got[at:min(at+probe, len(got))]
	sure := len(clue) == probe
	if sure && bytes.HasPrefix(want, clue) {
		return difference{classLost, "sent again from the beginning" + where}
	}
	if i := bytes.Index(want[at:], clue); i > 0 {
		return difference{classLost, "lost " + size(int64(i)) + where}
	}
	if i := bytes.LastIndex(want[:at], clue); sure && i >= 0 {
		return difference{classLost, "sent " + size(int64(at-i)) + " again" + where}
	}
	return difference{classAltered, "altered" + where}
}

// samePrefix returns how many bytes at the beginning of a and b are equal.
func samePrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
