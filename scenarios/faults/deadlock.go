package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/actor"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/syspipe"
)

var bothWriteFirst = Scenario{
	Misbehaviour: catalogue.Must(catalogue.Program, "both-write-first"),
	Deadline:     time.Minute,
	run:          runBothWriteFirst,
}

// An Exchange is the evidence of both-write-first.
type Exchange struct {
	Size       int    `json:"size"`       // bytes each side sends
	Concurrent bool   `json:"concurrent"` // each side reads while it writes
	Pipe       string `json:"pipe"`
	Capacity   int    `json:"capacity"` // bytes a pipe holds

	Accepted [2]int64 `json:"accepted"` // bytes each side got rid of
	Received [2]int64 `json:"received"` // bytes each side read
	Stalled  [2]bool  `json:"stalled"`  // the side's write was still waiting when the deadline came
	GiveUpNS int64    `json:"give_up_ns"`
}

func judgeExchange(e Exchange) Verdict {
	switch {
	case e.Stalled[0] || e.Stalled[1]:
		return Stuck
	case e.Received != [2]int64{int64(e.Size), int64(e.Size)}:
		return Noticed
	}
	return Sound
}

func adviseExchange(v Verdict, e Exchange) string {
	switch {
	case v == Stuck:
		return fmt.Sprintf("Each side got rid of %d and %d bytes and then waited for the other to read. Nothing ends this but a deadline. "+
			"Read on a thread (or task) of its own, always; put a deadline on writes as well as on replies.", e.Accepted[0], e.Accepted[1])
	case e.Concurrent:
		return "With a reader at work on either side the same messages pass, whatever their size."
	}
	return "This size fits the pipe, so nobody had to wait. It is luck, not a protocol: a longer message, or two, hang."
}

// giveUp is how long a write may wait before it counts as stuck. Nothing else
// is going on: a side that can move does so at once.
const giveUp = 500 * time.Millisecond

func runBothWriteFirst(ctx context.Context, s *stage) error {
	for _, c := range []struct {
		part       string
		size       int
		concurrent bool
	}{
		{"fits", 4 << 10, false},
		{"exceeds", 1 << 20, false},
		{"cure", 1 << 20, true},
	} {
		s.step("%s", c.part)
		e, err := exchange(ctx, c.size, c.concurrent)
		if err != nil {
			return err
		}
		v := judgeExchange(e)
		if err := s.fault(c.part, v, e, adviseExchange(v, e)); err != nil {
			return err
		}
	}
	return nil
}

type writeFirstArgs struct {
	Size       int
	Concurrent bool
	GiveUp     time.Duration
}

type writeFirstReport struct {
	Accepted, Received int64
	Stalled            bool
	Error              string
}

func exchange(ctx context.Context, size int, concurrent bool) (Exchange, error) {
	e := Exchange{Size: size, Concurrent: concurrent, Pipe: string(syspipe.Anonymous), GiveUpNS: giveUp.Nanoseconds()}
	w1, r1, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return e, err
	}
	w2, r2, err := syspipe.Open(syspipe.Anonymous, 0)
	if err != nil {
		return e, errors.Join(err, w1.Close(), r1.Close())
	}
	defer closeEnds(w1, r1, w2, r2)
	if e.Capacity, err = w1.Capacity(); err != nil {
		return e, err
	}
	var sides [2]*actor.Actor
	for i, ends := range [2][2]*syspipe.End{{w1, r2}, {w2, r1}} {
		a, err := actor.Prepare(ctx, "write-first", writeFirstArgs{size, concurrent, giveUp}, ends[0], ends[1])
		if err != nil {
			return e, err
		}
		defer a.Dismiss()
		if err := a.Start(); err != nil {
			return e, err
		}
		sides[i] = a
	}
	for i, a := range sides {
		var got writeFirstReport
		if err := a.Report(&got); err != nil {
			return e, err
		}
		if got.Error != "" {
			return e, errors.New(got.Error)
		}
		e.Accepted[i], e.Received[i], e.Stalled[i] = got.Accepted, got.Received, got.Stalled
	}
	return e, nil
}

// closeEnds closes what an actor may have taken over and closed already.
func closeEnds(ends ...*syspipe.End) {
	for _, e := range ends {
		e.Close()
	}
}

// playWriteFirst writes a message to its first end, then reads one from the
// second.
func playWriteFirst(s *actor.Stage) error {
	var args writeFirstArgs
	if err := s.Args(&args); err != nil {
		return err
	}
	out, in := s.Ends[0], s.Ends[1]
	if err := actor.Park(s.Ends...); err != nil {
		return err
	}
	var r writeFirstReport
	received := make(chan int64, 1)
	read := func() {
		n, err := io.CopyN(io.Discard, in, int64(args.Size))
		if err != nil {
			r.Error = err.Error()
		}
		received <- n
	}
	if args.Concurrent {
		go read()
	}
	r.Accepted, r.Stalled = writeUntil(out, args.Size, args.GiveUp)
	if !r.Stalled {
		if !args.Concurrent {
			read()
		}
		r.Received = <-received
	}
	if err := s.Report(r); err != nil {
		return err
	}
	s.Linger() // the other side must not find a closed pipe in place of a full one
	return nil
}

// writeUntil writes size bytes, and gives up when that takes longer than d.
func writeUntil(w *syspipe.End, size int, d time.Duration) (accepted int64, stalled bool) {
	timer := time.AfterFunc(d, func() { w.Close() })
	n, err := w.Write(make([]byte, size))
	timer.Stop()
	return int64(n), errors.Is(err, os.ErrClosed)
}

// medianOf estimates durations, in nanoseconds.
func medianOf(d []time.Duration) stat.Estimate {
	values := make([]float64, len(d))
	for i := range d {
		values[i] = float64(d[i])
	}
	return stat.Median(values)
}
