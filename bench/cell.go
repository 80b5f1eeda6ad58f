package bench

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// Patterns, Peers and Clocks are the values of a cell's fields, with a line for a list. The first
// of Clocks is the default, which a cell has as "".
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

// validate reports what of a cell cannot be, on any system.
func (p Plan) validate(c results.Cell) error {
	if err := c.Validate(); err != nil {
		return err
	}
	_, unknownKind := syspipe.ParseKind(c.Pipe)
	_, _, unknownIO := parseIO(c.IO)
	unknown := []error{checkKnown("pattern", c.Pattern, Patterns), checkKnown("peer", c.Peer, Peers), unknownKind, unknownIO}
	if err := errors.Join(unknown...); err != nil {
		return err
	}
	if _, err := (placement.Topology{}).Choose(c.Placement); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := p.validateLoad(c); err != nil {
		return err
	}
	s, err := p.jobOf(c).prepare()
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

// clockPerSample is the clock of a cell whose round trips are not timed one by one.
const clockPerSample = "sample"

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
	due := c.Rate * p.Duration.Seconds()
	switch {
	case c.Leave > 0 && (c.Pattern != "stream" || c.Rate > 0 || c.Batch > 1 || c.Transfer != ""):
		return fmt.Errorf("a reader that leaves (after %d) is of a stream without rate, batch and transfer: its writer goes on until it is told", c.Leave)
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
	case due > maxLoadMessages:
		return fmt.Errorf("rate %v makes %.0f messages a sample of %s, and %d can be accounted for: ask for a lower rate, or a shorter duration", c.Rate, due, p.Duration, maxLoadMessages)
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
// can be lent to pipes alone, nor where an end is left to Go's poller. Of two threads none is
// while the other may wait elsewhere: see [newEndpoint].
func placeCell(c results.Cell) (cpus placement.CPUs, err error) {
	if err := syspipe.Kind(c.Pipe).Supported(); err != nil {
		return cpus, err
	}
	writer, reader, err := parseIO(c.IO)
	if err := errors.Join(err, writer.Supported(), reader.Supported()); err != nil {
		return cpus, err
	}
	elsewhere := writer != reader || c.Rate > 0 || c.Drain > 0
	if c.Peer == "thread" && (writer == syspipe.Poller || reader == syspipe.Poller) && elsewhere {
		return cpus, syspipe.Unsupported("io poller for a thread whose peer, a thread beside it, waits elsewhere: unavailable, as Go polls late then")
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
var labelDefaults = map[string]string{"pipe": "anonymous", "capacity": "0", "io": "blocking", "peer": "process", "payload": "json"}

// Label names a cell shortly, for a line of progress or an error: framing, size, pattern and
// placement, and what else of it is not as usual.
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
