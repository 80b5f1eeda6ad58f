package tune

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// workloadName names the workload to the engine's workers.
const workloadName = "tune"

func init() {
	bench.RegisterWorkload(bench.Workload{
		Name:   workloadName,
		Writer: func(ctx *bench.WorkloadContext) (any, error) { return script.Of(func() any { return write(ctx) }) },
		Reader: func(ctx *bench.WorkloadContext) (any, error) { return script.Of(func() any { return read(ctx) }) },
	})
}

// minLarge is how many large messages a sample has at least, so that a few probes fall due in the
// middle of one.
const minLarge = 3

// A tuneSample is a sample, and what of it has no place in [results.Sample]. Each end fills in the
// part that it knows.
type tuneSample struct {
	results.Sample
	Compared int64 // large messages, byte for byte, untimed
	Frame    int   // the size that a sender which sizes its frames had come to; else the framing's
}

// takeSample takes one sample of a cell.
func takeSample(ctx context.Context, p bench.Plan, c results.Cell) (tuneSample, error) {
	return script.Of(func() tuneSample {
		if s := script.Must(parseSender(c.Sender)); s.watermark > 0 {
			// It looks from the end that writes, which not every system can. That is found out here, where
			// the caller can tell what the system lacks.
			w, r := script.Must2(syspipe.Open(syspipe.Kind(c.Pipe), syspipe.Options{IO: syspipe.Blocking}))
			_, err := w.Buffered()
			script.Check(errors.Join(err, w.Close(), r.Close()))
		}
		probes := max(1, int64(c.Rate*p.Duration.Seconds()))
		var w, r tuneSample
		script.Check(p.RunWorkload(ctx, workloadName, c, probes, &w, &r))
		r.Writer, r.WireBytes, r.Capacity, r.Frame = w.Writer, w.Writer.Bytes, w.Capacity, w.Frame
		r.Load.Late, r.Latency["lateness"] = w.Load.Late, w.Latency["lateness"]
		return r
	})
}

// ProbeSize is the length of a probe in bytes: a small message, such as a notification or the
// answer to a ping.
const ProbeSize = 256

// A probe is a line of JSON in which three numbers stand as hexadecimal digits at fixed places:
//
//	{"jsonrpc":"2.0","method":"pipebench/probe","params":{"number":"00000000000003e7","due":"…","sent":"…","fill":"zzz…","again":"00000000000003e7"}}
//
// Its number stands at both ends, so that one that was cut or patched together from two is seen.
type probe struct {
	number uint64
	due    int64 // nanoseconds of the monotonic clock, as is sent
	sent   int64
}

// The last message of a phase says, as its number, how many large ones the reader should have had,
// and, as due, how many probes.
const (
	probeMethod = "pipebench/probe"
	endMethod   = "pipebench/done_"
)

// What stands before each of the numbers of a probe, and around its filling.
const (
	blank        = "################"
	digitCount   = len(blank)
	beforeNumber = `{"jsonrpc":"2.0","method":"` + probeMethod + `","params":{"number":"`
	beforeDue    = beforeNumber + blank + `","due":"`
	beforeSent   = beforeDue + blank + `","sent":"`
	beforeFill   = beforeSent + blank + `","fill":"`
	afterFill    = `","again":"` + blank + `"}}`
)

// probeShape is a probe with its digits blank, and probePlaces is where they go.
var (
	probeShape  = []byte(beforeFill + strings.Repeat("z", ProbeSize-len(beforeFill+afterFill)) + afterFill)
	probePlaces = [4]int{len(beforeNumber), len(beforeDue), len(beforeSent), ProbeSize - len(blank+`"}}`)}
)

// methodAt is where the method stands, by which probes are told from all else.
var methodAt = bytes.Index(probeShape, []byte(probeMethod))

// newProbes makes n blank probes in one piece of memory.
func newProbes(n int) [][]byte {
	return slices.AppendSeq(make([][]byte, 0, n), slices.Chunk(bytes.Repeat(probeShape, n), ProbeSize))
}

