// Package bench measures cells: it drives messages of one size through one framing over one kind of
// pipe, and says how long it took and what it cost.
//
//	func main() {
//		bench.Worker() // does a worker's job and exits, or returns
//		plan := bench.Plan{
//			Cells:    []results.Cell{{Framing: "ndjson", Size: 4096, Pipe: "anonymous", IO: "blocking",
//				Placement: "same", Pattern: "stream", Payload: "json"}},
//			Samples:  24,
//			Duration: bench.SliceTime,
//		}
//		err := bench.Run(ctx, plan, func(r results.Record) error { … })
//	}
//
// # The controller and its workers
//
// [Run] is a controller: it opens the pipes, hands their ends to workers, and never reads or writes
// them. Cells that are compared share their workers: a process for each end. They are started once a fork, take a short
// slice of every cell in turn, and wait in a read in between. A worker is this same program, started
// again by syspipe/proc: it does its work in an init function, or in [Worker] where the framing is
// registered. It is bound to its CPUs, has the garbage collector off while the clock runs, and is
// killed at its deadline. When the controller goes, however it goes, its workers go too.
//
// # The clock
//
// Both ends first warm up through the same pipe. Then the end that holds the clock, the one that
// receives the stream or awaits the replies, waits until the other is ready, starts the clock, says
// go, and stops it when it has the last message. Every message is checked for length and number
// meanwhile; some messages of each cell are compared byte for byte, untimed.
//
// Where a cell asks for it ([results.Cell.ClosesAfter]), the reader then stops, and closes its end when the
// pipe is full. The writer goes on until the kernel tells it; both moments are of a clock that all
// processes share ([Clock]). Such a slice has a pipe of its own, which the controller opened before.
//
// # Concurrency
//
// Run may be called from several goroutines, but the figures of runs that share a machine disturb
// each other. It is not promised that a figure can be had again on another day: compare what was
// measured in one run, interleaved.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// A Plan is what to measure, and how long.
type Plan struct {
	Run       string         // names the run in its records
	Cells     []results.Cell // each at most once
	Samples   int            // slices of each cell; 6 is the least that gives a 95 % interval
	Duration  time.Duration  // of one slice, about
	Forks     int            // starts of the workers that a cell's slices are spread over; 0 is [DefaultForks]
	Precision float64        // take more samples until the median's interval is this narrow (0.02 is ±2 %); 0 is never
	MaxTime   time.Duration  // nothing is begun that would not end within it; 0 is no limit
	Seed      int64          // of the messages and of the order of samples
	Recording string         // path of the messages, where a cell replays some

	// Turn, if set, waits for the run's turn, where several share a machine: it is called before the
	// workers of a fork are started and before each round.
	Turn func(context.Context) error

	// Observe, if set, is told of progress from the goroutine that called Run.
	Observe func(Progress)

	placed []placedCell // set by Checked
}

// Progress is one step of a run.
type Progress struct {
	Cell   results.Cell
	Step   Step
	Sample int // of the cell, from 1, where the step is Timed
	Err    error
}

// A Step is what was just finished for a cell.
type Step string

const (
	Compared   Step = "compared"   // its untimed messages, every byte
	Calibrated Step = "calibrated" // how many messages fill a slice, in its first fork
	Timed      Step = "timed"      // a sample
	Finished   Step = "finished"   // its record is kept
)

// Validate reports what of the plan cannot be: unknown names, messages that a framing cannot carry,
// a capacity that this system refuses. What this system merely lacks is no error; its cells become
// unsupported records.
func (p Plan) Validate() error {
	_, err := p.Checked()
	return err
}

// Checked validates the plan, and returns it with what that found, so that [Run] and
// [Plan.Estimate] do not look again. A plan whose cells are changed afterwards is checked anew.
func (p Plan) Checked() (Plan, error) {
	p = p.withDefaults()
	same := func(a placedCell, c results.Cell) bool { return a.cell == c }
	if len(p.placed) > 0 && slices.EqualFunc(p.placed, p.Cells, same) {
		return p, nil
	}
	switch {
	case len(p.Cells) == 0:
		return p, errors.New("the plan has no cells")
	case p.Samples < 1 || p.Duration <= 0:
		return p, fmt.Errorf("the plan asks for %d samples of %s; neither can be negative",
			p.Samples, p.Duration)
	case p.MaxTime < 0 || p.Precision < 0 || p.Forks < 0:
		return p, fmt.Errorf("the plan asks for a time of %s, a precision of %v and %d forks; none can be negative", p.MaxTime, p.Precision, p.Forks)
	}
	seen := map[string]bool{}
	for _, c := range p.Cells {
		if seen[c.Key()] {
			return p, fmt.Errorf("the plan has a cell twice: %s", c.Key())
		}
		seen[c.Key()] = true
		if err := p.validate(c); err != nil {
			return p, fmt.Errorf("%s: %w", Label(c), err)
		}
	}
	tried := map[string]error{}
	var placed []placedCell
	for _, c := range p.Cells {
		cpus, why := placeCell(c)
		combination := fmt.Sprint(c.Pipe, c.Capacity, c.IO)
		if _, known := tried[combination]; !known && why == nil {
			tried[combination] = tryPipe(c)
		}
		if why == nil {
			why = tried[combination]
		}
		if why != nil && !errors.Is(why, errors.ErrUnsupported) {
			return p, why
		}
		placed = append(placed, placedCell{c, cpus, why})
	}
	p.placed = placed
	return p, nil
}

