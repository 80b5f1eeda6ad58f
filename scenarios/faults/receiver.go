package faults

import (
	"bufio"
	"context"
	"errors"
	"io"
	"runtime"
	"syscall"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// ReceiverArgs say how a process of its own receives messages.
type ReceiverArgs struct {
	Framing string // of the messages
	Policy  framers.Policy
	Limit   int // bytes of a message
	// WholeFirst has the receiver take a line whole before it looks at its length, as a program
	// does whose transport delivers frames.
	WholeFirst bool
	Drain      bool // receive to the end before the heap is measured
}

// Received is what a process took of what it was sent, in bytes.
type Received struct {
	Read      int64  // from the pipe, for the first message
	Delivered int64  // of the first message
	Held      int64  // memory that the process got from the system meanwhile
	AtOnce    int64  // on its heap more than before, when the first message was delivered
	AfterHeap int64  // the same at the end
	Error     string // that came in place of the first message
}

// ReceiveInProcess starts a process that receives messages, gives send the pipe to it, and returns
// what the process took. What the sender meets when the receiver leaves early is no error.
func ReceiveInProcess(
	ctx context.Context, args ReceiverArgs, send func(io.Writer) error,
) (Received, error) {
	w, r, err := OpenPipe(syspipe.Anonymous)
	if err != nil {
		return Received{}, err
	}
	defer r.Close()
	defer w.Close()
	if err := PollEnds(w); err != nil {
		return Received{}, err
	}
	p, err := start(ctx, "faults/receiver", args, r)
	if err != nil {
		return Received{}, err
	}
	defer p.Close()
	sent := make(chan error, 1)
	go func() { sent <- errors.Join(send(w), w.Close()) }()
	var got Received
	if err := p.Report(&got); err != nil {
		return Received{}, err
	}
	if err := <-sent; err != nil && !errors.Is(err, syscall.EPIPE) {
		return Received{}, err
	}
	return got, nil
}

// receiveAndMeasure receives a message, and what is behind it where that is asked for, and reports
// what that took.
func receiveAndMeasure(w *proc.Work, args ReceiverArgs) error {
	if err := PollEnds(w.Ends...); err != nil {
		return err
	}
	in := w.Ends[0]
	read, err := args.reader(in)
	if err != nil {
		return err
	}
	runtime.GC()
	before := memory()
	msg, err := read()
	got := Received{
		Read:      int64(in.Counters().Bytes),
		Delivered: int64(len(msg)),
		Error:     ErrorText(err),
	}
	if args.Policy == framers.Resync {
		for err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			_, err = read() // skips the rest of the line
		}
	}
	got.Held = int64(memory().Sys - before.Sys)
	msg = nil
	got.AtOnce = heapSince(before)
	for args.Drain && err == nil {
		_, err = read()
	}
	got.AfterHeap = heapSince(before)
	runtime.KeepAlive(read) // what the receiver holds on to counts
	in.Close()
	return w.Report(got)
}

// heapSince returns how many bytes more than before are in use on the heap.
func heapSince(before runtime.MemStats) int64 {
	runtime.GC()
	return max(0, int64(memory().HeapAlloc)-int64(before.HeapAlloc))
}

// reader returns a function that receives the next message.
func (a ReceiverArgs) reader(r io.Reader) (func() ([]byte, error), error) {
	if a.WholeFirst {
		lines := bufio.NewReader(r)
		return func() ([]byte, error) { return lines.ReadBytes('\n') }, nil
	}
	f, err := framers.Parse(a.Framing)
	if err != nil {
		return nil, err
	}
	in := f.NewReader(r, framers.WithMaxMessage(a.Limit), framers.WithPolicy(a.Policy))
	return in.ReadMessage, nil
}

// MemoryFromSystem returns how much memory this process has got from the system, in bytes.
func MemoryFromSystem() int64 { return int64(memory().Sys) }

func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}
