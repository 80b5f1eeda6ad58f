package bench

import (
	"slices"

	"github.com/pipebench/pipebench/results"
)

// A report is a worker's answer to a job. It is sent as one line of JSON.
type report struct {
	Role     role
	Error    string // empty if all went well
	PeerGone bool   // Error only says that the other end left; the report of that end has the cause

	results.Sample // the fields of the sample that this endpoint knows

	Counters    results.Counters
	Checked     bool    // each message was checked, by number and length
	Trips       []int64 // nanoseconds of each round trip
	Collections uint32  // runs of the garbage collector while the clock ran; 0 is expected
	ClosedAt    int64   // shared-clock time when the reader closed its end, or the writer learnt it
}

// reports are the reports of both endpoints on one job.
type reports []report

// from returns the report of the endpoint that has one of the roles.
func (rs reports) from(roles ...role) report {
	i := slices.IndexFunc(rs, func(r report) bool { return slices.Contains(roles, r.Role) })
	if i < 0 {
		return report{}
	}
	return rs[i]
}

// timer returns the report of the endpoint that timed the sample.
func (rs reports) timer() report { return rs.from(receiver, client) }

// origin returns the report of the endpoint that messages come from.
func (rs reports) origin() report { return rs.from(sender, client) }

func (rs reports) sample() results.Sample {
	timer := rs.timer()
	origin := rs.origin()
	s := timer.Sample
	s.WireBytes = origin.WireBytes
	s.Capacity = origin.Capacity
	s.PayloadOffset = origin.PayloadOffset
	s.Writer = origin.Counters
	s.Reader = rs.from(receiver, server).Counters
	s.Closed = origin.Closed
	if s.Closed != nil {
		s.Closed.ToldNS = max(0, origin.ClosedAt-timer.ClosedAt)
	}
	return s
}

// failure returns the report that best explains why a job failed. A report that only says that the
// other end left is the last choice.
func (rs reports) failure() (blamed report, failed bool) {
	for _, r := range rs {
		if r.Error != "" && (!failed || blamed.PeerGone && !r.PeerGone) {
			blamed = r
			failed = true
		}
	}
	return blamed, failed
}