// A placedCell is a cell and where its ends are to run here, or why they cannot.
type placedCell struct {
	cell        results.Cell
	cpus        placement.CPUs
	unsupported error
}

// tryPipe opens a cell's pipe, has its ends wait as they are to, and closes it again: what this
// system has alone it need not have together.
func tryPipe(c results.Cell) error {
	writer, reader, err := parseIO(c.IO)
	if err != nil {
		return err
	}
	w, r, err := syspipe.Open(syspipe.Kind(c.Pipe), syspipe.Options{Capacity: c.Capacity, IO: syspipe.Blocking})
	if err != nil {
		return err
	}
	return errors.Join(w.SetIO(writer), r.SetIO(reader), w.Close(), r.Close())
}

// sharedBy returns what is the same in cells that share workers: what is compared, and messages of
// other sizes, as each start of two processes takes the time of some ten slices.
func sharedBy(c results.Cell) results.Cell {
	if takesOneJob(c) {
		return c
	}
	c = comparedBy(c)
	c.Size = 0
	return c
}

// takesOneJob reports whether the workers of a cell do one timed job alone: an open loop may be given
// up, and a reader that closes its end leaves no pipe for another.
func takesOneJob(c results.Cell) bool { return isOpenLoop(c) || c.ClosesAfter > 0 }

// isOpenLoop reports whether the cell's messages fall due one by one. The loop may be given up if
// the pipe cannot take them.
func isOpenLoop(c results.Cell) bool { return c.Rate > 0 && c.Pattern != PatternMixed }

// comparedBy returns what is the same in cells that are compared: all but the framing, and what the
// ends do with their memory and beside reading and writing.
func comparedBy(c results.Cell) results.Cell {
	if takesOneJob(c) {
		return c
	}
	c.Framing, c.ReadBuffer, c.WriteSize = "", 0, 0
	c.PayloadOffset, c.ReadOffset, c.Source = "", "", ""
	return withoutReadersWork(c)
}

// withoutReadersWork is the cell with a reader that only reads.
func withoutReadersWork(c results.Cell) results.Cell {
	c.Drain, c.ClosesAfter, c.Work, c.Touch = 0, 0, 0, false
	return c
}

// verifiedBy returns what is the same in cells of whose messages the bytes need to be compared
// once.
func verifiedBy(c results.Cell) results.Cell { return withoutReadersWork(c) }

// Patterns are the values of a cell's pattern, with a line for a list.
var Patterns = [][2]string{
	{"stream", "messages one way, as fast as the pipe takes them"},
	{"roundtrip", "a message there and the same message back, one at a time, over two pipes"},
	{PatternMixed, "large messages without pause, and small ones of 256 B before their next frame, at a rate"},
}

// validate reports what of a cell cannot be, on any system.
func (p Plan) validate(c results.Cell) error {
	if err := c.Validate(); err != nil {
		return err
	}
	_, unknownKind := syspipe.ParseKind(c.Pipe)
	_, _, unknownIO := parseIO(c.IO)
	unknown := []error{checkKnown("pattern", c.Pattern, Patterns), unknownKind, unknownIO}
	if err := errors.Join(unknown...); err != nil {
		return err
	}
	if _, err := (placement.Topology{}).Choose(c.Placement); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := p.validateLoad(c); err != nil {
		return err
	}
	s, err := p.jobOf(c).prepare(job.messages)
	if err != nil || s.raw {
		return err
	}
	for i := range s.source.Distinct() { // the framing has to carry each
		if err := framers.Carries(s.framing, s.source.Message(i)); err != nil {
			return fmt.Errorf("payload %s: %w", c.Payload, err)
		}
	}
	return nil
}

// maxLoadMessages is how many messages a sample of an open loop may have. Each end keeps two
// moments of each, and a worker may hold twice that in all.
const maxLoadMessages = workerMemory / 32

