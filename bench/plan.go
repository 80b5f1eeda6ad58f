// Package bench measures pipes, and the framings of messages that pass through them. A
// [results.Cell] says what to measure: which messages pass, in which framing, through which kind of
// pipe. The [results.Record] of the cell says how long this took and what it cost.
//
//	func main() {
//		bench.Worker() // in a worker: does the job and exits; else: returns
//		r, err := bench.Measure(ctx, results.Cell{Framing: "ndjson", Size: 4096})
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Println(results.FormatGoodput(r.Goodput()))
//	}
//
// [Run] measures many cells in turn, and passes the record of each cell to a function. Pictures and
// reports can be made from a file of records:
//
//	w, err := results.Append("results.jsonl")
//	...
//	plan := bench.Plan{Cells: cells}
//	err = bench.Run(ctx, plan, func(r results.Record) error { return w.Write(r) })
//	err = errors.Join(err, w.Close())
//	...
//	set, err := results.Read("results.jsonl")
//	...
//	files, err := plots.Write("pictures", plots.Charts(set))
//
// # The controller and its workers
//
// [Run] is the controller. It opens the pipes and hands their ends to workers, but never reads or
// writes them. Each end belongs to a worker, a process of its own.
//
// Cells that are compared with each other share their workers. The workers measure these cells in
// turn, for some milliseconds at a time. One such measurement is a slice, and gives one sample. The
// workers are started several times, because slices of two different starts differ more than two
// slices of the same start.
//
// A worker is this same program, started again by package syspipe/proc. It does its work in
// [Worker]. It is bound to its CPU, its garbage collector is off while the clock runs, and it is
// killed at a deadline. When the controller ends, even if it is killed, its workers end too.
//
// # The clock
//
// Both ends first warm up through the same pipe. The clock is at one end: in a stream at the end
// that receives, in round trips at the end that awaits the replies. This end waits until the other
// end is ready, starts the clock, and tells the other end to go. It stops the clock when it has the
// last message.
//
// While the clock runs, the length and the number of every framed message are checked. Before that,
// without a clock, some messages of each cell are compared byte for byte.
//
// If a cell sets [results.Cell.ClosesAfter], the reader stops reading after that many messages, and
// closes its end when the pipe is full. The writer goes on until the kernel tells it that the
// reader's end is closed. Both moments are recorded, by a clock that all processes share.
//
// # Where messages lie
//
// The cost of a copy in the kernel depends on the offsets of its source and its destination within
// a page. So the messages begin at a random offset. It is drawn for each start of the workers, and
// recorded in the sample. A cell may set the offset instead ([results.Cell.PayloadOffset]).
//
// # Concurrency
//
// Run may be called from several goroutines, but two runs at the same time on one machine disturb
// each other. Figures may differ from day to day, so compare only figures of the same run.
package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A Plan says what to measure, and for how long. A field that the plan or one of its cells leaves
// empty has its usual value.
type Plan struct {
	Run       string         // names the run in its records; "": [results.NewRun] makes a name
	Cells     []results.Cell // each at most once
	Samples   int            // of each cell; 0 means 24; fewer than 6 give no 95 % interval
	Duration  time.Duration  // of one sample, roughly; 0 means [SliceTime]
	Forks     int            // starts of the workers; samples are spread over them; 0 means 5
	MaxTime   time.Duration  // begin nothing that would end later than this; 0 means no limit
	Seed      int64          // for the messages, their offsets, and the order of samples
	Recording string         // path of the messages, if a cell replays some

	// Turn, if set, is called before each start of workers, and before each round, in which these
	// workers take one sample of every cell. Turn returns when this run may go on. So several runs
	// on one machine can take turns.
	Turn func(context.Context) error

	// Observe, if set, is called after each step, on the goroutine that called Run.
	Observe func(Progress)
}

// Progress is one step of a run.
type Progress struct {
	Cell   results.Cell
	Step   Step
	Sample int // number of the sample, from 1, if Step is Timed; else 0
}

// A Step is what was just finished for a cell.
type Step string

const (
	Compared   Step = "compared"   // every byte of its untimed messages was compared
	Calibrated Step = "calibrated" // it is known how many messages a sample takes
	Timed      Step = "timed"      // a sample was taken
	Finished   Step = "finished"   // its record was passed to the caller of Run
)

// A placedCell is a cell with the CPUs for its ends, or with the reason why this machine cannot run
// it.
type placedCell struct {
	cell        results.Cell
	cpus        placement.CPUs
	unsupported error
}

