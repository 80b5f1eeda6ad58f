package faults

import (
	"context"
	"io"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// The functions here are for experiments that are scripts (see package script): an error ends the
// script. Each is another function of this package that returns its error.

// Register is [RegisterWork] for a script.
func Register[A any](name string, work func(*proc.Work, A)) {
	RegisterWork(name, func(w *proc.Work, args A) error {
		return script.Run(func() { work(w, args) })
	})
}

// Converse is [StartConversation].
func Converse(ctx context.Context, p *proc.Process) *Conversation {
	return script.Must(StartConversation(ctx, p))
}

// Deliver is [TransferBytes].
func Deliver(sent []byte, open bool, receive func(io.Reader)) {
	script.Check(TransferBytes(sent, open, func(r io.Reader) error {
		return script.Run(func() { receive(r) })
	}))
}

// Through is [Transfer].
func Through(send func(io.Writer) error, receive func(io.Reader)) {
	script.Check(Transfer(send, func(r io.Reader) error {
		return script.Run(func() { receive(r) })
	}))
}

// UsePoller is [PollEnds].
func UsePoller(ends ...*syspipe.End) {
	script.Check(PollEnds(ends...))
}

// Open is [OpenPipe]; closeBoth closes both ends.
func Open(kind syspipe.Kind) (w, r *syspipe.End, closeBoth func()) {
	w, r = script.Must2(OpenPipe(kind))
	return w, r, func() {
		w.Close()
		r.Close()
	}
}

// Measure is [Options.MeasurePlan].
func (o Options) Measure(
	ctx context.Context, p bench.Plan, keep func(results.Line) error,
) []results.Record {
	return script.Must(o.MeasurePlan(ctx, p, keep))
}

// GrowthPlan is [PlanGrowth].
func GrowthPlan(from, to int) bench.Plan {
	return script.Must(PlanGrowth(from, to))
}

// Receive is [ReceiveInProcess].
func Receive(ctx context.Context, args ReceiverArgs, send func(io.Writer) error) Received {
	return script.Must(ReceiveInProcess(ctx, args, send))
}

// SendUnbounded is [SendEndlessLine].
func SendUnbounded(
	ctx context.Context, framing string, policy framers.Policy, n int64,
) *UnboundedLine {
	return script.Must(SendEndlessLine(ctx, framing, policy, n))
}

// SendMismatched is [TryFramings].
func SendMismatched(sender, reader string) *Mismatch {
	return script.Must(TryFramings(sender, reader))
}

// InterleaveWrites is [CountCutWrites].
func InterleaveWrites(ctx context.Context, size int) *InterleavedWrites {
	return script.Must(CountCutWrites(ctx, size))
}
