package measure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe"
)

// The sizes that are measured: messages of a page, of a pipe's usual capacity and of many of them;
// trips of one byte, which cost nothing but the switch, and of a full pipe.
var (
	profileStreamSizes = []int{4 << 10, 64 << 10, 1 << 20}
	zeroCopySizes      = []int{64 << 10, 1 << 20}
	profileTripSizes   = []int{1, 64 << 10}
)

// Places returns the placements that this machine has; free where a program cannot choose its CPUs.
func Places(t placement.Topology) []string {
	var names []string
	for _, p := range placement.Places() {
		if _, err := t.Choose(p.Name); err == nil && p.Name != "free" {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return []string{"free"}
	}
	return names
}

// ProfileCells returns the raw cells of each placement. Zero-copy is among them where this system
// can do that at all.
func ProfileCells(t placement.Topology) []results.Cell {
	var cells []results.Cell
	add := func(base results.Cell, sizes []int) {
		for _, base.Size = range sizes {
			cells = append(cells, base)
		}
	}
	for _, place := range Places(t) {
		base := results.Cell{
			Framing: "raw", Pipe: string(syspipe.Anonymous), IO: syspipe.Blocking.String(), Placement: place,
			Peer: "process", Pattern: "stream", Payload: "json",
		}
		add(base, profileStreamSizes)
		for _, transfer := range []syspipe.Transfer{syspipe.Vmsplice, syspipe.Splice} {
			if !errors.Is(transfer.Supported(), errors.ErrUnsupported) {
				base.Transfer = string(transfer)
				add(base, zeroCopySizes)
			}
		}
		base.Transfer, base.Pattern = "", "roundtrip"
		add(base, profileTripSizes)
	}
	return cells
}

// zeroCopySupported reports whether this system can lend pages to a pipe, for those who want to say
// why rows are missing.
func zeroCopySupported() error {
	if err := syspipe.Vmsplice.Supported(); err != nil {
		return err
	}
	return syspipe.Splice.Supported()
}

// What is copied: as much as a pipe holds, which stays in a core's cache, and more than a
// last-level cache holds.
const (
	inCache     = 64 << 10
	beyondCache = 64 << 20
)

// How often, and how long each time, about.
const (
	copySamples  = 7
	copyDuration = 40 * time.Millisecond
)

// MemoryStep begins the step of a record that holds how fast memory is copied; the bytes of the
// buffer and the placement follow it.
const MemoryStep = "memory/copy/"

// Memory measures how fast this machine copies memory: one thread on each CPU of a placement, all
// at the same time, each between buffers of its own. The rate is bytes copied a second, all threads
// together; each byte is read once and written once.
func Memory(ctx context.Context, run string, t placement.Topology) ([]results.Probe, error) {
	var records []results.Probe
	for _, place := range Places(t) {
		cpus, err := t.Choose(place)
		if err != nil {
			return nil, err
		}
		for _, size := range []int{inCache, beyondCache} {
			rates, err := copyRates(ctx, threadsOf(cpus), size)
			if err != nil {
				return nil, err
			}
			records = append(records, memoryRecord(run, place, size, threadsOf(cpus), stat.Median(rates)))
		}
	}
	return records, nil
}

// threadsOf returns the CPUs that get a thread each.
func threadsOf(c placement.CPUs) []int {
	if c.Writer == c.Reader {
		return []int{c.Reader}
	}
	return []int{c.Writer, c.Reader}
}

func memoryRecord(run, place string, size int, cpus []int, e stat.Estimate) results.Probe {
	how := fmt.Sprintf("copy from one buffer of %s to another, %s, for %v; median of %d", results.FormatSize(int64(size)), where(cpus), copyDuration, e.N)
	if e.Interval != nil {
		how += fmt.Sprintf(", 95 %% interval %s to %s", results.FormatGoodput(e.Interval.Lo), results.FormatGoodput(e.Interval.Hi))
	}
	return results.Probe{
		Kind: results.KindProbe, Run: run, Time: time.Now().UTC(),
		Step: fmt.Sprintf("%s%d/%s", MemoryStep, size, place), Value: e.Median, Unit: "B/s", How: how,
	}
}

func where(cpus []int) string {
	switch {
	case cpus[0] == placement.Any:
		return "one thread where the scheduler puts it"
	case len(cpus) == 1:
		return fmt.Sprintf("one thread on CPU %d", cpus[0])
	}
	return fmt.Sprintf("one thread on each of CPU %d and %d at the same time", cpus[0], cpus[1])
}

// copyRates returns the bytes a second of each sample, all threads together.
func copyRates(ctx context.Context, cpus []int, size int) ([]float64, error) {
	copiers := make([]*copier, len(cpus))
	for i, cpu := range cpus {
		copiers[i] = newCopier(cpu, size)
	}
	var rates []float64
	for range copySamples {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rate, err := together(copiers)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// together lets all copiers copy at the same time: none starts before all are on their CPUs.
func together(copiers []*copier) (float64, error) {
	var done sync.WaitGroup
	var ready atomic.Int32
	for _, c := range copiers {
		done.Go(func() {
			runtime.LockOSThread() // and never unlocked: the bound thread ends with its goroutine
			c.err = placement.PinThread(c.cpu)
			ready.Add(1)
			for int(ready.Load()) < len(copiers) {
				runtime.Gosched()
			}
			c.copy(copyDuration)
		})
	}
	done.Wait()
	total := 0.0
	for _, c := range copiers {
		if c.err != nil {
			return 0, fmt.Errorf("measure memory bandwidth: %w", c.err)
		}
		total += c.rate
	}
	return total, nil
}

// A copier copies from one buffer of its own to another.
type copier struct {
	cpu      int
	from, to []byte
	rate     float64 // bytes a second
	err      error
}

// newCopier touches both buffers, so that no copy waits for a page.
func newCopier(cpu, size int) *copier {
	c := &copier{cpu: cpu, from: make([]byte, size), to: make([]byte, size)}
	for i := 0; i < size; i += 4096 { // the smallest page there is
		c.from[i], c.to[i] = 1, 1
	}
	return c
}

// copy copies for about as long as it is told, and reads the clock each 64 KiB at most.
func (c *copier) copy(d time.Duration) {
	if c.err != nil {
		return
	}
	start, copied := time.Now(), 0
	for time.Since(start) < d {
		for at := 0; at < len(c.from) && time.Since(start) < d; at += inCache {
			copied += copy(c.to[at:at+inCache], c.from[at:at+inCache])
		}
	}
	c.rate = float64(copied) / time.Since(start).Seconds()
}