// stamp writes p's numbers into msg.
func (p probe) stamp(msg []byte) {
	var b [digitCount / 2]byte
	for i, v := range [4]uint64{p.number, uint64(p.due), uint64(p.sent), p.number} {
		binary.BigEndian.PutUint64(b[:], v)
		hex.Encode(msg[probePlaces[i]:], b[:])
	}
}

// isProbe tells a probe, or the last message of a phase, from a large message.
func isProbe(msg []byte) bool {
	return len(msg) == ProbeSize && bytes.HasPrefix(msg, probeShape[:methodAt+len("pipebench/")])
}

// isEnd tells the last message of a phase from a probe.
func isEnd(msg []byte) bool { return bytes.HasPrefix(msg[methodAt:], []byte(endMethod)) }

// readProbe reads the numbers of a probe back.
func readProbe(msg []byte) (probe, error) {
	var v [4]uint64
	var b [digitCount / 2]byte
	for i, at := range probePlaces {
		_, err := hex.Decode(b[:], msg[at:at+digitCount])
		if v[i] = binary.BigEndian.Uint64(b[:]); err != nil {
			return probe{}, fmt.Errorf("probe, byte %d: %q are not hexadecimal digits", at, msg[at:at+digitCount])
		}
	}
	if v[0] != v[3] {
		return probe{}, fmt.Errorf("probe with number %d at its head and %d at its tail", v[0], v[3])
	}
	return probe{v[0], int64(v[1]), int64(v[2])}, nil
}

// endOf returns the last message of a phase of so many large messages and probes.
func endOf(large, probes int64) []byte {
	msg := bytes.Clone(probeShape)
	copy(msg[methodAt:], endMethod)
	probe{number: uint64(large), due: probes}.stamp(msg)
	return msg
}

// Priorities in the Mux: what is small goes first.
const largePriority, probePriority = 0, 1

// A writer is the writing end: one goroutine that sends large messages without pause, one that sees
// what falls due, and one for each probe that waits.
type writer struct {
	ctx    *bench.WorkloadContext
	clock  *bench.Clock
	mux    *framers.Mux
	probes int64 // that fall due while the clock runs

	large    int64 // sent so far, the warm-up's among them
	late     int64
	lateness []int64
}

// write is the writing half of the workload, a script.
func write(ctx *bench.WorkloadContext) any {
	w := &writer{ctx: ctx, clock: script.Must(bench.NewClock())}
	script.Check(ctx.Params(&w.probes))
	behaves := script.Must(parseSender(ctx.Cell.Sender))
	var out io.Writer = ctx.Pipe
	if behaves.watermark > 0 {
		out = &watermark{pipe: ctx.Pipe, clock: w.clock, below: behaves.watermark}
	}
	opts := append(ctx.Options, framers.WithQueue(int(w.probes)+warmupProbes), framers.WithWait(behaves.wait))
	w.mux = framers.NewMux(out, ctx.Framing, opts...)
	w.lateness = make([]int64, 0, max(w.probes, warmupProbes))
	warmup := int64(1)
	if behaves.wait > 0 { // it learns the stream's rate: it needs the reader's, and some frames
		warmup = 3
	}
	w.phase(warmup, warmupProbes)
	w.late, w.lateness = 0, w.lateness[:0]
	count := ctx.Count()
	script.Check(ctx.Barrier())
	w.phase(minLarge, w.probes)
	var half tuneSample
	half.Writer, half.Load, half.Frame = count(), &results.Load{Late: w.late}, w.mux.FrameSize()
	half.Capacity, _ = ctx.Pipe.Capacity() // what cannot be told stays 0
	half.Latency = map[string]results.Latency{"lateness": script.Must(results.NewLatency(w.lateness))}
	return half
}

// warmupProbes go along with the warm-up, so that what sends them is warm too.
const warmupProbes = 16

