package drive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// A Load says which requests to send without waiting for the answer to each.
type Load struct {
	Size int // bytes of a request; 0 is 1 KiB
	// Inflight is how many requests may wait for their answers at once; 0 means 1024 with a Rate,
	// and 1 without.
	Inflight int
	Rate     float64       // requests per second, even to a slow server; 0 is no fixed rate
	Duration time.Duration // how long to send; 0 is 3 s
}

const (
	defaultInflight = 1024
	mostInflight    = target.MostInflight
	leastRate       = 1e-9 // one request in 30 years; a far lower rate overflows a Duration
	mostRate        = 1e9  // one request per ns
	defaultLoad     = 3 * time.Second
	loadRounds      = stat.LeastSamples // the number of equal parts of a load; each gives a sample
)

// Validate returns an error that says what is wrong with the load.
func (l Load) Validate() error {
	_, err := l.withDefaults()
	return err
}

func (l Load) withDefaults() (Load, error) {
	inflight := 1
	if l.Rate > 0 {
		inflight = defaultInflight
	}
	l.Size = cmp.Or(l.Size, defaultFrom)
	l.Inflight = cmp.Or(l.Inflight, inflight)
	l.Duration = cmp.Or(max(l.Duration, 0), defaultLoad)
	if l.Inflight < 0 || l.Inflight > mostInflight {
		return l, fmt.Errorf(
			"drive: %d requests in flight: want 1 to %d", l.Inflight, mostInflight)
	}
	rateFits := l.Rate >= leastRate && l.Rate <= mostRate // NaN does not
	if l.Rate != 0 && !rateFits {
		return l, fmt.Errorf("drive: %v requests per second: want a rate of 0, or from %g to %g",
			l.Rate, leastRate, mostRate)
	}
	return l, nil
}

// Load sends requests without waiting for the answer to each, and gives sink one record. Answers
// may come in any order. With a Rate, latency counts from when a request was due.
func (d *Driver) Load(ctx context.Context, l Load, sink Sink) error {
	l, err := l.withDefaults()
	if err != nil {
		return err
	}
	if d.options.Tool != "" && !d.protocol.CallsTool() {
		return OptionError(fmt.Sprintf("a load cannot call tool %s, which makes as much as a "+
			"number says: see check --server --tool %[1]s --only pipelined", d.options.Tool))
	}
	request := d.protocol.Request(target.Tool, l.Size)
	if request.Query != nil { // the request is a document
		return errors.New("drive: documents are sent one at a time: load it by request unknown")
	}
	t := d.record()
	t.Size = int64(request.Size())
	t.Evidence.Size = &results.SizeEvidence{PayloadBytes: len(request.Payload())}
	load := &results.LoadEvidence{Inflight: l.Inflight, Rate: l.Rate}
	t.Evidence.Load = load
	for range loadRounds {
		r, err := d.loadRound(ctx, l, request)
		if err != nil {
			return err
		}
		load.OutOfOrder += r.outOfOrder
		if r.failed != nil {
			d.setFailure(&t, *r.failed, request.Size())
			break
		}
		t.Samples = append(t.Samples, r.sample)
	}
	judgeRate(&t)
	d.warnOfSideEffects(&t)
	return sink(t)
}

// If more than this share of the requests that were due was never sent, the rate counts as not
// reached.
const mostUnsent = 0.05

// judgeRate warns if many requests were sent late, and sets the verdict if the rate was not
// reached.
func judgeRate(t *results.Target) {
	var late, sent, unsent int64
	for _, s := range t.Samples {
		if s.Load != nil {
			late += s.Load.Late
			sent += s.Load.Sent
			unsent += s.Load.Unsent
		}
	}
	if late*100 > sent { // one in a hundred
		warn(t, "%d of %d requests left late: the window was full or the driver had no CPU; "+
			"latency counts from when they were due", late, sent)
	}
	if unsent == 0 {
		return
	}
	why := fmt.Sprintf("%d of %d requests that were due were never sent: "+
		"the server does not keep up with the rate", unsent, sent+unsent)
	if float64(unsent) > mostUnsent*float64(sent+unsent) && t.Verdict == string(target.OK) {
		setVerdict(t, target.Overloaded)
		t.Evidence.Why = why
		return
	}
	warn(t, "%s", why)
}
