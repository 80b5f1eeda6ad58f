package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
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

// A program is one that is checked, and what it did when its output was a file.
type program struct {
	o       Options
	ref     *outcome
	alike   bool // the second time it did the same
	stable  int  // bytes of the output that were the same both times
	endless bool // it did not end by itself
	bound   int64
	shown   *outcome // what it did at a terminal; nil where it was not tried
}

// Program checks a program that runs once, or a filter, which reads o.Stdin. A command that cannot
// be started is an error.
func Program(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Program); err != nil {
		return err
	}
	o.Timeout, o.runtime = cmp.Or(o.Timeout, usualTime), runtimeOf(o.Command)
	p := &program{o: o, bound: mostCompared}
	reference, err := catalogue.Find(catalogue.Surroundings, "reference")
	if err != nil {
		return err
	}
	first := o.one(ctx, catalogue.Program, reference, func(ctx context.Context, f *finding) {
		err = script.Run(func() { p.refer(ctx, f) })
	})
	if err != nil {
		return err
	}
	tries := map[string]situation{
		"reference":    func(_ context.Context, f *finding) { *f = first },
		"block-buffer": p.blockBuffer,
	}
	for name, w := range ways {
		if (name == "stdin-trickle" || name == "stdin-cut-line") && len(o.Stdin) == 0 {
			continue // they are about filters
		}
		tries[name] = func(ctx context.Context, f *finding) { p.try(ctx, f, w) }
	}
	return o.try(ctx, catalogue.Program, tries, sink)
}