// validateLoad holds the further fields of a cell against the others. How many messages an open loop
// has is asked for; elsewhere it is measured.
func (p Plan) validateLoad(c results.Cell) error {
	if c.Transfer != "" {
		if _, err := syspipe.ParseTransfer(c.Transfer); err != nil {
			return err
		}
	}
	if err := validateMemory(c); err != nil {
		return err
	}
	if c.Pattern == PatternMixed {
		if err := validateMixed(c); err != nil {
			return err
		}
	}
	due := c.Rate * p.Duration.Seconds()
	switch {
	case c.ClosesAfter > 0 && (c.Pattern != "stream" || c.Rate > 0 || c.Batch > 1 || c.Transfer != ""):
		return fmt.Errorf("a reader that leaves (after %d) is of a stream without rate, batch and transfer: its writer goes on until it is told", c.ClosesAfter)
	case c.Transfer != "" && (c.Framing != "raw" || c.Pattern != "stream"):
		return fmt.Errorf("transfer %s is for raw streams: a framing has to read its bytes", c.Transfer)
	case c.Inflight > 1 && c.Rate > 0:
		return errors.New("inflight is of a closed loop, and rate of an open one: ask for one of them")
	case c.Inflight > 1 && c.Pattern != "roundtrip":
		return errors.New("inflight counts messages without an answer: it is for round trips")
	case c.Batch > 1 && (c.Pattern != "stream" || c.Rate > 0):
		return errors.New("a batch is of a stream without a rate: what waits for others to leave with it is late")
	case c.Drain > 0 && c.Pattern == "roundtrip":
		return errors.New("drain holds up the reader of a stream: the one that answers has its own pace")
	case due > maxLoadMessages:
		return fmt.Errorf("rate %v makes %.0f messages a sample of %s, and %d can be accounted for: ask for a lower rate, or a shorter duration", c.Rate, due, p.Duration, maxLoadMessages)
	}
	return nil
}

// leastWriteSize is the smallest bound of a write, in bytes: a header fits.
const leastWriteSize = 64

// mostWork is the most that a reader may spend on a byte, in nanoseconds.
const mostWork = 100_000

// validateMemory holds what a cell says of its ends' memory, writes and bytes against the rest.
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

// Unsupported reports why this machine cannot run a cell, nil if it can.
func Unsupported(c results.Cell) error {
	_, err := placeCell(c)
	return err
}

// IsUnsupported reports whether an error is this machine's refusal of something it knows, rather
// than something that nobody could have.
func IsUnsupported(err error) bool {
	var capacity *syspipe.CapacityError
	return errors.As(err, &capacity) || errors.Is(err, errors.ErrUnsupported)
}

// placeCell returns the CPUs for the ends of a cell, or why this machine cannot run it. Pages
// can be lent to pipes alone, nor where an end is left to Go's poller.
func placeCell(c results.Cell) (cpus placement.CPUs, err error) {
	if err := syspipe.Kind(c.Pipe).Supported(); err != nil {
		return cpus, err
	}
	writer, reader, err := parseIO(c.IO)
	if err := errors.Join(err, writer.Supported(), reader.Supported()); err != nil {
		return cpus, err
	}
	if c.Transfer != "" {
		if err := syspipe.Transfer(c.Transfer).Supported(); err != nil {
			return cpus, err
		}
		if !syspipe.Kind(c.Pipe).IsPipe() || writer == syspipe.Poller || reader == syspipe.Poller {
			return cpus, syspipe.Unsupported("transfer " + c.Transfer + " through a " + c.Pipe + " with io " + c.IO + ": unavailable")
		}
	}
	topology, err := placement.Read()
	if err != nil {
		return cpus, err
	}
	return topology.Choose(c.Placement)
}

func checkKnown(what, value string, values [][2]string) error {
	names := stat.Map(values, func(v [2]string) string { return v[0] })
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("%s %q is unknown; known are %s", what, value, strings.Join(names, ", "))
}

// labelDefaults are values that a label leaves out.
var labelDefaults = map[string]string{"pipe": "anonymous", "capacity": "0", "io": "blocking", "payload": "json"}

// Label names a cell shortly, for a line of progress or an error: framing, size, pattern and
// placement, and what else of it is not as usual.
func Label(c results.Cell) string {
	size := results.FormatSize(int64(c.Size))
	if c.Messages != "" {
		size, c.Payload, c.Messages = "recorded", labelDefaults["payload"], ""
	}
	words := []string{c.Framing, size, c.Pattern, c.Placement}
	for _, f := range c.Values() {
		switch f.Name {
		case "framing", "size", "pattern", "placement":
			continue
		}
		if f.Text != labelDefaults[f.Name] {
			words = append(words, f.Name+"="+f.Text)
		}
	}
	return strings.Join(words, " ")
}
