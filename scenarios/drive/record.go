package drive

import (
	"encoding/json"
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
		Evidence: results.TargetEvidence{ServerEvidence: &results.ServerEvidence{Spoken: d.Protocol(), Framing: d.Framing(), Request: d.Request(), Pipe: string(d.o.Pipe)}},
	}
	if d.stillborn > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("%d starts of the server after a failure came to nothing, and the next did not", d.stillborn))
		d.stillborn = 0
	}
	return t
}

// add puts further evidence into a record.
func add(t *results.Target, more any) {
	text, err := json.Marshal(more)
	if err == nil {
		err = json.Unmarshal(text, &t.Evidence)
	}
	if err != nil {
		panic(fmt.Sprintf("drive: evidence: %v", err)) // plain data
	}
}

// fields are a record's evidence by the names in the file.
func fields(t results.Target) map[string]any {
	var out map[string]any
	text, err := json.Marshal(t.Evidence)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("drive: evidence: %v", err)) // plain data
	}
	return out
}

// pipes is how the server's pipes are, as far as that was asked for.
func (d *Driver) pipes(t *results.Target) {
	if d.o.Capacity > 0 {
		add(t, map[string]any{"capacity": d.o.Capacity})
	}
	if d.o.WriteChunk > 0 {
		add(t, map[string]any{"write_chunk": d.o.WriteChunk})
	}
	if d.o.WritePause > 0 {
		add(t, map[string]any{"write_pause_ns": int64(d.o.WritePause)})
	}
}

// failed is the record of a request that was not served.
func (d *Driver) failed(size int, out outcome) results.Target {
	t := d.record()
	d.pipes(&t)
	t.Size, t.Verdict = int64(size), string(out.verdict)
	add(&t, out.evidence.fields())
	if out.why != "" {
		add(&t, map[string]any{"why": out.why})
	}
	if a := out.verdict.Advice(); a != "" {
		add(&t, map[string]any{"advice": a})
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
