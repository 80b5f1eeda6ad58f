package drive

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Keep takes each record as it is finished. An error from it ends the work.
type Keep func(results.Line) error

// record begins a record about this server.
func (d *Driver) record() results.Target {
	name, _, _ := strings.Cut(d.Protocol(), " ")
	t := results.Target{
		Kind: results.KindTarget, Run: d.o.Run, Time: time.Now().UTC(),
		Command: d.o.Command, Protocol: name,
		Evidence: map[string]any{"spoken": d.Protocol(), "framing": d.Framing(), "request": d.Request(), "pipe": string(d.o.Pipe)},
	}
	if d.stillborn > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d starts of the server after a failure came to nothing, and the next did not", d.stillborn))
		d.stillborn = 0
	}
	return t
}

// add puts further evidence into a record.
func add(t *results.Target, more map[string]any) {
	for name, value := range more {
		t.Evidence[name] = value
	}
}

// pipes is how the server's pipes are, as far as that was asked for.
func (d *Driver) pipes(t *results.Target) {
	if d.o.Capacity > 0 {
		t.Evidence["capacity"] = d.o.Capacity
	}
	if d.o.WriteChunk > 0 {
		t.Evidence["write_chunk"] = d.o.WriteChunk
	}
	if d.o.WritePause > 0 {
		t.Evidence["write_pause_ns"] = int64(d.o.WritePause)
	}
}

// failed is the record of a request that was not served.
func (d *Driver) failed(size int, out outcome) results.Target {
	t := d.record()
	d.pipes(&t)
	t.Size, t.Verdict = int64(size), string(out.verdict)
	add(&t, out.evidence.fields())
	if out.why != "" {
		t.Evidence["why"] = out.why
	}
	if a := out.verdict.Advice(); a != "" {
		t.Evidence["advice"] = a
	}
	return t
}

// Doubling lists the sizes from one to another, each twice the one before, the last included whatever it is.
func Doubling(from, to int) []int {
	var sizes []int
	for n := max(1, from); n < to; n *= 2 {
		sizes = append(sizes, n)
	}
	return append(sizes, to)
}

// ascending sorts sizes and leaves out those that are there twice.
func ascending(sizes []int) []int {
	slices.Sort(sizes)
	return slices.Compact(sizes)
}
