package tune

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/script"
)

// workloadName names the workload to the engine's workers.
const workloadName = "tune"

func init() {
	end := func(half func(*bench.WorkloadContext) any) func(*bench.WorkloadContext) (any, error) {
		return func(ctx *bench.WorkloadContext) (any, error) {
			return script.Of(func() any { return half(ctx) })
		}
	}
	bench.RegisterWorkload(bench.Workload{Name: workloadName, Writer: end(write), Reader: end(read)})
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
	s, err := parseSender(c.Sender)
	if err != nil {
		return tuneSample{}, err
	}
	if s.watermark > 0 {
		if err := checkWatermark(c.Pipe); err != nil { // here, where the caller can tell what the system lacks
			return tuneSample{}, err
		}
	}
	probes := max(1, int64(c.Rate*p.Duration.Seconds()))
	var w, r tuneSample
	if err := p.RunWorkload(ctx, workloadName, c, probes, &w, &r); err != nil {
		return tuneSample{}, err
	}
	r.Writer, r.WireBytes, r.Capacity, r.Frame = w.Writer, w.Writer.Bytes, w.Capacity, w.Frame
	r.Load.Late, r.Latency["lateness"] = w.Load.Late, w.Latency["lateness"]
	return r, nil
}

// A sender is what a sender does beyond the framing, as a cell's field of that name has it. The
// zero sender does nothing.
type sender struct {
	watermark int           // keep fewer unread bytes than this before a frame is offered
	wait      time.Duration // size frames so that one takes the stream about this long
}

func (s sender) String() string {
	switch {
	case s.watermark > 0:
		return fmt.Sprintf("watermark=%d", s.watermark)
	case s.wait > 0:
		return "wait=" + s.wait.String()
	}
	return ""
}

// parseSender reads what String writes.
func parseSender(text string) (sender, error) {
	if text == "" {
		return sender{}, nil
	}
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "watermark":
		n, err := results.ParseSize(value)
		if err == nil && n > 0 {
			return sender{watermark: int(n)}, nil
		}
	case "wait":
		d, err := time.ParseDuration(value)
		if err == nil && d > 0 {
			return sender{wait: d}, nil
		}
	}
	return sender{}, fmt.Errorf("sender %q: want watermark=BYTES or wait=DURATION", text)
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

const digitCount = 16

// probeShape is a probe with its digits blank, and where they go.
var probeShape, probePlaces = func() ([]byte, [4]int) {
	blank := strings.Repeat("#", digitCount)
	before := `{"jsonrpc":"2.0","method":"` + probeMethod + `","params":{"number":"` + blank + `","due":"` + blank + `","sent":"` + blank + `","fill":"`
	after := `","again":"` + blank + `"}}`
	shape := []byte(before + strings.Repeat("z", ProbeSize-len(before)-len(after)) + after)
	var places [4]int
	from := 0
	for i := range places {
		from += bytes.Index(shape[from:], []byte(blank))
		places[i] = from
		from += digitCount
	}
	return shape, places
}()

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

// A probeSet knows which of the probes of a phase have come. They may overtake each other, but each
// comes once.
type probeSet struct {
	seen  []bool
	count int64
}

// add notes a probe, and reports whether it is there for the first time.
func (t *probeSet) add(number uint64) bool {
	if number >= uint64(len(t.seen)) || t.seen[number] {
		return false
	}
	t.seen[number] = true
	t.count++
	return true
}
