package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A ProgramEvidence is what the verdict on a program rests on. Sizes are bytes.
type ProgramEvidence struct {
	Bytes     int64  `json:"bytes"`                // that it wrote to standard output
	Expected  int64  `json:"expected"`             // that it wrote to a file
	SHA256    string `json:"sha256,omitempty"`     // of what it wrote, as far as that is compared
	DiffersAt *int64 `json:"differs_at,omitempty"` // the first byte that is not the expected one
	Exit      string `json:"exit"`
	Stderr    string `json:"stderr,omitempty"` // its last line
	Logged    int64  `json:"stderr_bytes,omitempty"`
	ElapsedNS int64  `json:"elapsed_ns"`
	FirstNS   int64  `json:"first_byte_ns,omitempty"`
	NoticedNS int64  `json:"noticed_ns,omitempty"` // how long it went on without its reader
	CPUNS     int64  `json:"cpu_ns,omitempty"`
	PeakBytes int64  `json:"peak_bytes,omitempty"`
	Queued    int64  `json:"queued_bytes,omitempty"` // when the late reader began
}

// mostCompared bounds the output that is compared, in bytes. What writes more counts as endless.
const mostCompared = 32 << 20

// A program is one that is checked.
type program struct {
	o     Options
	ref   reference // what it does when its output is a file
	shown *outcome  // what it did at a terminal; nil if that was not tried
}

// Program checks a program that runs once, or a filter, which reads o.Stdin. A command that cannot
// be started is an error, and so is one that fails before anything can be judged.
func Program(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Program); err != nil {
		return err
	}
	if o.Timeout <= 0 {
		o.Timeout = usualTime
	}
	o.runtime = runtimeOf(o.Command)
	p := &program{o: o}
	first, err := p.findReference(ctx)
	if err != nil {
		return err
	}
	if p.unfinished() {
		return sink(first.Finding)
	}
	tries := map[string]situation{
		"reference": func(_ context.Context, f *finding) error {
			*f = first
			return nil
		},
		"block-buffer": p.blockBuffer,
	}
	for name, w := range ways {
		if (name == "stdin-trickle" || name == "stdin-cut-line") && len(o.Stdin) == 0 {
			continue // they are about filters
		}
		tries[name] = func(ctx context.Context, f *finding) error { return p.try(ctx, f, w) }
	}
	return o.try(ctx, catalogue.Program, tries, sink)
}

// findReference learns what the program does with a file, and makes the finding about it.
func (p *program) findReference(ctx context.Context) (finding, error) {
	about, err := catalogue.Find(catalogue.For(catalogue.Program), "reference")
	if err != nil {
		return finding{}, err
	}
	first := p.o.one(ctx, catalogue.Program, about, func(ctx context.Context, f *finding) error {
		err = p.refer(ctx, f)
		if err == nil {
			err = p.unusable()
		}
		if err != nil {
			return err
		}
		if p.unfinished() {
			f.cannotTell(
				"was still at work after %s: give it more time by --timeout, such as --timeout %s",
				duration(p.ref.last().took),
				6*p.o.Timeout,
			)
		} else {
			p.judgeReference(f)
		}
		f.evidence = p.evidence(p.ref.last())
		return nil
	})
	return first, err
}

// try starts the program in one way, and judges what it did. Before a verdict that it is wrong
// stands, the program is started with a file again: it may be one that differs each time.
func (p *program) try(ctx context.Context, f *finding, w way) error {
	ref := p.ref.last()
	m := w.manner
	m.midway = max(1, min(ref.total/2, spill))
	m.settle = max(quiet, min(3*ref.took, 4*quiet))
	o, err := f.start(ctx, m, p.limit(), p.bound())
	if err != nil {
		return err
	}
	if m.pipe == syspipe.PTY {
		p.shown = o
	}
	line := proc.ShellLine(f.o.Command)
	if f.o.Stdin != nil && !m.closed && !m.trickle && m.input == nil && !m.silent {
		line += " < INPUT"
	}
	f.Reproduce = strings.Replace(reproduce()[f.name], "CMD", line, 1)
	judge := w.judge
	if judge == nil {
		judge = (*program).same
	}
	for {
		f.clear()
		f.evidence = p.evidence(o)
		judge(p, f, o)
		if f.Verdict != results.Fails || o.end == "" {
			break
		}
		varies, err := p.doubt(ctx, f)
		if err != nil {
			return err
		}
		if !varies {
			break
		}
	}
	p.judgeSpin(f, o)
	return nil
}

// doubts is how many more runs with a file have to be alike before a start counts as different.
const doubts = 3

