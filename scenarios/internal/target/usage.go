package target

import (
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Usage is what both sides, we and the server, had done by a certain time.
type Usage struct {
	Sent, Received int64 // bytes that the pipe took from us, and bytes that we got
	Calls          int64 // our calls to write and to read
	Stderr         int64 // bytes that the server wrote to standard error

	// Processor times in ns; nil if the system does not tell.
	CPU     *int64 // of the server
	TreeCPU *int64 // of the server and all that it started; only Account sets it
	OwnCPU  *int64 // of this process; only Account sets it
}

// Usage returns what both sides have done so far.
func (s *Server) Usage() Usage {
	return Usage{
		Sent: s.In.Bytes(), Received: s.Out.Bytes(),
		Calls:  s.In.Calls() + s.Out.Calls(),
		Stderr: s.Stderr.Total(), CPU: ifKnown(s.Process.CPU()),
	}
}

// Account returns the same as [Server.Usage], with all processor times.
func (s *Server) Account() Usage {
	now := s.Usage()
	now.OwnCPU = ifKnown(proc.OwnCPU())
	now.TreeCPU = ifKnown(s.Process.TreeCPU())
	return now
}

// Sample returns what was done since Account returned start. In the sample, this process counts as
// the writer, and the server as the reader.
func (s *Server) Sample(start Usage) results.Sample {
	now := s.Account()
	wire := now.Sent - start.Sent
	moved := wire + now.Received - start.Received
	sample := results.Sample{
		WireBytes: wire,
		Writer: results.Counters{
			Calls: now.Calls - start.Calls,
			Bytes: moved,
			CPUNS: difference(now.OwnCPU, start.OwnCPU),
		},
		Reader: results.Counters{
			Bytes:     moved,
			CPUNS:     difference(now.TreeCPU, start.TreeCPU),
			PeakBytes: ifKnown(s.Process.PeakMemory()),
		},
	}
	sample.Capacity, _ = s.In.Capacity() // 0 if the system does not tell
	return sample
}

func ifKnown[N ~int | ~int64](n N, known bool) *int64 {
	if !known {
		return nil
	}
	return new(int64(n))
}

// computes reports whether the server computes. If the system does not tell, that it has written
// nothing since it had used before decides.
func (s *Server) computes(before Usage) bool {
	if !proc.TellsOfOthers {
		return s.Out.Bytes() == before.Received
	}
	return s.Process.Computes()
}

// difference returns now - before, or nil if one of them is not known.
func difference(now, before *int64) *int64 {
	if now == nil || before == nil {
		return nil
	}
	return new(*now - *before)
}
