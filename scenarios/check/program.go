package check

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// mostCompared is how many bytes of output are compared at most. A program that writes more counts
// as endless.
const mostCompared = 32 << 20

// A program is the program that is checked, and what is known about it.
type program struct {
	o    Options
	mu   sync.Mutex
	runs reference // all runs so far with a file as its output

	slower bool // the first runs ended at some times, and at others not
}

// ref returns what the program does when its output is a file, as far as it is known.
func (p *program) ref() reference {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.runs)
}

// Program checks a program that runs once, or a filter, which reads o.Stdin. It returns an error if
// the command cannot be started, or fails before anything can be judged.
func Program(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Program); err != nil {
		return err
	}
	if o.Timeout <= 0 {
		o.Timeout = usualTime
	}
	p := &program{o: o}
	first, err := p.findReference(ctx)
	if err != nil {
		return err
	}
	if p.slower || p.unfinished() {
		return sink(first.Finding)
	}
	tries := map[string]situation{
		"reference": func(_ context.Context, f *finding) error {
			*f = first
			return nil
		},
		"block-buffer": p.blockBuffer,
	}
	for _, s := range programSituations {
		needsInput := s.streams.input == slowInput || s.streams.input == cutInput
		if needsInput && len(o.Stdin) == 0 {
			continue
		}
		tries[s.name] = func(ctx context.Context, f *finding) error { return p.try(ctx, f, s) }
	}
	return o.try(ctx, catalogue.Program, tries, sink)
}

// A programSituation says how the streams of a start are set up, and how the program has to react.
type programSituation struct {
	name     string
	streams  streams
	reaction func(*program, *finding, *outcome)
	line     string // a shell line that shows it, with CMD for the command; "" if there is none
}

// lateReader returns a shell line for situations that need Python: open is Python code that makes
// standard output, which is read a second late.
func lateReader(open string) string {
	return `python3 -c 'import os,socket,subprocess as s,sys,time; ` + open +
		`; p=s.Popen(sys.argv[1:],stdout=w); w.close(); time.sleep(1); ` +
		`print(sum(iter(lambda:len(os.read(r.fileno(),65536)),0)),p.wait())' CMD`
}

var programSituations = []programSituation{
	{"fast-reader", streams{}, sameAsFile, "CMD | cat | wc -c"},
	{"late-reader", streams{wait: quiet}, sameAsFile, "CMD | (sleep 1; wc -c)"},
	{"slow-reader", streams{slow: true}, sameAsFile, ""},
	{"small-pipe", streams{capacity: 4096}, sameAsFile, ""},
	{"socketpair", streams{pipe: syspipe.SocketPair, wait: quiet}, sameAsFile,
		lateReader("r,w=socket.socketpair()")},
	{"fifo", streams{pipe: syspipe.FIFO}, sameAsFile,
		"mkfifo f; cat f | wc -c & CMD > f; wait; rm f"},
	{"nonblocking-pipe", streams{nonBlock: true, wait: quiet}, sameAsFile,
		lateReader(`r,w=map(os.fdopen,os.pipe(),"rw"); os.set_blocking(w.fileno(),False)`)},
	{"terminal", streams{pipe: syspipe.PTY}, endsInTime, "CMD"},
	{"reader-leaves-at-once", streams{leaves: leavesAtOnce}, noticesThatTheReaderLeft,
		"CMD | true"},
	{"reader-leaves-after-line", streams{leaves: leavesAfterLine}, noticesThatTheReaderLeft,
		"CMD | head -n 1"},
	{"reader-leaves-midway", streams{leaves: leavesMidway}, noticesThatTheReaderLeft,
		"CMD | head -c 4096"},
	{"full-device", streams{device: "/dev/full"}, complains, "CMD > /dev/full; echo $?"},
	{"stderr-unread", streams{unreadErr: true}, endsInTime, "CMD 2>&1 >/dev/null | sleep 5"},
	{"stdin-closed", streams{input: closedInput}, endsInTime, "CMD <&-"},
	{"stdin-empty", streams{input: emptyInput}, endsInTime, "CMD </dev/null"},
	{"stdin-silent", streams{input: silentInput}, endsInTime, "sleep 1 | CMD"},
	{"stdin-trickle", streams{input: slowInput}, sameAsFile, ""},
	{"stdin-cut-line", streams{input: cutInput}, keepsLastLine, "printf 'last line' | CMD"},
}

