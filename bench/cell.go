package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// Patterns lists the values of [results.Cell.Pattern], each with an explanation.
var Patterns = [][2]string{
	{"stream", "messages one way, as fast as the pipe takes them"},
	{"roundtrip", "a message there and the same message back, one at a time, over two pipes"},
	{PatternMixed, "large messages without pause; small ones, at a rate, go before the next frame"},
}

// sharedBy returns a key that is the same for all measurements made by the same worker processes.
func sharedBy(c results.Cell) results.Cell {
	if takesOneJob(c) {
		return c
	}
	c = comparedBy(c)
	c.Size = 0 // all sizes share workers: starting two processes takes as long as some ten samples
	return c
}

// takesOneJob reports whether the worker processes of the measurement c exit after one timed job,
// because that job may leave the pipe between them closed.
func takesOneJob(c results.Cell) bool { return isOpenLoop(c) || c.ClosesAfter > 0 }

// isOpenLoop reports whether c sends all its messages at a fixed rate, so that messages fall due
// even while the pipe is full.
func isOpenLoop(c results.Cell) bool { return c.Rate > 0 && c.Pattern != PatternMixed }

// comparedBy returns a key that is the same for all measurements that are compared with each other.
// These differ only in their framing, their use of memory, or what the reader does besides reading.
func comparedBy(c results.Cell) results.Cell {
	if takesOneJob(c) {
		return c
	}
	c.Framing = ""
	c.ReadBuffer = 0
	c.WriteSize = 0
	c.FrameWait = ""
	c.PayloadOffset = ""
	c.ReadOffset = ""
	c.Source = ""
	return withoutReadersWork(c)
}

// withoutReadersWork returns c changed so that its reader only reads.
func withoutReadersWork(c results.Cell) results.Cell {
	c.Drain = 0
	c.ClosesAfter = 0
	c.Work = 0
	c.Touch = false
	return c
}