// Validate returns an error if the plan has an unknown name, a message that a framing cannot carry,
// or a capacity that this system refuses. It returns no error if this machine merely lacks
// something that a cell needs. Run then makes a record that says why the cell is unsupported.
func (p Plan) Validate() error {
	_, err := p.withDefaults().validateAndPlace()
	return err
}

// validateAndPlace validates a plan that withDefaults has completed, and finds CPUs for its cells.
func (p Plan) validateAndPlace() ([]placedCell, error) {
	if err := p.checkNumbers(); err != nil {
		return nil, err
	}
	seen := map[results.Cell]bool{}
	for _, c := range p.Cells {
		if seen[c] {
			return nil, fmt.Errorf("the plan has a cell twice: %s", c.Key())
		}
		seen[c] = true
		if err := p.validate(c); err != nil {
			return nil, fmt.Errorf("%s: %w", Label(c), err)
		}
	}
	return placeAll(p.Cells)
}

func (p Plan) checkNumbers() error {
	switch {
	case len(p.Cells) == 0:
		return errors.New("the plan has no cells")
	case p.Samples < 0 || p.Duration < 0:
		return fmt.Errorf("the plan asks for %d samples of %s; neither can be negative",
			p.Samples, p.Duration)
	case p.MaxTime < 0 || p.Forks < 0:
		return fmt.Errorf("the plan asks for a time of %s and %d forks; neither can be negative",
			p.MaxTime, p.Forks)
	}
	return nil
}

// placeAll finds CPUs for cells, and tries their pipes.
func placeAll(cells []results.Cell) ([]placedCell, error) {
	var placed []placedCell
	for _, c := range cells {
		cpus, why := placeCell(c)
		if why != nil && !errors.Is(why, errors.ErrUnsupported) {
			return nil, why
		}
		placed = append(placed, placedCell{c, cpus, why})
	}
	return placed, nil
}

// placeCell returns the CPUs for the ends of a cell, or why this machine cannot run it.
func placeCell(c results.Cell) (placement.CPUs, error) {
	if err := tryOptions(c); err != nil {
		return placement.CPUs{}, err
	}
	if err := tryPipe(c); err != nil {
		return placement.CPUs{}, err
	}
	topology, err := placement.Read()
	if err != nil {
		return placement.CPUs{}, err
	}
	return topology.Choose(c.Placement)
}

// tryOptions returns an error if the cell needs a [framers.Option] but its framing is not of
// package framers. No other package can read the options.
func tryOptions(c results.Cell) error {
	needed := c.ReadBuffer > 0 || c.ReadOffset != "" || c.WriteSize > 0
	if _, err := framers.Parse(c.Framing); err == nil || !needed {
		return nil
	}
	return syspipe.Unsupported("a read buffer, read offset or write size for the framing " +
		c.Framing + ": only the framings of package framers read options")
}

// tryPipe opens a cell's pipe, sets how its ends wait, and closes it again. A system may support a
// kind of pipe and a way to wait, but not both together.
func tryPipe(c results.Cell) error {
	writer, reader, err := parseIO(c.IO)
	if err != nil {
		return err
	}
	polled := writer == syspipe.Poller || reader == syspipe.Poller
	canVmsplice := syspipe.LendsPages && !polled && syspipe.Kind(c.Pipe).IsPipe()
	if c.Transfer != "" && !canVmsplice {
		const says = "transfer %s through a %s with io %s: unavailable on %s"
		return syspipe.Unsupported(fmt.Sprintf(says, c.Transfer, c.Pipe, c.IO, runtime.GOOS))
	}
	options := syspipe.Options{Capacity: c.Capacity, IO: syspipe.Blocking}
	w, r, err := syspipe.Open(syspipe.Kind(c.Pipe), options)
	if err != nil {
		return err
	}
	return errors.Join(w.SetIO(writer), r.SetIO(reader), w.Close(), r.Close())
}

// Unsupported returns an error that says why this machine cannot run a cell, or nil if it can. A
// field that the cell leaves empty has its usual value, as in [Complete]. [IsUnsupported] tells
// what this machine lacks from what no machine can run.
func Unsupported(c results.Cell) error {
	_, err := placeCell(Complete(c))
	return err
}

// IsUnsupported reports whether an error says that this machine lacks something or refuses a
// capacity. Any other error of a cell means that no machine can run it.
func IsUnsupported(err error) bool {
	var capacity *syspipe.CapacityError
	return errors.As(err, &capacity) || errors.Is(err, errors.ErrUnsupported)
}
