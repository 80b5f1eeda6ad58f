package tune

import (
	"context"
	"fmt"
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

// params are what the two ends are told beside the cell.
type params struct {
	Probes int64 // that fall due
	Large  int64 // messages there have to be at least
	Warmup int64 // large messages of it
}

// The half of a sample that each end knows.
type (
	writerResult struct {
		Counters results.Counters
		Capacity int
		Bytes    int64 // on the wire while the clock ran
		Late     int64 // probes that the generator offered more than a period late
		Lateness results.Latency
		Frame    int // the size that a sender which sizes its frames had come to; else the framing's
	}
	readerResult struct {
		Counters  results.Counters
		ElapsedNS int64
		Large     int64
		Probes    int64
		Payload   int64
		Warmup    results.Warmup
		Compared  int64           // large messages of which every byte was compared, untimed
		Due       results.Latency // of probes, from when they were due
		Service   results.Latency // from when they were offered to the sender
	}
)

// minLarge is how many large messages a sample has at least, so that a few probes fall due in the
// middle of one.
const minLarge = 3

// A tuneSample is a sample, and what of it has no place in [results.Sample].
type tuneSample struct {
	results.Sample
	compared int64 // large messages, byte for byte
	frame    int   // that the sender had come to
}

// takeSample takes one sample of a cell. Of large messages one goes before the clock starts, and
// more where the sender learns the stream's rate: it needs the reader's, and some frames.
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
	told := params{Probes: max(1, int64(c.Rate*p.Duration.Seconds())), Large: minLarge, Warmup: 1}
	if s.wait > 0 {
		told.Warmup = 3
	}
	var w writerResult
	var r readerResult
	if err := p.RunWorkload(ctx, workloadName, c, told, &w, &r); err != nil {
		return tuneSample{}, err
	}
	return tuneSample{results.Sample{
		ElapsedNS:    r.ElapsedNS,
		Messages:     r.Large + r.Probes,
		PayloadBytes: r.Payload,
		WireBytes:    w.Bytes,
		Capacity:     w.Capacity,
		Warmup:       &r.Warmup,
		Writer:       w.Counters,
		Reader:       r.Counters,
		Latency:      map[string]results.Latency{"due": r.Due, "service": r.Service, "lateness": w.Lateness},
		Load: &results.Load{
			Due: told.Probes, Sent: r.Probes, Late: w.Late,
			Achieved: float64(r.Probes) / (float64(max(1, r.ElapsedNS)) / 1e9),
		},
	}, r.Compared, w.Frame}, nil
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
