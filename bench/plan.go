package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// A Plan is what to measure, and how long.
type Plan struct {
	Run       string         // names the run in its records
	Cells     []results.Cell // each at most once
	Samples   int            // of each cell; 6 is the least that gives a 95 % interval
	Duration  time.Duration  // of one sample, about
	Precision float64        // take more samples until the median's interval is this narrow (0.02 is ±2 %); 0 is never
	MaxTime   time.Duration  // after which no further sample is begun; 0 is never
	Seed      int64          // of the messages and of the order of samples
	Recording string         // path of the messages, where a cell replays some

	// Observe, if set, is told of progress from the goroutine that called Run.
	Observe func(Progress)
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
	Compared   Step = "compared"   // its untimed sample, every byte
	Calibrated Step = "calibrated" // how many messages fill a sample
	Timed      Step = "timed"      // a sample
	Finished   Step = "finished"   // its record is kept
)

// Patterns, Peers and Clocks are the values of a cell's fields, with a line for a
// list. The first of Clocks is the default, which a cell has as "".
var (
	Patterns = [][2]string{
		{"stream", "messages one way, as fast as the pipe takes them"},
		{"roundtrip", "a message there and the same message back, one at a time, over two pipes"},
	}
	Peers = [][2]string{
		{"process", "each end is a process of its own"},
		{"thread", "both ends are threads of one process"},
	}
	Clocks = [][2]string{
		{"trip", "it is read after each round trip, which costs about 1 % of a short one"},
		{clockPerSample, "it is read at a sample's ends alone: no trip has a time of its own, as in lat_pipe and perf bench"},
	}
)