// phase sends large messages until all probes have fallen due and at least as many large ones as
// asked for are sent. It returns when all is on the wire.
func (w *writer) phase(large, probes int64) {
	var due atomic.Bool // all of them
	failed := make(chan error, 1)
	go func() { failed <- w.sendLarge(large, &due) }()
	err := w.sendProbes(probes)
	due.Store(true)
	script.Check(errors.Join(err, <-failed))
	script.Check(w.mux.Send(context.Background(), largePriority, endOf(w.large, probes)))
}

// sendLarge sends large messages, one after the other. It runs on a goroutine of its own, since the
// ctx's is bound to its thread: the turn would pass from thread to thread.
func (w *writer) sendLarge(atLeast int64, due *atomic.Bool) error {
	for sent := int64(0); sent < atLeast || !due.Load(); sent++ {
		w.ctx.SampleCPU()
		if err := w.mux.Send(context.Background(), largePriority, w.ctx.Source.Message(w.large)); err != nil {
			return fmt.Errorf("send large message %d: %w", w.large, err)
		}
		w.large++
	}
	return nil
}

// sendProbes sends each probe when it is due, whether those before it are out or not. One that
// finds this goroutine late is sent at once, and waited from when it was due.
func (w *writer) sendProbes(probes int64) error {
	msgs := newProbes(int(probes))
	period := 1e9 / w.ctx.Cell.Rate
	start := w.clock.Now()
	var waiting sync.WaitGroup
	failed := make([]error, probes)
	for i := range probes {
		due := start + int64(float64(i)*period)
		w.clock.Await(due, false)
		now := w.clock.Now()
		if w.lateness = append(w.lateness, now-due); float64(now-due) > period {
			w.late++
		}
		probe{uint64(i), due, now}.stamp(msgs[i])
		waiting.Go(func() { failed[i] = w.mux.Send(context.Background(), probePriority, msgs[i]) })
		runtime.Gosched() // else it would wait behind this goroutine, which sleeps without the scheduler's knowledge
	}
	waiting.Wait()
	if i := slices.IndexFunc(failed, func(err error) bool { return err != nil }); i >= 0 {
		return fmt.Errorf("send probe %d: %w", i, failed[i])
	}
	return nil
}

// A watermark is a sender that keeps the unread bytes of a pipe low: it offers a frame when fewer
// than a number of bytes wait to be read. No system tells a writer when that is so, so it looks,
// sleeps, and looks again. It belongs to one goroutine at a time.
type watermark struct {
	pipe  *syspipe.End
	clock *bench.Clock
	below int // bytes
}

// lookAgain is how long it sleeps between two looks, in nanoseconds: less than a reader of 200 MB/s
// takes for a page.
const lookAgain = 15_000

// patience is how long it waits for a reader that takes nothing at all, in nanoseconds. Then it
// writes: if the reader is gone the write says so.
const patience = 5_000_000_000

func (w *watermark) Write(p []byte) (int, error) {
	if err := w.await(); err != nil {
		return 0, err
	}
	return w.pipe.Write(p)
}

// Writev lets a frame out whole, as the pipe's own does.
func (w *watermark) Writev(bufs [][]byte) (int64, error) {
	if err := w.await(); err != nil {
		return 0, err
	}
	return w.pipe.Writev(bufs)
}

func (w *watermark) await() error {
	for began := int64(0); ; {
		unread, err := w.pipe.Buffered()
		if err != nil {
			return fmt.Errorf("keep unread bytes below %d: %w", w.below, err)
		}
		if unread < w.below {
			return nil // most often at once, and without a look at the clock
		}
		now := w.clock.Now()
		if began = cmp.Or(began, now); now-began > patience {
			return nil
		}
		w.clock.Await(now+lookAgain, false)
	}
}

// A reader is the reading end.
type reader struct {
	ctx    *bench.WorkloadContext
	clock  *bench.Clock
	r      framers.Reader
	probes int64 // that fall due while the clock runs

	large        int64 // received so far, the warm-up's among them
	payload      int64
	last         int64 // when the last message that is no phase's end was there
	due, service []int64
}

