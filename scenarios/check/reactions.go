package check

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// sameAsFile judges a program that has to do the same as it does when its output is a file.
func sameAsFile(p *program, f *finding, o *outcome) {
	ref := p.ref().last()
	d, compared := p.compare(o)
	f.Class = d.class
	failed := o.end != "" && o.code != 0
	gaveUp := failed && !p.ref().anyEnded(o.end) // no run with a file ended in this way
	says := ""
	if o.words() != "" && o.words() != ref.words() {
		says = ": " + o.words()
	}
	// A program may refuse a non-blocking pipe. It must then fail in a way in which it never fails
	// with a file, or say why it fails.
	refused := o.nonBlock && failed && (gaveUp || d.class != "" && says != "")
	switch {
	case o.end == "" && !p.ref().endless():
		endsInTime(p, f, o)
	case refused:
		f.ok("takes no non-blocking output, and says so: %s%s", o.end, says)
	case d.class != "" && gaveUp:
		f.fails("%s; %s%s", d.text, o.end, says)
	case d.class != "":
		f.fails("%s; %s", d.text, cmp.Or(o.end, "running on"))
	case p.ref().endedOtherwise(o.end):
		f.fails("%s, and with a file %s%s", o.end, ref.end, says)
	case o.hoards(ref):
		f.Class = classMemory
		f.fails("keeps in memory what nobody has read yet: %s; with a file it needs %s",
			results.FormatSize(o.peak), results.FormatSize(ref.peak))
	case o.foundRoom(ref):
		f.cannotTell("writes so slowly that its pipe was never full, so what it does then is not "+
			"known: give it more time, such as --timeout %s", 6*p.options.Timeout)
	case !compared:
		f.cannotTell("wrote %s; with a file no two runs write the same, so it cannot be compared",
			size(o.total))
	default:
		f.ok("%s, %s", size(min(o.total, ref.total)), cmp.Or(o.end, "running on"))
	}
}

// foundRoom reports whether the program wrote so slowly that the pipe was not full when the late
// reader began, although the program writes more than the pipe holds.
func (o *outcome) foundRoom(ref *outcome) bool {
	return o.stillWrote && o.capacity > 0 && ref.total > int64(o.capacity) && ref.end != ""
}

// hoards reports whether the program kept in memory what a late reader had not read yet. It reports
// false if the program writes too little to tell.
func (o *outcome) hoards(ref *outcome) bool {
	const usual = 16 << 20 // bytes that a language runtime takes anyway
	if o.wait == 0 || ref.peak == 0 || ref.total < 8<<20 {
		return false // there was no late reader, or too little output
	}
	return o.peak-max(ref.peak, usual) > ref.total/2
}

// crashes are signals by which no program ends on purpose.
var crashes = []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"}

// endsInTime judges a program that has to end in time and without a crash, whatever it writes.
func endsInTime(p *program, f *finding, o *outcome) {
	ref := p.ref().last()
	switch {
	case o.end == "" && p.ref().endless():
		f.cannotTell("with a file it does not end either")
	case o.end == "" && o.unreadErr:
		f.slow("waits for ever: it writes %s to standard error, and nobody reads that",
			size(ref.stderrBytes))
	case o.end == "" && o.working(ref):
		f.cannotTell("was still at work after %s: give it more time with --timeout",
			duration(o.took))
	case o.end == "":
		f.fails("had not ended after %s: %s of %s written, %s of CPU time used",
			duration(o.took), size(o.total), size(ref.total), duration(o.cpu))
	case slices.Contains(crashes, o.end) && !p.ref().anyEnded(o.end):
		f.fails("is killed by %s: %s", o.end, o.words())
	case o.pipe == syspipe.PTY && o.end == "SIGPIPE":
		// A terminal raises no SIGPIPE, so the program wrote to another program that had ended.
		f.cannotTell("SIGPIPE: a pager that it starts ends, because there is no keyboard")
	case o.refusesTerminal() && !p.ref().anyEnded(o.end):
		f.ok("refuses to write to a terminal, and says so: %s, %s", o.end, o.words())
	case o.pipe == syspipe.PTY && p.ref().endedOtherwise(o.end):
		f.fails("%s, and with a file %s: %s", o.end, ref.end, o.words())
	default:
		wrote := size(o.total)
		hadItsInput := o.input == wholeInput || len(p.options.Stdin) == 0
		least, _ := p.ref().lengths()
		if hadItsInput && o.total < least {
			wrote += " of " + size(least)
		}
		f.ok("%s, %s; %s to standard error", o.end, wrote, size(o.stderrBytes))
	}
}

// working reports whether a program that did not end in time may just be slow. The run is compared
// with ref, a run whose output was a file.
func (o *outcome) working(ref *outcome) bool {
	wrote := o.lastOutputAt > 0 && o.took-o.lastOutputAt < time.Second
	computed := o.running || 2*o.cpu > o.took
	return wrote && o.total < ref.total || computed && o.cpu < 2*ref.cpu+time.Second/2
}

// refusesTerminal reports whether the program wrote nothing to a terminal and said why.
func (o *outcome) refusesTerminal() bool {
	said := strings.ToLower(o.said)
	names := strings.Contains(said, "terminal") || strings.Contains(said, "tty")
	return o.pipe == syspipe.PTY && o.code != 0 && o.total == 0 && names
}

// noticesThatTheReaderLeft judges a program that has to end because the reader of its output has
// closed the pipe.
func noticesThatTheReaderLeft(p *program, f *finding, o *outcome) {
	f.Class = classLeave
	ref := p.ref().last()
	switch {
	case o.end != "":
		f.ok("%s after %s", o.end, duration(o.endedAfterLeave))
	case ref.total == 0:
		f.cannotTell("it writes nothing")
	case p.ref().endless() && ref.total < 64<<10: // the pipe could hold it all
		f.cannotTell("it writes too little to notice that the reader has left")
	default:
		f.fails("runs on for %s after its reader left, using %s of CPU time",
			duration(o.endedAfterLeave), duration(o.cpu))
	}
}

// complains judges a program that has to report that its output device is full.
func complains(p *program, f *finding, o *outcome) {
	f.Class = classFull
	ref := p.ref().last()
	switch {
	case ref.total == 0:
		f.ok("writes nothing")
	case o.end == "":
		f.cannotTell("had not ended after %s", duration(o.took))
	case !p.ref().anyEnded(o.end):
		f.ok("%s: %s", o.end, o.words())
	case o.stderrBytes != ref.stderrBytes:
		f.ok("says so: %s", o.words())
	case o.code == 0:
		f.fails("%s, though nothing of %s was written", o.end, size(ref.total))
	default:
		f.cannotTell("%s, as with a file", o.end)
	}
}

// keepsLastLine judges what a program does with a last line of input that has no newline.
func keepsLastLine(p *program, f *finding, o *outcome) {
	input := bytes.TrimRight(p.options.Stdin, "\r\n")
	last := bytes.TrimSpace(input[bytes.LastIndexByte(input, '\n')+1:])
	lost := bytes.Count(o.out, last) < bytes.Count(p.ref().last().out, last)
	endsInTime(p, f, o)
	alike := p.ref().likeness() == sameBytes
	// a line of fewer than 4 bytes may stand elsewhere in the output by chance
	if f.Verdict == results.OK && len(last) >= 4 && alike && lost {
		f.fails("leaves out the last line, of %s", size(int64(len(last))))
	}
}
