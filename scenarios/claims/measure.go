package claims

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe"
)

// longest is the time limit of an experiment on pipes. The experiments for claims need far less:
// they do not wait until something hangs.
const longest = time.Minute

// Options say how to measure what a set of records does not have yet.
type Options struct {
	Run  string // names the run in its records
	Seed int64  // for the messages and for the order of samples

	Server []string // the command of an MCP server to check; nil for none

	// Observe, if set, is called before each step, with the number of steps done and of all steps.
	Observe func(step string, done, total int)
}

// Measure measures what the selected claims need and the set lacks, and calls keep with each
// result. It goes on if a measurement fails. All claims together take about a minute.
func Measure(ctx context.Context, selected []Claim, set *results.Set, o Options,
	keep func(results.Line) error) error {
	needs := lacking(set, selected)
	var failed []error
	for done, need := range needs {
		if o.Observe != nil {
			o.Observe(need, done, len(needs))
		}
		failed = append(failed, o.measure(ctx, need, keep))
		if ctx.Err() != nil {
			return errors.Join(append(failed, context.Cause(ctx))...)
		}
	}
	return errors.Join(failed...)
}

// lacking lists the experiments and measurements that the selected claims need and the set does not
// have, each of them once.
func lacking(set *results.Set, selected []Claim) []string {
	e := newEvidence(set)
	var needs []string
	for _, c := range selected {
		for _, need := range c.Needs {
			if e.has(need) {
				continue
			}
			need = experimentOf(need)
			if !slices.Contains(needs, need) {
				needs = append(needs, need)
			}
		}
	}
	return needs
}

// measure makes the experiment or the measurements for "need", an entry of Needs in a claim.
func (o Options) measure(ctx context.Context, need string, keep func(results.Line) error) error {
	keepFinding := func(f results.Finding) error { return keep(f) }
	switch need {
	case needCosts, needTrips, needReaders:
		return o.measureCells(ctx, need, keep)
	case checkServer:
		if o.Server == nil {
			return keep(results.Finding{
				ID: checkServer, Title: "check an MCP server", Verdict: results.CannotTell,
				Found: "none to check: name one, as in pipebench probe --claims -- my-server",
			})
		}
		return check.Server(ctx, check.Options{
			Run: o.Run, Command: o.Server, Only: []string{dirtyLine, endInFlight},
			Timeout: time.Minute,
		}, keep)
	}
	if name, ok := strings.CutPrefix(need, results.AreaFailure+"/"); ok {
		f, err := failures.Find(name)
		if err != nil {
			return err
		}
		return f.Show(ctx, failures.Options{}, keepFinding)
	}
	_, step, _ := rules.ParseID(need)
	return rules.Run(ctx, rules.Options{
		Kinds: []syspipe.Kind{syspipe.Anonymous}, Steps: []string{step}, StepTimeout: longest,
	}, keepFinding)
}

// experimentOf returns the ID of the experiment that makes the findings of "need", an entry of
// Needs. If "need" stands for measurements, the result is "need" itself.
func experimentOf(need string) string {
	if strings.HasPrefix(need, serverCheck("")) {
		return checkServer
	}
	if kind, step, ok := rules.ParseID(need); ok {
		// A step begins with the name of its experiment; "capacity/fill/4096" is one of "fill".
		name, _, _ := strings.Cut(strings.TrimPrefix(step, "capacity/"), "/")
		return rules.ID(kind, name)
	}
	if part, ok := strings.CutPrefix(need, results.AreaFailure+"/"); ok {
		name, _, _ := strings.Cut(part, "/")
		return results.AreaFailure + "/" + name
	}
	return need
}

// The framings, ways of telling messages apart, whose costs the documents talk about. costFraming
// puts every message into frames, and bareFraming sends small messages as lines.
const (
	costFraming = "chunked:61440"
	bareFraming = "adaptive:61440"
)

// measureCells makes the measurements that needCosts, needTrips or needReaders stands for.
func (o Options) measureCells(ctx context.Context, need string,
	keep func(results.Line) error) error {
	topology, err := placement.Read()
	if err != nil {
		return err
	}
	p := bench.Plan{Run: o.Run, Seed: o.Seed, Samples: 18, Duration: 25 * time.Millisecond}
	places := topology.Best()
	switch need {
	case needCosts:
		framings := []string{results.FramingRaw, costFraming}
		p.Cells = cells("stream", places, framings, 4000, 65_000, 1_000_000)
	case needTrips:
		framings := []string{"ndjson", costFraming, bareFraming}
		p.Cells = cells("roundtrip", places[:1], framings, 256, 4<<10, 32<<10)
	case needReaders:
		p.Samples = stat.LeastSamples
		p.Cells = cells("stream", places[:1], []string{"ndjson", "ndjson-rescan"},
			256_000, 500_000, 1_000_000, 2_000_000, 4_000_000)
		// Reading a larger line byte by byte would take seconds.
		slow := cells("stream", places[:1], []string{"ndjson-bytewise"}, 256_000, 1_000_000)
		p.Cells = append(p.Cells, slow...)
	}
	return bench.Run(ctx, p, func(r results.Record) error { return keep(r) })
}

// cells describes measurements: a [results.UsualCell] for each combination of a framing, a
// placement and a size.
func cells(pattern string, places, framings []string, sizes ...int) []results.Cell {
	var all []results.Cell
	for _, framing := range framings {
		for _, place := range places {
			for _, size := range sizes {
				all = append(all, results.UsualCell(framing, pattern, place, size))
			}
		}
	}
	return all
}
