// Package bench measures pipes, and the framings of messages that pass through them. A
// [results.Cell] says what to measure. A [results.Record] says how long it took and what it cost.
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
// [Run] measures many cells, and passes the record of each cell to a function. A file of
// records begins with a line that describes the machine, for tables and pictures:
//
//	w, err := results.Append("results.jsonl")
//	...
//	run, err := results.NewRun()
//	...
//	plan := bench.Plan{Run: run, Cells: cells}
//	err = w.Write(machine.Describe(run, plan.Seed))
//	...
//	err = bench.Run(ctx, plan, func(r results.Record) error { return w.Write(r) })
//	err = errors.Join(err, w.Close())
//
// Each end of a pipe runs in a worker, a process of its own: this program, started again. So main
// must call [Worker] first, and before it [Register] for a framing of your own. Workers end with
// the process that started them, even if that is killed.
//
// The clock starts after a warm-up, when both ends are ready, and stops at the last message.
//
// Run may be called from several goroutines, but two runs on one machine disturb each other.
// Figures may differ from day to day, so compare only figures of the same run.
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

// A Plan says what to measure, and for how long. Only Cells must be set.
type Plan struct {
	Run       string         // names the run in its records; "": a new name
	Cells     []results.Cell // each at most once
	Samples   int            // of each cell; 0 means 24; fewer than 6 give no 95 % interval
	Duration  time.Duration  // of one sample, roughly; 0 means [SliceTime]
	Forks     int            // starts of the workers; samples are spread over them; 0 means 5
	MaxTime   time.Duration  // begin nothing that would end later than this; 0 means no limit
	Seed      int64          // for the messages, their offsets, and the order of samples
	Recording string         // path of recorded messages, if a cell sends some

	// Turn, if set, is called between measurements, and returns when this run may go on. With it,
	// several runs on one machine can take turns.
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

// A Step is what was just finished for a measurement.
type Step string

const (
	Compared   Step = "compared"   // every byte of the untimed messages was compared
	Calibrated Step = "calibrated" // it is known how many messages a sample takes
	Timed      Step = "timed"      // a sample was taken
	Finished   Step = "finished"   // the record was passed to the caller of Run
)

// A placedCell says what to measure and has the CPUs for the two ends of the pipe, or the reason
// why this machine cannot make that measurement.
type placedCell struct {
	cell        results.Cell
	cpus        placement.CPUs
	unsupported error
}

// Validate returns an error if a value in the plan is wrong, or if this system refuses a capacity
// that the plan asks for. If this machine only lacks something that a measurement needs, Validate
// returns nil.
func (p Plan) Validate() error {
	_, err := p.withDefaults().validateAndPlace()
	return err
}

// validateAndPlace validates a plan that withDefaults has completed, and finds CPUs for its
// measurements.
func (p Plan) validateAndPlace() ([]placedCell, error) {
	if err := p.checkNumbers(); err != nil {
		return nil, err
	}
	seen := map[results.Cell]bool{}
	for _, c := range p.Cells {
		if seen[c] {
			return nil, fmt.Errorf("%s is asked for twice: name each value once",
				results.CellName(c))
		}
		seen[c] = true
		if err := validateNames(c); err != nil {
			return nil, err
		}
		if err := p.validate(c); err != nil {
			return nil, fmt.Errorf("%s: %w", results.CellName(c), err)
		}
	}
	var placed []placedCell
	for _, c := range p.Cells { // only after all are valid, because this opens pipes
		cpus, why := placeCell(c)
		if why != nil && !errors.Is(why, errors.ErrUnsupported) {
			return nil, why
		}
		placed = append(placed, placedCell{c, cpus, why})
	}
	return placed, nil
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

// placeCell returns the CPUs for the two ends of the pipe. If this machine cannot make the
// measurement c, the error says why.
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

// tryOptions returns an error if c needs a [framers.Option], but names a framing that package
// framers does not have.
func tryOptions(c results.Cell) error {
	needed := c.ReadBuffer > 0 || c.ReadOffset != "" || c.WriteSize > 0
	if _, err := framers.Parse(c.Framing); err == nil || !needed {
		return nil
	}
	return syspipe.Unsupported("a read buffer, read offset or write size for the framing " +
		c.Framing + ": only the framings of package framers read options")
}

// tryPipe opens a pipe with all the properties that c asks for, and closes it again.
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

// Unsupported returns the reason why this machine cannot make the measurement c, or nil if it can.
// Empty fields of c get their usual values, as in [Complete].
func Unsupported(c results.Cell) error {
	_, err := placeCell(Complete(c))
	return err
}

// IsUnsupported reports whether err means that this machine cannot make a measurement, although
// another machine might.
func IsUnsupported(err error) bool {
	_, isCapacity := errors.AsType[*syspipe.CapacityError](err)
	return isCapacity || errors.Is(err, errors.ErrUnsupported)
}