// try starts the program in one way, and judges what it did.
func (p *program) try(ctx context.Context, f *finding, w way) {
	m := w.manner
	m.midway, m.settle = max(1, min(p.ref.total/2, spill)), max(quiet, min(3*p.ref.took, 4*quiet))
	o := f.start(ctx, m, p.limit(), p.bound)
	if f.evidence = p.evidence(o); m.pipe == syspipe.PTY {
		p.shown = o
	}
	line := proc.ShellLine(f.Command)
	if f.o.Stdin != nil && !m.closed && !m.trickle && m.input == nil && !m.silent {
		line += " < INPUT"
	}
	f.Reproduce = strings.Replace(reproduce()[f.Name], "CMD", line, 1)
	judge := w.judge
	if judge == nil {
		judge = (*program).same
	}
	judge(p, f, o)
	if o.spins && !p.endless && o.cpu-p.ref.cpu > max(100*time.Millisecond, p.ref.cpu) {
		f.class = "spin"
		f.fails("burns a CPU while it waits: %s, where all of its work takes %s", duration(o.cpu), duration(p.ref.cpu))
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
	"stdin-empty":              {manner{input: func([]byte) io.Reader { return bytes.NewReader(nil) }}, (*program).ends},
	"stdin-silent":             {manner{silent: true}, (*program).ends},
	"stdin-trickle":            {manner: manner{trickle: true}},
	"stdin-cut-line": {manner{input: func(whole []byte) io.Reader {
		return bytes.NewReader(bytes.TrimRight(whole, "\r\n"))
	}}, (*program).keepsLast},
}

// refer finds out what the program does when its output is a file, twice.
func (p *program) refer(ctx context.Context, f *finding) {
	second := p.toFile(ctx, f)
	p.ref = p.toFile(ctx, f)
	p.endless = p.ref.end == "" || second.end == ""
	p.stable = samePrefix(p.ref.out, second.out)
	p.alike = p.ref.total == second.total && p.ref.end == second.end && p.stable == len(p.ref.out)
	wrote, from := size(p.ref.total)+", "+p.ref.end, results.FormatGrouped(int64(p.stable))
	switch {
	case len(p.ref.holding) > 0:
		f.fails("leaves %s behind, which holds its output: who reads to the end waits for it", strings.Join(p.ref.holding, ", "))
	case p.endless:
		p.bound = int64(max(1, min(p.stable, 4*spill)))
		f.ok("runs on: what it writes at first is compared")
	case !p.alike && p.o.Deterministic:
		f.Advice = "leave out of the output what no two runs have in common: times, process numbers, the order of a map"
		f.fails("two runs differ from byte %s on (%s, then %s, %s)", from, size(second.total), second.end, wrote)
	case !p.alike:
		f.ok("%s; two runs differ from byte %s on: what stands behind is not judged", wrote, from)
	case len(p.ref.left) > 0:
		f.ok("%s; leaves %s behind, which holds none of its output", wrote, strings.Join(p.ref.left, ", "))
	default:
		f.ok("%s, twice the same", wrote)
	}
	f.evidence = p.evidence(p.ref)
}

func (p *program) toFile(ctx context.Context, f *finding) *outcome {
	file := script.Must(os.CreateTemp("", "pipebench-check-"))
	defer os.Remove(file.Name())
	defer file.Close()
	o := f.start(ctx, manner{file: file}, p.o.Timeout, mostCompared)
	o.total = script.Must(file.Stat()).Size()
	o.out = make([]byte, min(o.total, mostCompared))
	script.Must(file.ReadAt(o.out, 0))
	return o
}

// limit is what one start has: more than the reference took, since a slow reader holds it up.
func (p *program) limit() time.Duration { return max(p.o.Timeout, 3*p.ref.took+2*slowTime) }

func (p *program) evidence(o *outcome) *ProgramEvidence {
	return &ProgramEvidence{
		Bytes: o.total, Expected: p.ref.total, SHA256: fmt.Sprintf("%x", sha256.Sum256(o.out)),
		Exit: cmp.Or(o.end, "none"), Stderr: o.words(), Logged: o.logs, ElapsedNS: int64(o.took),
		FirstNS: int64(o.first), CPUNS: int64(o.cpu), PeakBytes: o.peak, Queued: int64(o.queued),
	}
}

// same judges a program that has to do what it does with a file.
func (p *program) same(f *finding, o *outcome) {
	d := p.compare(o)
	if f.class = d.class; d.class != "" {
		f.evidence.(*ProgramEvidence).DiffersAt = new(int64(d.at))
	}
	gaveUp := o.end != "" && o.code != 0 && o.end != p.ref.end
	says := ""
	if o.words() != "" && o.words() != p.ref.words() {
		says = ": " + o.words()
	}
	grown := o.peak - max(p.ref.peak, 16<<20)
	switch {
	case o.end == "" && !p.endless:
		p.ends(f, o)
	case gaveUp && o.nonBlock:
		f.ok("takes no non-blocking output, and says so: %s%s", o.end, says)
	case d.class != "" && gaveUp:
		f.fails("%s; %s%s", d.text, o.end, says)
	case d.class != "":
		f.fails("%s; %s", d.text, cmp.Or(o.end, "running on"))
	case o.end != p.ref.end && p.alike && !p.endless:
		f.fails("%s, and with a file %s%s", o.end, p.ref.end, says)
	case o.wait > 0 && p.ref.peak > 0 && p.ref.total >= 8*spill && grown > p.ref.total/2:
		f.class = "memory"
		f.fails("holds what is not read in memory: %s, where with a file it is %s",
			results.FormatSize(o.peak), results.FormatSize(p.ref.peak))
	default:
		f.ok("%s, %s", size(min(o.total, p.ref.total)), cmp.Or(o.end, "running on"))
	}
}

// compare says how the output differs from that to a file, where it is wrong beyond doubt.
func (p *program) compare(o *outcome) difference {
	want := p.ref.out[:p.stable]
	if p.endless {
		want = want[:min(len(want), int(p.bound))]
	}
	d := differ(want, o.out[:min(len(o.out), len(want))])
	cut := d.class == "lost" && d.at == len(o.out)
	switch {
	case cut && p.endless:
		return difference{} // the rest may come later
	case cut:
		d.class, d.text = "cut", fmt.Sprintf("cut at %s of %s", size(o.total), size(p.ref.total))
		if o.total == int64(o.holds) {
			d.text = fmt.Sprintf("cut at %s: what one pipe holds", size(o.total))
		} else if o.queued > 0 && o.total == int64(o.queued) {
			queue := map[bool]string{true: "pipe", false: "pair of sockets"}[o.holds > 0]
			d.text = fmt.Sprintf("cut at %s: what a %s holds that nobody reads", size(o.total), queue)
		}
	case d.class == "" && o.total > p.ref.total && p.alike && !p.endless:
		d = difference{"longer", fmt.Sprintf("%s too many at the end", size(o.total-p.ref.total)), int(p.ref.total)}
	}
	return d
}

// crashes are signals by which nobody ends on purpose.
var crashes = []string{"SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"}

// ends judges a program that has to end, whatever it writes.
func (p *program) ends(f *finding, o *outcome) {
	switch {
	case o.end == "" && p.endless:
		f.cannotTell("it runs on in any case")
	case o.end == "" && o.unreadErr:
		f.slow("waits for ever: it writes %s to standard error, and nobody reads that", size(p.ref.logs))
	case o.end == "":
		f.fails("had not ended after %s, with %s of %s written, on %s of CPU",
			duration(o.took), size(o.total), size(p.ref.total), duration(o.cpu))
	case slices.Contains(crashes, o.end) && o.end != p.ref.end:
		f.fails("is killed by %s: %s", o.end, o.words())
	case o.pipe == syspipe.PTY && o.end != p.ref.end && !p.endless && p.alike:
		f.fails("%s, and with a file %s: %s", o.end, p.ref.end, o.words())
	default:
		f.ok("%s, %s; %s to standard error", o.end, size(o.total), size(o.logs))
	}
}

// notices judges a program whose reader has left.
func (p *program) notices(f *finding, o *outcome) {
	f.evidence.(*ProgramEvidence).NoticedNS = int64(o.noticed)
	f.class = "leave"
	switch {
	case o.end != "":
		f.ok("%s after %s", o.end, duration(o.noticed))
	case p.ref.total == 0:
		f.cannotTell("it writes nothing")
	case p.endless && p.ref.total < 64<<10:
		f.cannotTell("it writes too little to notice that the reader has left")
	default:
		f.fails("runs on for %s without its reader, on %s of CPU", duration(o.noticed), duration(o.cpu))
	}
}

// complains judges a program whose output has no room.
func (p *program) complains(f *finding, o *outcome) {
	f.class = "full"
	switch {
	case p.ref.total == 0:
		f.ok("writes nothing")
	case o.end == "":
		f.cannotTell("had not ended after %s", duration(o.took))
	case o.end != p.ref.end:
		f.ok("%s: %s", o.end, o.words())
	case o.logs != p.ref.logs:
		f.ok("says so: %s", o.words())
	case o.code == 0:
		f.fails("%s, though nothing of %s was written", o.end, size(p.ref.total))
	default:
		f.cannotTell("%s, as with a file", o.end)
	}
}

// keepsLast judges what becomes of a last line that nothing ends.
func (p *program) keepsLast(f *finding, o *outcome) {
	input := bytes.TrimRight(p.o.Stdin, "\r\n")
	last := bytes.TrimSpace(input[bytes.LastIndexByte(input, '\n')+1:])
	lost := bytes.Count(o.out, last) < bytes.Count(p.ref.out, last)
	if p.ends(f, o); f.Verdict == results.CheckOK && len(last) >= 4 && p.alike && lost {
		f.Found = ""
		f.fails("leaves out the last line, of %s", size(int64(len(last))))
	}
}

// late is how much later than to a terminal a line has to come to count as held back.
const late = 200 * time.Millisecond

// blockBuffer compares when lines come to a terminal and through a pipe. Those of a program that is
// soon done come soon, and what it writes just before its end is not held back for long, however much
// its start took: so it need not be started for that again.
func (p *program) blockBuffer(ctx context.Context, f *finding) {
	if p.ref.took < 2*late {
		f.ok("all is written within %s", duration(p.ref.took))
		return
	}
	if o := p.shown; o != nil && len(o.arrivals) > 0 && o.took-o.arrivals[0].at < late {
		f.ok("all is written within the last %s", duration(o.took-o.arrivals[0].at))
		return
	}
	for range 2 { // a busy machine holds lines back, too: twice, and by more than two starts at a terminal differ, is no chance
		shown := f.start(ctx, manner{pipe: syspipe.PTY}, p.limit(), p.bound)
		piped := f.start(ctx, manner{}, p.limit(), p.bound)
		f.evidence, p.shown = p.evidence(piped), cmp.Or(p.shown, shown)
		behind, usual := piped.behind(shown), max(shown.behind(p.shown), p.shown.behind(shown))
		if len(shown.arrivals) < 4 || 3*len(piped.arrivals) > len(shown.arrivals) || behind < late+usual {
			f.ok("what comes to a terminal in %s comes through a pipe in %s",
				results.FormatCount(len(shown.arrivals), "piece"), results.FormatCount(len(piped.arrivals), "piece"))
			return
		}
		f.class, f.Reproduce = "buffer", strings.Replace(reproduce()[f.Name], "CMD", proc.ShellLine(f.Command), 1)
		buffer := size(piped.total) + " or more"
		if len(piped.arrivals) > 1 { // blocks come, and the last may be smaller
			buffer = size(piped.arrivals[0].bytes)
		}
		f.slow("lines come up to %s late: it gathers them in a buffer of %s where its output is no terminal",
			duration(behind), buffer)
	}
}

// behind returns the most by which bytes came later than of another start, as seen both from the start of
// the program and from its end: on a busy machine one start is slower than another, and a terminal takes
// longer than a pipe for the same output.
func (o *outcome) behind(other *outcome) (most time.Duration) {
	for _, a := range other.arrivals {
		if i := slices.IndexFunc(o.arrivals, func(b arrival) bool { return b.bytes >= a.bytes }); i >= 0 {
			at := o.arrivals[i].at
			most = max(most, min(at-a.at, (other.took-a.at)-(o.took-at)))
		}
	}
	return most
}

func duration(d time.Duration) string { return results.FormatDuration(float64(d)) }

// A difference is how an output departs from the expected one.
type difference struct {
	class string // "lost", which to send twice is too, "cut", "altered", "longer"; "" for none
	text  string // in words
	at    int    // the first byte that differs
}

// probe is how many bytes have to agree for a place to be recognised.
const probe = 32

// differ finds how got departs from want. An output that ends too soon is "lost" at its end.
func differ(want, got []byte) difference {
	at := samePrefix(want, got)
	if at == len(want) && at == len(got) {
		return difference{at: at}
	}
	rest := got[at:]
	where := "at byte " + results.FormatGrouped(int64(at))
	if len(rest) == 0 {
		return difference{"lost", fmt.Sprintf("lost %s %s", size(int64(len(want)-at)), where), at}
	}
	clue := rest[:min(probe, len(rest))]
	if bytes.HasPrefix(want, clue) && len(clue) == probe {
		return difference{"lost", fmt.Sprintf("sent again from the beginning %s", where), at}
	}
	if i := bytes.Index(want[at:], clue); i > 0 {
		return difference{"lost", fmt.Sprintf("lost %s %s", size(int64(i)), where), at}
	}
	if i := bytes.LastIndex(want[:at], clue); i >= 0 && len(clue) == probe {
		return difference{"lost", fmt.Sprintf("sent %s again %s", size(int64(at-i)), where), at}
	}
	return difference{"altered", "altered " + where, at}
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
