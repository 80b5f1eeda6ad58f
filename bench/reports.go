package bench

import (
	"slices"

	"github.com/pipebench/pipebench/results"
)

// reports are those of the two parts of one sample.
type reports []report

// timerReport is the report of the part that held the clock.
func (rs reports) timerReport() report { return rs.of(receiver, client) }

// originReport is the report of the part that the messages come from.
func (rs reports) originReport() report { return rs.of(sender, client) }

func (rs reports) of(roles ...role) report {
	for _, r := range rs {
		if slices.Contains(roles, r.Role) {
			return r
		}
	}
	return report{}
}

// sample puts the two halves together.
func (rs reports) sample() results.Sample {
	held, started := rs.timerReport(), rs.originReport()
	return results.Sample{
		ElapsedNS:    held.ElapsedNS,
		Messages:     held.Delivered,
		PayloadBytes: held.PayloadBytes,
		WireBytes:    started.WireBytes,
		Capacity:     started.Capacity,
		Warmup:       &held.Warmup,
		Writer:       started.Counters,
		Reader:       rs.of(receiver, server).Counters,
		Latency:      held.Latency,
		Load:         held.Load,
	}
}

func (rs reports) collections() (n uint32) {
	for _, r := range rs {
		n += r.Collections
	}
	return n
}

// failure is the report to blame for a failed sample: one whose error is not
// just that the other end left.
func (rs reports) failure() (report, bool) {
	var gone report
	for _, r := range rs {
		if r.Error != "" && !r.PeerGone {
			return r, true
		}
		if r.PeerGone {
			gone = r
		}
	}
	return gone, gone.Error != ""
}
