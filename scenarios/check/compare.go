package check

import (
	"bytes"

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
	if level >= sameLines {
		return p.compareLoosely(o, level)
	}
	wanted := level.normalise(want.out)
	came := level.normalise(o.out)
	d = differ(wanted, came[:min(len(came), len(wanted))])
	if d.class == "" && o.total > want.total && len(came) > len(wanted) {
		d = difference{classLonger, size(o.total-want.total) + " too many at the end"}
	}
	return p.nameCut(d, o), true
}

// compareLoosely is for a program whose runs write lines in another order each time, or have
// nothing in common but their length. It reports only an output that was certainly cut.
func (p *program) compareLoosely(o *outcome, level likeness) (d difference, compared bool) {
	least, most := p.ref().lengths()
	spread := most - least
	farLess := o.total < least && o.total <= least-10*spread
	// even if its length varies from run to run
	wasCut := o.total == int64(o.capacity) || 10*o.total < 9*least
	if farLess && 10*spread <= least && wasCut {
		return p.nameCut(difference{class: classCut}, o), true
	}
	if level == sameLines {
		want := level.normalise(p.ref().last().out)
		return difference{}, bytes.Equal(level.normalise(o.out), want)
	}
	return difference{}, spread == 0 && o.total == least
}

// nameCut sets the text of a difference of the class classCut: it says at which size the output was
// cut. Any other difference is returned unchanged.
func (p *program) nameCut(d difference, o *outcome) difference {
	if d.class != classCut {
		return d
	}
	d.text = "cut at " + size(o.total)
	switch {
	case o.capacity > 0 && o.total == int64(o.capacity):
		d.text += ": what one pipe holds"
	case o.capacity == 0 && o.queued > 0 && o.total == int64(o.queued):
		d.text += ": what a pair of sockets holds that nobody reads"
	default:
		d.text += " of " + size(p.ref().last().total)
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
