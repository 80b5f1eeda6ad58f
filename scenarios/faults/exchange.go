package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Exchange is the evidence of both-write-first.
type Exchange struct {
	Summarised
	Size       int    `json:"size"`       // bytes each side sends
	Concurrent bool   `json:"concurrent"` // each side reads while it writes
	Pipe       string `json:"pipe"`
	Capacity   int    `json:"capacity"` // bytes a pipe holds

	Accepted [2]int64 `json:"accepted"` // bytes each side got rid of
	Received [2]int64 `json:"received"` // bytes each side read
	Stalled  [2]bool  `json:"stalled"`  // the side's write was still waiting when the deadline came
	GiveUpNS int64    `json:"give_up_ns"`
}

func (e *Exchange) judge() (Verdict, string) {
	e.Summary = fmt.Sprintf("%s each way: %s and %s accepted",
		Size(e.Size), Size(e.Accepted[0]), Size(e.Accepted[1]))
	verdict := Sound
	switch {
	case e.Stalled[0] || e.Stalled[1]:
		e.Summary += fmt.Sprintf(", then nothing for %s", time.Duration(e.GiveUpNS))
		return Stuck, advise("both-write-first, stuck", e.Accepted[0], e.Accepted[1])
	case e.Received != [2]int64{int64(e.Size), int64(e.Size)}:
		verdict = Noticed
	}
	if e.Concurrent {
		return verdict, advise("both-write-first, read meanwhile")
	}
	return verdict, advise("both-write-first, fitted")
}

func runBothWriteFirst(ctx context.Context, r *recorder) error {
	for _, row := range []struct {
		part string
		args writeFirstArgs
	}{
		{"fits", writeFirstArgs{4 << 10, false}},
		{"exceeds", writeFirstArgs{1 << 20, false}},
		{"cure", writeFirstArgs{1 << 20, true}},
	} {
		err := r.try(row.part, func() (finding, error) { return exchange(ctx, row.args) })
		if err != nil {
			return err
		}
	}
	return nil
}

type writeFirstArgs struct {
	Size       int
	Concurrent bool
}

type writeFirstReport struct {
	Accepted, Received int64
	Stalled            bool
	Error              string
}

// exchange has two processes send each other a message of size bytes.
func exchange(ctx context.Context, args writeFirstArgs) (*Exchange, error) {
	e := &Exchange{
		Size:       args.Size,
		Concurrent: args.Concurrent,
		Pipe:       string(syspipe.Anonymous),
		GiveUpNS:   giveUp.Nanoseconds(),
	}
	w1, r1, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return nil, err
	}
	defer r1.Close()
	defer w1.Close()
	w2, r2, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return nil, err
	}
	defer r2.Close()
	defer w2.Close()
	e.Capacity, err = w1.Capacity()
	if err != nil {
		return nil, err
	}
	first, err := start(ctx, "faults/write-first", args, w1, r2)
	if err != nil {
		return nil, err
	}
	defer first.Close()
	second, err := start(ctx, "faults/write-first", args, w2, r1)
	if err != nil {
		return nil, err
	}
	defer second.Close()
	for i, side := range []*proc.Process{first, second} {
		if err := e.hear(i, side); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// hear waits for the report of side i, and takes its figures.
func (e *Exchange) hear(i int, side *proc.Process) error {
	var got writeFirstReport
	if err := side.Report(&got); err != nil {
		return err
	}
	if got.Error != "" {
		return errors.New(got.Error)
	}
	e.Accepted[i] = got.Accepted
	e.Received[i] = got.Received
	e.Stalled[i] = got.Stalled
	return nil
}

// writeFirst writes a message to its first end, then reads one from the second.
func writeFirst(w *proc.Work, args writeFirstArgs) error {
	if err := PollEnds(w.Ends...); err != nil {
		return err
	}
	out := w.Ends[0]
	in := w.Ends[1]
	if err := meet(out, in); err != nil {
		return err
	}
	var r writeFirstReport
	received := make(chan int64, 1)
	read := func() {
		n, err := io.CopyN(io.Discard, in, int64(args.Size))
		r.Error = ErrorText(err)
		received <- n
	}
	if args.Concurrent {
		go read()
	}
	timer := time.AfterFunc(giveUp, func() { out.Close() })
	n, err := out.Write(make([]byte, args.Size))
	timer.Stop()
	r.Accepted = int64(n)
	r.Stalled = errors.Is(err, os.ErrClosed)
	if !r.Stalled {
		if !args.Concurrent {
			read()
		}
		r.Received = <-received
	}
	if err := w.Report(r); err != nil {
		return err
	}
	select {} // the other side must not find a closed pipe in place of a full one
}

// meet waits until the process at the other ends is there: one that starts slowly is no deadlock.
func meet(out io.Writer, in io.Reader) error {
	if _, err := out.Write([]byte{1}); err != nil {
		return err
	}
	_, err := in.Read(make([]byte, 1))
	return err
}
