package faults

import (
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/evidence"
)

// A summarised evidence says in a line what happened. It stands in the field
// "summary" of a fault's evidence.
type summarised interface{ summary() string }

func took(ns float64) string { return results.FormatDuration(ns) }

func (e Leave) summary() string {
	s := fmt.Sprintf("%s of %s accepted, %s read", evidence.Size(e.Accepted), evidence.Size(e.Offered), evidence.Size(e.Read))
	switch {
	case e.Broken:
		s += ", EPIPE after " + took(float64(e.NoticedNS))
	case e.NextError != "":
		s += ", no error before the next write"
	default:
		s += ", no error"
	}
	if e.Signals != nil {
		s += fmt.Sprintf(", SIGPIPE ×%d", *e.Signals)
	}
	return s
}

func (e Print) summary() string { return "SIGPIPE " + e.Handling + ": " + e.Exit }

func (e Output) summary() string {
	return fmt.Sprintf("%s of %s arrived, exit code %d", evidence.Size(e.Delivered), evidence.Size(e.Sent), e.ExitCode)
}

func (e Survivor) summary() string {
	switch {
	case e.Exited:
		return "left " + took(float64(e.ExitNS)) + " after its client"
	case e.FailedWrites > 0:
		return fmt.Sprintf("still there after %s, %.1f million failed writes a second", time.Duration(e.GiveUpNS), e.FailedWrites/1e6)
	}
	return fmt.Sprintf("still there after %s", time.Duration(e.GiveUpNS))
}

func (e Waiting) summary() string {
	var goodput, ratio []float64
	for f, g := range e.Goodput {
		goodput = append(goodput, g.Median)
		ratio = append(ratio, e.ToBest[f].Median)
	}
	s := fmt.Sprintf("%s, ×%.3g of a blocking writer", results.FormatGoodput(stat.Median(goodput).Median), stat.Median(ratio).Median)
	if e.CeilingB > 0 {
		s += ", a pipe's worth per pause being " + results.FormatGoodput(e.CeilingB)
	}
	return s
}

func (e Exchange) summary() string {
	s := fmt.Sprintf("%s each way: %s and %s accepted", evidence.Size(int64(e.Size)), evidence.Size(e.Accepted[0]), evidence.Size(e.Accepted[1]))
	if e.Stalled[0] || e.Stalled[1] {
		s += fmt.Sprintf(", then nothing for %s", time.Duration(e.GiveUpNS))
	}
	return s
}

func (e Logging) summary() string {
	return fmt.Sprintf("%d of %d requests answered, %s logged, log %s", e.Answered, e.Asked, evidence.Size(e.Logged), map[bool]string{true: "read", false: "unread"}[e.Drained])
}

func (e Queueing) summary() string {
	s := fmt.Sprintf("waited %s", took(e.Wait.Median))
	if i := e.Wait.Interval; i != nil {
		s += fmt.Sprintf(" [%s, %s]", took(i.Lo), took(i.Hi))
	}
	return s + fmt.Sprintf(", n = %d; the large message takes the reader %s", e.Wait.N, took(e.WholeNS))
}

func (e Mixture) summary() string {
	return fmt.Sprintf("%d cuts in %d writes, PIPE_BUF %d", e.Cut, e.Writes, e.PipeBuf)
}

func (e Babel) summary() string {
	return fmt.Sprintf("%d of %d messages intact, %d mixtures delivered, %d errors", e.Intact, e.Sent, e.Altered, e.Errors)
}

func (e Text) summary() string {
	return fmt.Sprintf("%d of %d messages intact, %d lost, %d altered", e.Intact, e.Messages, e.Lost, e.Altered)
}

func (e Dirt) summary() string {
	whole := 0
	for _, c := range e.Cases {
		if c.Intact == c.Sent {
			whole++
		}
	}
	return fmt.Sprintf("%s: all messages in %d of %d cases", e.Reader, whole, len(e.Cases))
}

func (e Mismatch) summary() string {
	s := fmt.Sprintf("first message: %s; %d of %d understood", e.First, e.Understood, e.Sent)
	if e.Garbled > 0 {
		s += fmt.Sprintf(", %d garbled", e.Garbled)
	}
	return s
}

func (e Growing) summary() string {
	s := fmt.Sprintf("slope %.2f", e.Slope.Slope)
	if i := e.Slope.Interval; i != nil {
		s += fmt.Sprintf(" [%.2f, %.2f]", i.Lo, i.Hi)
	}
	last := e.PerByte[len(e.PerByte)-1]
	s += fmt.Sprintf(", %.3g ns/B at %s", last.Figure.Median, evidence.Size(int64(last.Size)))
	if n := len(e.ToOurs); n > 0 && e.Framing != "ndjson" {
		r := e.ToOurs[n-1]
		s += fmt.Sprintf(", ×%.3g of our reader at %s", r.Figure.Median, evidence.Size(int64(r.Size)))
	}
	return s
}

func (e Hoard) summary() string {
	return fmt.Sprintf("%s held; %s of %s read when it spoke", evidence.Size(e.Held), evidence.Size(e.Read), evidence.Size(e.Sent))
}