// findReference finds out what the program does when its output is a file, and makes the finding
// about that.
func (p *program) findReference(ctx context.Context) (finding, error) {
	about, err := catalogue.Find(catalogue.For(catalogue.Program), "reference")
	if err != nil {
		return finding{}, err
	}
	first := p.o.tryOne(ctx, catalogue.Program, about, func(ctx context.Context, f *finding) error {
		err = p.learn(ctx, f)
		if err == nil {
			err = p.unusable()
		}
		if err != nil {
			return err
		}
		if p.slower {
			p.askForTime(f)
		} else if p.unfinished() {
			f.cannotTell("was still at work after %s: "+
				"give it more time by --timeout, such as --timeout %s",
				duration(p.ref().last().took), 6*p.o.Timeout)
		} else {
			p.judgeReference(f)
		}
		return nil
	})
	return first, err
}

// try starts the program in one situation, and judges what it did. If it seems to be wrong, try
// first starts the program with a file again: its output may differ from run to run.
func (p *program) try(ctx context.Context, f *finding, s programSituation) error {
	ref := p.ref().last()
	own := s.streams
	own.midway = max(1, min(ref.total/2, spill))
	own.work = ref.cpu
	own.settle = max(quiet, min(3*ref.took, 4*quiet))
	o, err := f.start(ctx, own, p.limit(), p.bound())
	if err != nil {
		return err
	}
	f.Reproduce = strings.Replace(s.line, "CMD", p.line(own), 1)
	for {
		f.clear()
		s.reaction(p, f, o)
		if f.Verdict != results.Fails || o.end == "" {
			break
		}
		varies, err := p.doubt(ctx, f)
		if errors.Is(err, errSlower) {
			p.askForTime(f)
			break
		}
		if err != nil {
			return err
		}
		if varies {
			continue
		}
		meant, err := p.writesOtherToPipes(ctx, f, o)
		if err != nil {
			return err
		}
		if meant {
			f.clear()
			f.cannotTell("writes other bytes into a pipe than into a file, the same each time")
		}
		break
	}
	p.judgeSpin(f, o)
	return nil
}

// askForTime withdraws what was found, because the runs with a file do not all end in their time.
func (p *program) askForTime(f *finding) {
	f.clear()
	f.cannotTell("%s: give it more time by --timeout, such as --timeout %s", errSlower,
		6*p.o.Timeout)
}

// line returns the command as a shell line, with the program's input unless the situation makes
// another.
func (p *program) line(s streams) string {
	line := proc.ShellLine(p.o.Command)
	if p.o.Stdin != nil && s.input == wholeInput {
		line += " < INPUT"
	}
	return line
}

// doubts is how many more runs with a file have to be alike before a start counts as different.
const doubts = 3

// doubt starts the program with a file again, and reports whether it varies more than was known: if
// so, a start that seems wrong may be such a variation. One more run is enough to believe that an
// output was cut; any other difference needs several.
func (p *program) doubt(ctx context.Context, f *finding) (varies bool, err error) {
	alike := p.ref().likeness()
	ends := p.ref().endsAlike()
	runs := doubts
	if f.Class == classCut && alike <= sameNumbers {
		runs = 1
	}
	for range runs {
		if len(p.ref()) >= mostReferences {
			break
		}
		if err := p.addRun(ctx, f); err != nil {
			return false, err
		}
		if p.ref().likeness() != alike || p.ref().endsAlike() != ends {
			return true, nil
		}
	}
	return false, nil
}

// writesOtherToPipes reports whether the program writes this output, which differs from the output
// to a file and is no shorter, into any pipe. Such a program is right if it goes back in a file to
// fill in a size, as zip does.
func (p *program) writesOtherToPipes(
	ctx context.Context, f *finding, o *outcome,
) (bool, error) {
	if f.Class != classAltered && f.Class != classLonger || o.total < p.ref().last().total {
		return false, nil
	}
	for range 2 {
		usual, err := f.start(ctx, streams{}, p.limit(), p.bound())
		if err != nil {
			return false, err
		}
		if usual.end != o.end || !bytes.Equal(usual.out, o.out) {
			return false, nil
		}
	}
	return true, nil
}

// judgeSpin finds fault with a program that burned CPU time while it had to wait.
func (p *program) judgeSpin(f *finding, o *outcome) {
	usual := p.ref().last().cpu
	if o.spins && !p.ref().endless() && o.cpu-usual > tooMuch(usual) {
		f.Class = classSpin
		f.fails("burns a CPU while it waits: %s, where all of its work takes %s",
			duration(o.cpu), duration(usual))
	}
}

// limit is how long one start may take: longer than the reference took, since a slow reader holds
// the program up.
func (p *program) limit() time.Duration {
	return max(p.o.Timeout, 3*p.ref().last().took+2*slowTime)
}

// bound is how many bytes are read before the reader leaves a program that does not end.
func (p *program) bound() int64 {
	if p.ref().endless() {
		return int64(max(1, min(p.ref().stable(), 4*spill)))
	}
	return mostCompared
}
