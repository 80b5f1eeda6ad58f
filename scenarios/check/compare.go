package check

import (
	"bytes"
	"fmt"

	"github.com/pipebench/pipebench/results"
)

// compare says how an output differs from the output to a file, if it is wrong beyond doubt. told
// is false if nothing can be compared.
func (p *program) compare(o *outcome) (d difference, told bool) {
	if p.ref().endless() {
		return p.compareBeginning(o), true
	}
	level := p.ref().likeness()
	want := p.ref().last()
	switch level {
	case sameLines:
		d := compareLines(want.out, o.out)
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
	switch {
	case d.class == classLost && d.at == len(came):
		d.class = classCut
	case d.class == "" && o.total > want.total && len(came) > len(wanted):
		more := size(o.total - want.total)
		d = difference{classLonger, more + " too many at the end", int(want.total)}
	}
	return p.nameCut(d, o), true
}

// compareBeginning compares the first bytes that an endless program writes.
func (p *program) compareBeginning(o *outcome) difference {
	n := min(p.ref().stable(), 4*spill, len(o.out))
	return differ(p.ref().last().out[:n], o.out[:n])
}

// compareLines compares outputs whose lines come in any order.
func compareLines(want, got []byte) difference {
	wanted := normalLines(want)
	came := normalLines(got)
	missing := len(wanted) - countInBoth(wanted, came)
	lines := fmt.Sprintf("%d of %d lines", missing, len(wanted))
	switch {
	case missing > 0 && len(got) < len(want):
		return difference{classCut, "lost " + lines, len(got)}
	case missing > 0:
		return difference{classAltered, "altered " + lines, 0}
	case len(came) > len(wanted):
		more := len(came) - len(wanted)
		return difference{classLonger, fmt.Sprintf("%d lines too many", more), len(want)}
	}
	return difference{}
}

// countInBoth counts the lines that two sorted lists have in common.
func countInBoth(a, b []string) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n++
			a = a[1:]
			b = b[1:]
		}
	}
	return n
}

// cutClearly reports whether an output that varies was cut beyond doubt: exactly at the size that
// its pipe holds, or by more than a tenth. A smaller part may be missing because the program had
// less to say.
func (o *outcome) cutClearly(usual int64) bool {
	return o.total == int64(o.holds) || 10*o.total < 9*usual
}

// compareLengths judges an output by its length, if nothing else can be compared. Runs with a file
// differ by spread: an output is cut only if far more than that is missing.
func (p *program) compareLengths(o *outcome) (d difference, told bool) {
	least, most := p.ref().lengths()
	spread := most - least
	if o.total >= least-2*spread {
		return difference{}, spread == 0 && o.total == least
	}
	if 10*spread > least || o.total > least-10*spread || !o.cutClearly(least) {
		return difference{}, false
	}
	return p.nameCut(difference{classCut, "", int(o.total)}, o), true
}

// nameCut says at which size an output was cut, and whether a pipe or a pair of sockets holds
// exactly that much.
func (p *program) nameCut(d difference, o *outcome) difference {
	if d.class != classCut {
		return d
	}
	d.text = fmt.Sprintf("cut at %s of %s", size(o.total), size(p.ref().last().total))
	if o.total == int64(o.holds) {
		d.text = fmt.Sprintf("cut at %s: what one pipe holds", size(o.total))
	} else if o.queued > 0 && o.total == int64(o.queued) {
		queue := "pair of sockets"
		if o.holds > 0 {
			queue = "pipe"
		}
		d.text = fmt.Sprintf("cut at %s: what a %s holds that nobody reads", size(o.total), queue)
	}
	return d
}

// A difference is how an output departs from the expected one.
type difference struct {
	class string // "" for none
	text  string // in words
	at    int    // the first byte that differs
}

// probe is how many bytes have to agree before got counts as continuing at another place of want.
const probe = 32

// differ finds how got differs from want. If got ends too soon, the class is classLost, and at is
// the end of got.
func differ(want, got []byte) difference {
	at := samePrefix(want, got)
	if at == len(want) && at == len(got) {
		return difference{at: at}
	}
	rest := got[at:]
	where := " at byte " + results.FormatGrouped(int64(at))
	if len(rest) == 0 {
		return difference{classLost, "lost " + size(int64(len(want)-at)) + where, at}
	}
	clue := rest[:min(probe, len(rest))]
	sure := len(clue) == probe
	if sure && bytes.HasPrefix(want, clue) {
		return difference{classLost, "sent again from the beginning" + where, at}
	}
	if i := bytes.Index(want[at:], clue); i > 0 {
		return difference{classLost, "lost " + size(int64(i)) + where, at}
	}
	if i := bytes.LastIndex(want[:at], clue); sure && i >= 0 {
		return difference{classLost, "sent " + size(int64(at-i)) + " again" + where, at}
	}
	return difference{classAltered, "altered" + where, at}
}

// samePrefix counts the bytes that a and b begin with alike.
func samePrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
