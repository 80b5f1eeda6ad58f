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

// mostCompared is how many bytes of output are compared. A program that writes more counts as
// endless.
const mostCompared = 32 << 20

// A program is the program that is checked, and what is known about it.
type program struct {
	options Options
	mu      sync.Mutex
	runs    reference // the runs so far in which the program's output was a file
}

// ref returns the runs so far in which the program's output was a file.
func (p *program) ref() reference {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.runs)
}

// Program checks a program that ends by itself, or at the end of o.Stdin, as a filter does. It
// returns an error if the command cannot be started, or if it fails without any output.
func Program(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Program); err != nil {
		return err
	}
	if o.Timeout <= 0 {
		o.Timeout = usualTime
	}
	p := &program{options: o}
	first, finished, err := p.findReference(ctx)
	if err != nil {
		return err
	}
	if !finished { // there is nothing to compare with
		if err := sink(first.Finding); err != nil {
			return err
		}
		return context.Cause(ctx) // nil unless the check was ended
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

// A programSituation says how the streams of a run are set up, and how the program has to react.
type programSituation struct {
	name    string
	streams streams
	judge   func(*program, *finding, *outcome)
	line    string // a shell line that repeats the test, with CMD for the command; "" for none
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

// lateReader returns a shell line that begins to read the output of CMD after one second. The
// parameter makePipe is Python code that makes r and w, the two ends of the pipe.
func lateReader(makePipe string) string {
	return `python3 -c 'import os,socket,subprocess as s,sys,time; ` + makePipe +
		`; p=s.Popen(sys.argv[1:],stdout=w); w.close(); time.sleep(1); ` +
		`print(sum(iter(lambda:len(os.read(r.fileno(),65536)),0)),p.wait())' CMD`
}

// findReference finds out what the program does when its output is a file. The result finished is
// false if the program needs more time for that.
func (p *program) findReference(ctx context.Context) (first finding, finished bool, err error) {
	about, err := catalogue.Find(catalogue.For(catalogue.Program), "reference")
	if err != nil {
		return finding{}, false, err
	}
	first = p.options.tryOne(ctx, catalogue.Program, about,
		func(ctx context.Context, f *finding) error {
			err = p.learn(ctx, f)
			switch {
			case errors.Is(err, errSlower):
				p.askForTime(f, errSlower.Error())
				err = nil
			case err == nil && p.unfinished():
				p.askForTime(f, "was still at work after "+duration(p.ref().last().took))
			case err == nil:
				finished = true
				p.judgeReference(f)
			}
			return err
		})
	return first, finished, err
}

// try runs the program in one test situation, and judges what the program did.
func (p *program) try(ctx context.Context, f *finding, s programSituation) error {
	ref := p.ref().last()
	own := s.streams
	own.midway = max(1, min(ref.total/2, 1<<20))
	own.work = ref.cpu
	own.settle = max(quiet, min(3*ref.took, 4*quiet))
	o, err := f.start(ctx, own, p.limit(), p.bound())
	if err != nil {
		return err
	}
	command := proc.ShellLine(p.options.Command)
	if p.options.Stdin != nil && own.input == wholeInput {
		command += " < INPUT"
	}
	f.Reproduce = strings.Replace(s.line, "CMD", command, 1)
	if err := p.judgeStart(ctx, f, s, o); err != nil {
		return err
	}
	p.judgeSpin(f, o)
	return nil
}

// judgeStart judges o, a run of the program in the test s. If that run seems wrong, more runs with
// a file as output may show that the program's output just varies from run to run.
func (p *program) judgeStart(
	ctx context.Context, f *finding, s programSituation, o *outcome,
) error {
	for {
		f.clear()
		s.judge(p, f, o)
		if f.Verdict != results.Fails || o.end == "" {
			return nil
		}
		varies, err := p.variesMore(ctx, f)
		if errors.Is(err, errSlower) {
			p.askForTime(f, errSlower.Error())
			return nil
		}
		if err != nil {
			return err
		}
		if !varies {
			break
		}
	}
	meant, err := p.writesOtherToPipes(ctx, f, o)
	if err == nil && meant {
		f.clear()
		f.cannotTell("writes other bytes into a pipe than into a file, the same each time")
	}
	return err
}

// askForTime makes the verdict "cannot-tell", gives the reason, and tells the user to allow more
// time.
func (p *program) askForTime(f *finding, why string) {
	f.clear()
	f.cannotTell("%s: give it more time by --timeout, such as --timeout %s", why,
		6*p.options.Timeout)
}

// If a run differs from the runs with a file as output, doubtRuns more runs are made with a file.
// The difference counts only if all of these are like the earlier runs with a file.
const doubtRuns = 3

// variesMore runs the program up to doubtRuns times with a file as its output. It reports whether
// the outputs, or the ways in which the runs end, vary more than the earlier runs showed.
func (p *program) variesMore(ctx context.Context, f *finding) (bool, error) {
	alike := p.ref().likeness()
	ends := p.ref().allEndedAlike()
	runs := doubtRuns
	if f.Class == classCut && alike <= sameNumbers {
		runs = 1 // if the runs differ in numbers at most, a cut output is plainly wrong
	}
	for range runs {
		if len(p.ref()) >= mostReferences {
			break
		}
		if err := p.addRun(ctx, f); err != nil {
			return false, err
		}
		if p.ref().likeness() != alike || p.ref().allEndedAlike() != ends {
			return true, nil
		}
	}
	return false, nil
}

// writesOtherToPipes reports whether the program writes to every pipe the same as in the run o, but
// something else to a file. A program may do so on purpose: zip goes back in a file to fill in a
// size.
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

// judgeSpin sets the verdict "fails" if the program burned CPU time while it had to wait.
func (p *program) judgeSpin(f *finding, o *outcome) {
	usual := p.ref().last().cpu
	if o.spins && !p.ref().endless() && o.cpu-usual > spinningAbove(usual) {
		f.Class = classSpin
		f.fails("burns a CPU while it waits: %s, where all of its work takes %s",
			duration(o.cpu), duration(usual))
	}
}

// limit is how long one run may take. It is longer than a run takes whose output is a file, since a
// slow reader delays the program.
func (p *program) limit() time.Duration {
	return max(p.options.Timeout, 3*p.ref().last().took+2*slowTime)
}

// bound is the number of bytes of output after which the reader closes its end of the pipe.
func (p *program) bound() int64 {
	if p.ref().endless() {
		return int64(max(1, min(p.ref().commonPrefix(), mostOfEndless)))
	}
	return mostCompared
}