// doubt starts the program with a file again, and reports whether it turned out to vary more than
// was known: a start that seems to be wrong may be one of those. An output that was cut is taken
// for it after one run, any other difference after several.
func (p *program) doubt(ctx context.Context, f *finding) (varies bool, err error) {
	alike, ends := p.ref.likeness(), p.ref.endsAlike()
	runs := doubts
	if f.Class == "cut" && alike <= sameNumbers {
		runs = 1
	}
	for range runs {
		if len(p.ref.all()) >= mostReferences {
			break
		}
		if err := p.again(ctx, f); err != nil {
			return false, err
		}
		if p.ref.likeness() != alike || p.ref.endsAlike() != ends {
			return true, nil
		}
	}
	return false, nil
}

// judgeSpin judges a program that ran all the while that it had to wait.
func (p *program) judgeSpin(f *finding, o *outcome) {
	usual := p.ref.last().cpu
	if o.spins && !p.ref.endless() && o.cpu-usual > max(100*time.Millisecond, usual) {
		f.Class = "spin"
		f.fails("burns a CPU while it waits: %s, where all of its work takes %s",
			duration(o.cpu), duration(usual))
	}
}

// A way is how a situation sets up a start, and judges it.
type way struct {
	manner
	judge func(*program, *finding, *outcome) // nil: it has to do as with a file
}

// reproduce has command lines that show situations, in which CMD stands for the command.
var reproduce = catalogue.Texts(reproduceText)

//go:embed reproduce.txt
var reproduceText string

// ways are the situations by their names in the catalogue.
var ways = map[string]way{
	"fast-reader":              {},
	"late-reader":              {manner: manner{wait: quiet}},
	"slow-reader":              {manner: manner{slow: true}},
	"small-pipe":               {manner: manner{capacity: 4096}},
	"socketpair":               {manner: manner{pipe: syspipe.SocketPair, wait: quiet}},
	"fifo":                     {manner: manner{pipe: syspipe.FIFO}},
	"nonblocking-pipe":         {manner: manner{nonBlock: true, wait: quiet}},
	"terminal":                 {manner{pipe: syspipe.PTY}, (*program).ends},
	"reader-leaves-at-once":    {manner{leaves: leavesAtOnce}, (*program).notices},
	"reader-leaves-after-line": {manner{leaves: leavesAfterLine}, (*program).notices},
	"reader-leaves-midway":     {manner{leaves: leavesMidway}, (*program).notices},
	"full-device":              {manner{device: "/dev/full"}, (*program).complains},
	"stderr-unread":            {manner{unreadErr: true}, (*program).ends},
	"stdin-closed":             {manner{closed: true}, (*program).ends},
	"stdin-empty":              {manner{input: emptyInput}, (*program).ends},
	"stdin-silent":             {manner{silent: true}, (*program).ends},
	"stdin-trickle":            {manner: manner{trickle: true}},
	"stdin-cut-line":           {manner{input: withoutLastNewline}, (*program).keepsLast},
}

func emptyInput([]byte) io.Reader { return bytes.NewReader(nil) }

func withoutLastNewline(whole []byte) io.Reader {
	return bytes.NewReader(bytes.TrimRight(whole, "\r\n"))
}

// limit is what one start has: more than the reference took, since a slow reader holds it up.
func (p *program) limit() time.Duration {
	return max(p.o.Timeout, 3*p.ref.last().took+2*slowTime)
}

// bound is how many bytes are read before the reader leaves a program that does not end.
func (p *program) bound() int64 {
	if p.ref.endless() {
		return int64(max(1, min(p.ref.stable(), 4*spill)))
	}
	return mostCompared
}

func (p *program) evidence(o *outcome) *ProgramEvidence {
	return &ProgramEvidence{
		Bytes:    o.total,
		Expected: p.ref.last().total,
		SHA256:   fmt.Sprintf("%x", sha256.Sum256(o.out)),
		Exit:     cmp.Or(o.end, "none"),
		Stderr:   o.words(),
		Logged:   o.logs,

		ElapsedNS: int64(o.took),
		FirstNS:   int64(o.first),
		CPUNS:     int64(o.cpu),
		PeakBytes: o.peak,
		Queued:    int64(o.queued),
	}
}

// same judges a program that has to do what it does with a file.
func (p *program) same(f *finding, o *outcome) {
	ref := p.ref.last()
	d, told := p.compare(o)
	f.Class = d.class
	if d.class != "" {
		f.evidence.(*ProgramEvidence).DiffersAt = new(int64(d.at))
	}
	gaveUp := o.end != "" && o.code != 0 && !p.ref.ends(o.end)
	says := ""
	if o.words() != "" && o.words() != ref.words() {
		says = ": " + o.words()
	}
	grown := o.peak - max(ref.peak, 16<<20)
	switch {
	case o.end == "" && !p.ref.endless():
		p.ends(f, o)
	case gaveUp && o.nonBlock:
		f.ok("takes no non-blocking output, and says so: %s%s", o.end, says)
	case d.class != "" && gaveUp:
		f.fails("%s; %s%s", d.text, o.end, says)
	case d.class != "":
		f.fails("%s; %s", d.text, cmp.Or(o.end, "running on"))
	case !p.ref.ends(o.end) && p.ref.endsAlike() && !p.ref.endless():
		f.fails("%s, and with a file %s%s", o.end, ref.end, says)
	case o.wait > 0 && ref.peak > 0 && ref.total >= 8*spill && grown > ref.total/2:
		f.Class = "memory"
		f.fails("holds what is not read in memory: %s, where with a file it is %s",
			results.FormatSize(o.peak), results.FormatSize(ref.peak))
	case !told:
		f.cannotTell("wrote %s; with a file no two runs write the same, so it cannot be compared",
			size(o.total))
	default:
		f.ok("%s, %s", size(min(o.total, ref.total)), cmp.Or(o.end, "running on"))
	}
}