// read is the reading half of the workload, a script.
func read(ctx *bench.WorkloadContext) any {
	r := &reader{ctx: ctx, clock: script.Must(bench.NewClock())}
	script.Check(ctx.Params(&r.probes))
	var in io.Reader = ctx.Pipe
	if c := ctx.Cell; c.Drain > 0 {
		in = &slowReader{Pace: bench.Pace{PerSecond: c.Drain}, r: in, clock: r.clock, spin: c.Placement == "apart" || c.Placement == "far"}
	}
	r.r = ctx.Framing.NewReader(in, ctx.Options...)
	n := max(r.probes, warmupProbes)
	r.due, r.service = make([]int64, 0, n), make([]int64, 0, n)
	began := r.clock.Now()
	r.phase(warmupProbes, ctx.Source.Compare)
	half := tuneSample{Compared: r.large}
	half.Warmup = &results.Warmup{Messages: r.large + warmupProbes, ElapsedNS: r.clock.Now() - began}
	r.payload, r.due, r.service = 0, r.due[:0], r.service[:0]
	count := ctx.Count()
	script.Check(ctx.Barrier())
	began = r.clock.Now()
	r.phase(r.probes, ctx.Source.Check)
	half.ElapsedNS, half.Messages, half.PayloadBytes = r.last-began, r.large-half.Compared+r.probes, r.payload
	half.Reader = count()
	half.Latency = map[string]results.Latency{
		"due":     script.Must(results.NewLatency(r.due)),
		"service": script.Must(results.NewLatency(r.service)),
	}
	half.Load = &results.Load{Due: r.probes, Sent: r.probes, Achieved: float64(r.probes) / (float64(max(1, half.ElapsedNS)) / 1e9)}
	return half
}

// phase receives what the writer sends in one phase, to its last message, which says how much that
// was. Probes may overtake each other, but each comes once.
func (r *reader) phase(probes int64, check func(int64, []byte) error) {
	seen, count := make([]bool, probes), int64(0)
	for {
		msg, err := r.r.ReadMessage()
		if err != nil {
			script.Check(fmt.Errorf("receive, after %d large messages and %d probes: %w", r.large, count, err))
		}
		now := r.clock.Now()
		if !isProbe(msg) {
			r.last, r.payload = now, r.payload+int64(len(msg))
			r.ctx.SampleCPU()
			script.Check(check(r.large, msg))
			r.large++
			continue
		}
		p := script.Must(readProbe(msg))
		switch {
		case isEnd(msg) && (r.large != int64(p.number) || count != p.due):
			script.Check(fmt.Errorf("%d large messages and %d probes came, %d and %d were sent", r.large, count, p.number, p.due))
		case isEnd(msg):
			return
		case p.number >= uint64(probes) || seen[p.number]:
			script.Check(fmt.Errorf("probe %d came twice, or was never sent", p.number))
		}
		seen[p.number] = true
		count++
		r.last, r.payload = now, r.payload+int64(len(msg))
		r.due, r.service = append(r.due, now-p.due), append(r.service, now-p.sent)
	}
}

// readQuantum is how many bytes a reader with a rate takes at once: a page. More would let the pipe
// run in jerks, and a probe wait for one of them.
const readQuantum = 4 << 10

// A slowReader reads no more bytes a second than it allows itself, as a program does that works on
// each byte. It belongs to one goroutine.
type slowReader struct {
	bench.Pace
	r     io.Reader
	clock *bench.Clock
	spin  bool // the CPU is the reader's own: it works there, as such a program would
}

// Read waits until the bytes of the reads before are paid for.
func (s *slowReader) Read(p []byte) (int, error) {
	s.clock.Await(s.Next, s.spin)
	n, err := s.r.Read(p[:min(len(p), readQuantum)])
	s.Take(n, s.clock.Now())
	return n, err
}