// validate returns an error if no system can make the measurement c. Its names are known.
func (p Plan) validate(c results.Cell) error {
	for _, check := range []func(results.Cell) error{
		results.Cell.Validate, validateMemory, validateMixed, validateLoad, p.validateRate,
		p.validateMessages,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

func validateNames(c results.Cell) error {
	var names []string
	for _, pattern := range Patterns {
		names = append(names, pattern[0])
	}
	if !slices.Contains(names, c.Pattern) {
		return fmt.Errorf("pattern %q is unknown; known are %s",
			c.Pattern, strings.Join(names, ", "))
	}
	_, unknownKind := syspipe.ParseKind(c.Pipe)
	_, _, unknownIO := parseIO(c.IO)
	if err := errors.Join(unknownKind, unknownIO); err != nil {
		return err
	}
	if c.Transfer != "" && c.Transfer != results.TransferVmsplice {
		return fmt.Errorf("unknown transfer %q (known: %s)", c.Transfer, results.TransferVmsplice)
	}
	_, err := placement.Topology{}.Choose(c.Placement)
	if errors.Is(err, errors.ErrUnsupported) { // a known name; the topology is empty
		return nil
	}
	return err
}

// validateMessages returns an error if one of the messages of c cannot be sent in the framing that
// c names.
func (p Plan) validateMessages(c results.Cell) error {
	prepared, err := p.jobOf(c).prepare(job.messages)
	if err == nil && prepared.raw && prepared.source.Largest() == 0 {
		err = errors.New("raw messages of 0 bytes send nothing: give a size")
	}
	if err != nil || prepared.raw {
		return err
	}
	source := prepared.source
	for i := range source.Distinct() {
		if err := framers.Carries(prepared.framing, source.Message(i)); err != nil {
			return fmt.Errorf("payload %s: %w", c.Payload, err)
		}
	}
	return nil
}

// maxLoadMessages is the largest number of messages in a sample in which messages are sent at a
// fixed rate. Each worker process keeps two times of 8 bytes for each message: sent and received.
const maxLoadMessages = workerMemory / 2 / (2 * 8)

// validateRate returns an error if, at the rate that c asks for, a sample would have more than
// [maxLoadMessages] messages.
func (p Plan) validateRate(c results.Cell) error {
	due := c.Rate * p.Duration.Seconds()
	if due <= maxLoadMessages {
		return nil
	}
	return fmt.Errorf("rate %v makes %.0f messages a sample of %s, and %d can be accounted for: "+
		"ask for a lower rate, or a shorter duration", c.Rate, due, p.Duration, maxLoadMessages)
}

// mostInflight is the largest number of messages that may be on the way at the same time.
const mostInflight = 1 << 16

// validateLoad returns an error if the fields that say when messages are sent contradict each
// other, or do not fit the field Pattern.
func validateLoad(c results.Cell) error {
	plainStream := c.Pattern == "stream" && c.Rate == 0
	switch {
	case c.ClosesAfter > 0 && (!plainStream || c.Batch > 1 || c.Transfer != ""):
		return errors.New("closes_after is for the reader of a stream, whose writer goes on " +
			"until it is told: leave out rate, batch and transfer")
	case c.Transfer != "" && (c.Framing != results.FramingRaw || c.Pattern != "stream"):
		return fmt.Errorf("transfer %s is for raw streams: a framing has to read its bytes",
			c.Transfer)
	case c.Inflight > 1 && c.Rate > 0:
		return errors.New("inflight is for a closed loop, and rate for an open one: " +
			"ask for one of them")
	case c.Inflight > mostInflight:
		return fmt.Errorf("inflight %d: want at most %d", c.Inflight, mostInflight)
	case c.Inflight > 1 && c.Pattern != "roundtrip":
		return errors.New("inflight counts messages without an answer: it is for round trips")
	case c.Batch > 1 && !plainStream:
		return errors.New("a batch is for streams without a rate (--pattern stream): " +
			"a message that waits for others to leave with it is late")
	case c.Drain > 0 && c.Pattern == "roundtrip":
		return errors.New("drain holds up the reader of a stream (--pattern stream): " +
			"the one that answers has its own pace")
	}
	return nil
}

// leastWriteSize is the smallest allowed write size, in bytes. A message's header fits into it.
const leastWriteSize = 64

// mostWork is the largest CPU time, in nanoseconds, that a reader may be told to spend on each
// byte.
const mostWork = 100_000

// validateMemory returns an error if c asks for a use of memory, or for work on each byte, that is
// not allowed.
func validateMemory(c results.Cell) error {
	for name, offset := range map[string]string{"payload": c.PayloadOffset, "read": c.ReadOffset} {
		if offset == "" {
			continue
		}
		if _, err := results.ParseOffset(offset); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
	}
	if c.Source != "" && c.Source != results.SourceHot && c.Source != results.SourceFresh {
		return fmt.Errorf("source %q is unknown; known are hot and fresh", c.Source)
	}
	fresh := c.Source == results.SourceFresh
	switch {
	case c.WriteSize > 0 && c.WriteSize < leastWriteSize:
		return fmt.Errorf("a write size of %d B has no room for a header: ask for %d B or more",
			c.WriteSize, leastWriteSize)
	case c.WriteSize > c.Size && c.Messages == "":
		return fmt.Errorf("a write size of %d B cuts no message of %d B: "+
			"ask for a smaller one, or for larger messages", c.WriteSize, c.Size)
	case c.WriteSize > 0 && (c.Batch > 1 || c.Transfer != ""):
		return errors.New("a write size is for messages that are written one by one: " +
			"leave out batch and transfer")
	case fresh && (c.Messages != "" || c.Size == 0):
		return errors.New("fresh is for generated messages: those of a recording and empty ones " +
			"have no copies")
	case c.Work > mostWork:
		return fmt.Errorf("work of %v ns per byte: want at most %d", c.Work, mostWork)
	}
	return nil
}