// Validate reports what of the plan cannot be: unknown names, messages that a
// framing cannot carry, a capacity that this system refuses. What this system
// merely lacks is no error; its cells become unsupported records.
func (p Plan) Validate() error {
	if len(p.Cells) == 0 {
		return errors.New("the plan has no cells")
	}
	if p.Samples < 1 || p.Duration <= 0 {
		return fmt.Errorf("the plan asks for %d samples of %s; both must be positive", p.Samples, p.Duration)
	}
	if p.MaxTime < 0 || p.Precision < 0 {
		return fmt.Errorf("the plan asks for a time of %s and a precision of %v; neither can be negative", p.MaxTime, p.Precision)
	}
	seen := map[string]bool{}
	tried := map[string]bool{}
	for _, c := range p.Cells {
		if seen[c.Key()] {
			return fmt.Errorf("the plan has a cell twice: %s", c.Key())
		}
		seen[c.Key()] = true
		err := p.validate(c)
		if err == nil {
			err = p.checkLoadMemory(c)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", Label(c), err)
		}
		pipe := fmt.Sprint(c.Pipe, c.Capacity)
		if Unsupported(c) == nil && !tried[pipe] {
			tried[pipe] = true
			if err := tryPipe(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p Plan) validate(c results.Cell) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if err := checkKnown("pattern", c.Pattern, Patterns); err != nil {
		return err
	}
	if err := checkKnown("peer", c.Peer, Peers); err != nil {
		return err
	}
	if _, err := syspipe.ParseKind(c.Pipe); err != nil {
		return err
	}
	if _, err := parseIO(c.IO); err != nil {
		return err
	}
	if _, err := (placement.Topology{}).Choose(c.Placement); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := validateLoad(c); err != nil {
		return err
	}
	return p.checkPayload(c)
}

// maxLoadMessages is how many messages a sample of an open loop may have. Each end
// keeps two moments of each, and a worker may hold twice that in all.
const maxLoadMessages = workerMemory / 32

// checkLoadMemory refuses a rate whose account no worker could hold. How many messages
// there are is asked for here; elsewhere it is measured.
func (p Plan) checkLoadMemory(c results.Cell) error {
	if n := c.Rate * p.Duration.Seconds(); n > maxLoadMessages {
		return fmt.Errorf("rate %v makes %.0f messages a sample of %s, and %d can be accounted for: ask for a lower rate, or a shorter duration", c.Rate, n, p.Duration, maxLoadMessages)
	}
	return nil
}

// clockPerSample is the clock of a cell whose round trips are not timed one by
// one.
const clockPerSample = "sample"

// validateLoad holds the further fields of a cell against the others.
func validateLoad(c results.Cell) error {
	if c.Transfer != "" {
		if _, err := syspipe.ParseTransfer(c.Transfer); err != nil {
			return err
		}
	}
	switch {
	case c.Transfer != "" && (c.Framing != "raw" || c.Pattern != "stream"):
		return fmt.Errorf("transfer %s is for raw streams: a framing has to read its bytes", c.Transfer)
	case c.Inflight > 1 && c.Rate > 0:
		return errors.New("inflight is of a closed loop, and rate of an open one: ask for one of them")
	case c.Inflight > 1 && c.Pattern != "roundtrip":
		return errors.New("inflight counts messages without an answer: it is for round trips")
	case c.Batch > 1 && (c.Pattern != "stream" || c.Rate > 0):
		return errors.New("a batch is of a stream without a rate: what waits for others to leave with it is late")
	case c.Clock != "" && c.Clock != clockPerSample:
		return fmt.Errorf("clock %q is unknown; known is %s", c.Clock, clockPerSample)
	case c.Clock != "" && (c.Pattern != "roundtrip" || c.Rate > 0 || c.Inflight > 1):
		return errors.New("clock is for round trips one at a time: a stream has no trips, and a load needs the time of each message")
	case c.Drain > 0 && c.Pattern != "stream":
		return errors.New("drain holds up the reader of a stream: the one that answers has its own pace")
	}
	return nil
}

// checkPayload tries a cell's messages on its framing.
func (p Plan) checkPayload(c results.Cell) error {
	s, err := job{Cell: c, Seed: p.Seed, Recording: p.Recording}.prepare()
	if err != nil || s.raw {
		return err
	}
	for i := range s.source.Distinct() {
		if err := framers.Carries(s.framing, s.source.Message(i)); err != nil {
			return fmt.Errorf("payload %s: %w", c.Payload, err)
		}
	}
	return nil
}

// tryPipe opens a cell's pipe and closes it again.
func tryPipe(c results.Cell) error {
	w, r, err := syspipe.Open(syspipe.Kind(c.Pipe), c.Capacity)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(w.Close(), r.Close())
}

// Unsupported is why this machine cannot run a cell, nil if it can.
func Unsupported(c results.Cell) error {
	if err := syspipe.Kind(c.Pipe).Supported(); err != nil {
		return err
	}
	io, err := parseIO(c.IO)
	if err != nil {
		return err
	}
	if err := errors.Join(io.writer.Supported(), io.reader.Supported()); err != nil {
		return err
	}
	if err := checkTransfer(c, io); err != nil {
		return err
	}
	topology, err := placement.Read()
	if err != nil {
		return err
	}
	_, err = topology.Choose(c.Placement)
	return err
}

// checkTransfer is why a cell's pipe cannot have its pages lent.
func checkTransfer(c results.Cell, io ioPair) error {
	if c.Transfer == "" {
		return nil
	}
	if err := syspipe.Transfer(c.Transfer).Supported(); err != nil {
		return err
	}
	if c.Pipe == string(syspipe.SocketPair) || io.writer == syspipe.Poller || io.reader == syspipe.Poller {
		return fmt.Errorf("transfer %s through a %s with io %s: %w", c.Transfer, c.Pipe, c.IO, errors.ErrUnsupported)
	}
	return nil
}

func checkKnown(what, value string, values [][2]string) error {
	var names []string
	for _, v := range values {
		names = append(names, v[0])
	}
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("%s %q is unknown; known are %s", what, value, strings.Join(names, ", "))
}

// labelDefaults are values that a label leaves out.
var labelDefaults = map[string]string{"pipe": "anonymous", "capacity": "0", "io": "blocking", "peer": "process", "payload": "json"}

// Label names a cell shortly, for a line of progress or an error: framing, size,
// pattern and placement, and what else of it is not as usual.
func Label(c results.Cell) string {
	size := results.FormatSize(int64(c.Size))
	if c.Messages != "" {
		size, c.Payload, c.Messages = "recorded", labelDefaults["payload"], ""
	}
	words := []string{c.Framing, size, c.Pattern, c.Placement}
	for _, f := range c.Fields() {
		switch f.Name {
		case "framing", "size", "pattern", "placement":
			continue
		}
		if f.Value != labelDefaults[f.Name] {
			words = append(words, f.Name+"="+f.Value)
		}
	}
	return strings.Join(words, " ")
}
