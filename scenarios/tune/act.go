package tune

import (
	"context"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/results"
)

// workloadName names the workload to the engine's workers.
const workloadName = "tune"

func init() {
	bench.RegisterWorkload(bench.Workload{Name: workloadName, Writer: write, Reader: read})
}

// A brief is what the two ends are told beside the cell.
type brief struct {
	Probes int64 // that fall due
	Large  int64 // messages there have to be at least
	Warmup int64 // large messages of it
}

// The half of a sample that each end knows.
type (
	written struct {
		Counters results.Counters
		Capacity int
		Bytes    int64 // on the wire while the clock ran
		Late     int64 // probes that the generator offered more than a period late
		Lateness results.Latency
		Frame    int // the size that a sender which sizes its frames had come to; else the framing's
	}
	received struct {
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

// warmupLarge is how many large messages go before the clock starts. A sender
// that learns the stream's rate needs the reader's, and some frames.
func warmupLarge(s sender) int64 {
	if s.wait > 0 {
		return 3
	}
	return 1
}

// fewestLarge is how many large messages a sample has at least, so that a few
// probes fall due in the middle of one.
const fewestLarge = 3

// perform takes one sample of a cell.
func perform(ctx context.Context, p bench.Plan, c results.Cell) (results.Sample, extra, error) {
	s, err := parseSender(c.Sender)
	if err != nil {
		return results.Sample{}, extra{}, err
	}
	if s.watermark > 0 {
		if err := watched(c.Pipe); err != nil { // here, where the caller can tell what the system lacks
			return results.Sample{}, extra{}, err
		}
	}
	var w written
	var r received
	b := brief{Probes: max(1, int64(c.Rate*p.Duration.Seconds())), Large: fewestLarge, Warmup: warmupLarge(s)}
	if err := p.RunWorkload(ctx, workloadName, c, b, &w, &r); err != nil {
		return results.Sample{}, extra{}, err
	}
	return results.Sample{
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
			Due: b.Probes, Sent: r.Probes, Late: w.Late,
			Achieved: float64(r.Probes) / (float64(max(1, r.ElapsedNS)) / 1e9),
		},
	}, extra{compared: r.Compared, frame: w.Frame}, nil
}

// extra is what of a sample has no place in [results.Sample].
type extra struct {
	compared int64
	frame    int
}