// crashes are signals by which nobody ends on purpose.
var crashes = []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"}

// ends judges a program that has to end, whatever it writes.
func (p *program) ends(f *finding, o *outcome) {
	ref := p.ref.last()
	switch {
	case o.end == "" && p.ref.endless():
		f.cannotTell("it runs on in any case")
	case o.end == "" && o.unreadErr:
		f.slow(
			"waits for ever: it writes %s to standard error, and nobody reads that",
			size(ref.logs),
		)
	case o.end == "" && o.working(ref):
		f.cannotTell("was still at work after %s: give it more time by --timeout", duration(o.took))
	case o.end == "":
		f.fails("had not ended after %s, with %s of %s written, on %s of CPU",
			duration(o.took), size(o.total), size(ref.total), duration(o.cpu))
	case slices.Contains(crashes, o.end) && !p.ref.ends(o.end):
		f.fails("is killed by %s: %s", o.end, o.words())
	case o.refusesTerminal() && !p.ref.ends(o.end):
		f.ok("refuses to write to a terminal, and says so: %s, %s", o.end, o.words())
	case o.pipe == syspipe.PTY && !p.ref.ends(o.end) && !p.ref.endless() && p.ref.endsAlike():
		f.fails("%s, and with a file %s: %s", o.end, ref.end, o.words())
	default:
		f.ok("%s, %s; %s to standard error", o.end, size(o.total), size(o.logs))
	}
}

// working reports whether a start that did not end in its time still did the work that it does with
// a file: it used a CPU to the end, and not more of it than that work takes.
func (o *outcome) working(ref *outcome) bool {
	return (o.running || 2*o.cpu > o.took) && o.cpu < 2*ref.cpu+time.Second/2
}

// refusesTerminal reports whether a program wrote nothing to a terminal and said why, as programs
// do that write what is not for people to read.
func (o *outcome) refusesTerminal() bool {
	said := strings.ToLower(o.said)
	names := strings.Contains(said, "terminal") || strings.Contains(said, "tty")
	return o.pipe == syspipe.PTY && o.code != 0 && o.total == 0 && names
}

// notices judges a program whose reader has left.
func (p *program) notices(f *finding, o *outcome) {
	f.evidence.(*ProgramEvidence).NoticedNS = int64(o.noticed)
	f.Class = "leave"
	ref := p.ref.last()
	switch {
	case o.end != "":
		f.ok("%s after %s", o.end, duration(o.noticed))
	case ref.total == 0:
		f.cannotTell("it writes nothing")
	case p.ref.endless() && ref.total < 64<<10:
		f.cannotTell("it writes too little to notice that the reader has left")
	default:
		f.fails(
			"runs on for %s without its reader, on %s of CPU",
			duration(o.noticed),
			duration(o.cpu),
		)
	}
}

// complains judges a program whose output has no room.
func (p *program) complains(f *finding, o *outcome) {
	f.Class = "full"
	ref := p.ref.last()
	switch {
	case ref.total == 0:
		f.ok("writes nothing")
	case o.end == "":
		f.cannotTell("had not ended after %s", duration(o.took))
	case !p.ref.ends(o.end):
		f.ok("%s: %s", o.end, o.words())
	case o.logs != ref.logs:
		f.ok("says so: %s", o.words())
	case o.code == 0:
		f.fails("%s, though nothing of %s was written", o.end, size(ref.total))
	default:
		f.cannotTell("%s, as with a file", o.end)
	}
}

// keepsLast judges what becomes of a last line that nothing ends.
func (p *program) keepsLast(f *finding, o *outcome) {
	input := bytes.TrimRight(p.o.Stdin, "\r\n")
	last := bytes.TrimSpace(input[bytes.LastIndexByte(input, '\n')+1:])
	lost := bytes.Count(o.out, last) < bytes.Count(p.ref.last().out, last)
	p.ends(f, o)
	alike := p.ref.likeness() == sameBytes
	if f.Verdict == results.OK && len(last) >= 4 && alike && lost {
		f.Found = ""
		f.fails("leaves out the last line, of %s", size(int64(len(last))))
	}
}
