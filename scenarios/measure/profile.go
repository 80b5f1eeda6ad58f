package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// The sizes that are measured: messages of a page, of a pipe's usual capacity and of many of them;
// trips of one byte, which cost nothing but the switch, and of a full pipe.
var (
	profileStreamSizes = []int{4 << 10, 64 << 10, 1 << 20}
	zeroCopySizes      = []int{64 << 10, 1 << 20}
	profileTripSizes   = []int{1, 64 << 10}
)

// places returns the placements that this machine has; free where a program cannot choose its CPUs.
func places(t placement.Topology) []string {
	names := stat.Map(placement.Places(), func(p placement.Place) string { return p.Name })
	names = slices.DeleteFunc(names, func(name string) bool {
		_, err := t.Choose(name)
		return err != nil || name == "free"
	})
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
	for _, place := range places(t) {
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
	return cmp.Or(syspipe.Vmsplice.Supported(), syspipe.Splice.Supported())
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

// copyStep is the step of a record that holds how fast memory is copied.
func copyStep(size int, place string) string { return fmt.Sprintf("memory/copy/%d/%s", size, place) }

// Memory measures how fast this machine copies memory: one thread on each CPU of a placement, all
// at the same time, each between buffers of its own. The rate is bytes copied a second, all threads
// together; each byte is read once and written once.
func Memory(ctx context.Context, run string, t placement.Topology) ([]results.Probe, error) {
	return script.Of(func() (records []results.Probe) {
		for _, place := range places(t) {
			chosen := script.Must(t.Choose(place))
			cpus := slices.Compact([]int{chosen.Writer, chosen.Reader}) // a thread each
			for _, size := range []int{inCache, beyondCache} {
				e := stat.Median(copyRates(ctx, cpus, size))
				how := fmt.Sprintf("copy from one buffer of %s to another, %s, for %v; median of %d",
					results.FormatSize(int64(size)), where(cpus), copyDuration, e.N)
				if e.Interval != nil {
					how += fmt.Sprintf(", 95 %% interval %s to %s", results.FormatGoodput(e.Interval.Lo), results.FormatGoodput(e.Interval.Hi))
				}
				records = append(records, results.Probe{
					Kind: results.KindProbe, Run: run, Time: time.Now().UTC(),
					Step: copyStep(size, place), Value: e.Median, Unit: "B/s", How: how,
				})
			}
		}
		return records
	})
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
func copyRates(ctx context.Context, cpus []int, size int) (rates []float64) {
	copiers := stat.Map(cpus, func(cpu int) *copier {
		c := &copier{cpu: cpu, from: make([]byte, size), to: make([]byte, size)}
		for i := 0; i < size; i += 4096 { // touched, so that no copy waits for a page: the smallest there is
			c.from[i], c.to[i] = 1, 1
		}
		return c
	})
	for range copySamples {
		script.Check(ctx.Err())
		rates = append(rates, script.Must(together(copiers)))
	}
	return rates
}

// together lets all copiers copy at the same time: none starts before all are on their CPUs.
func together(copiers []*copier) (total float64, err error) {
	var all errgroup.Group
	var ready atomic.Int32
	for _, c := range copiers {
		all.Go(func() error {
			runtime.LockOSThread() // and never unlocked: the bound thread ends with its goroutine
			err := placement.PinThread(c.cpu)
			ready.Add(1)
			for int(ready.Load()) < len(copiers) {
				runtime.Gosched()
			}
			if err != nil {
				return fmt.Errorf("measure memory bandwidth: %w", err)
			}
			c.copy(copyDuration)
			return nil
		})
	}
	err = all.Wait()
	for _, c := range copiers {
		total += c.rate
	}
	return total, err
}

// A copier copies from one buffer of its own to another.
type copier struct {
	cpu      int
	from, to []byte
	rate     float64 // bytes a second
}

// copy copies for about as long as it is told, and reads the clock each 64 KiB at most.
func (c *copier) copy(d time.Duration) {
	start, copied := time.Now(), 0
	for time.Since(start) < d {
		for at := 0; at < len(c.from) && time.Since(start) < d; at += inCache {
			copied += copy(c.to[at:at+inCache], c.from[at:at+inCache])
		}
	}
	c.rate = float64(copied) / time.Since(start).Seconds()
}

// ProfilePage lays the limits of a set's machine in one table, a column a placement. A set of
// another sort gives a page without rows.
func ProfilePage(set *results.Set) view.Page {
	p := page{set: set, rows: view.Summarise(set).Rows}
	p.places = stat.Distinct(p.rows, func(r stat.Row) string { return r.Cell.Placement })
	columns := append([]string{"what", "of"}, stat.Map(p.places, func(place string) string { return ">" + place })...)
	p.table = view.Table{Title: "The limits of this machine's pipes", Columns: view.Columns(columns...)}
	for _, size := range []int{beyondCache, inCache} {
		p.add("memory copy [1]", size, func(place string) string {
			if rate, ok := p.copyRate(size, place); ok {
				return results.FormatGoodput(rate)
			}
			return ""
		})
	}
	for _, stream := range [][2]string{{"", "raw stream"}, {"vmsplice", "raw stream, vmsplice [2]"}, {"splice", "raw stream, splice [3]"}} {
		for _, size := range profileStreamSizes {
			p.addCell(stream[1], size, "stream", stream[0], "goodput")
		}
	}
	for _, size := range profileTripSizes {
		p.addCell("raw round trip, median", size, "roundtrip", "", "p50")
		p.addCell("raw round trip, p99", size, "roundtrip", "", "p99")
	}
	machines := stat.Distinct(set.Environments, func(e results.Environment) string {
		return fmt.Sprintf("%s %s %s · %s · %s", e.OS, e.Kernel, e.Arch, e.CPU, e.Topology)
	})
	return view.Page{Header: append(stat.Map(p.places, p.verdict), machines...), Tables: []view.Table{p.table}, Notes: p.notes()}
}

type page struct {
	set    *results.Set
	rows   []stat.Row
	places []string // of the rows, in their order
	table  view.Table
}

// add adds a row, unless no placement has the figure.
func (p *page) add(what string, size int, figure func(place string) string) {
	figures := stat.Map(p.places, figure)
	if !slices.ContainsFunc(figures, func(text string) bool { return text != "" }) {
		return
	}
	row := []string{what, results.FormatSize(int64(size))}
	for _, text := range figures {
		row = append(row, cmp.Or(text, "-"))
	}
	p.table.Append(row...)
}

// addCell adds a row of what was measured, and of goodput how far its interval goes.
func (p *page) addCell(what string, size int, pattern, transfer, metric string) {
	p.add(what, size, func(place string) string {
		r, ok := p.find(size, place, pattern, transfer)
		v, measured := r.Figure(metric)
		percent, known := r.Estimates[metric].Spread()
		spread := known && pattern == "stream"
		text := stat.MustMetric(metric).Format(v)
		switch {
		case !ok:
			return ""
		case r.Failed != "":
			return "failed: " + r.Failed
		case !measured:
			return "-"
		case spread && percent > view.MaxShownSpread:
			return "too noisy"
		case spread:
			return text + fmt.Sprintf(" ±%.0f%%", percent)
		}
		return text
	})
}

func (p *page) find(size int, place, pattern, transfer string) (stat.Row, bool) {
	for _, r := range p.rows {
		c := r.Cell
		if c.Framing == "raw" && c.Size == size && c.Placement == place && c.Pattern == pattern && c.Transfer == transfer {
			return r, true
		}
	}
	return stat.Row{}, false
}

// copyRate finds how fast memory was copied, in bytes a second.
func (p *page) copyRate(size int, place string) (float64, bool) {
	for _, r := range slices.Backward(p.set.Probes) {
		if rate, ok := r.Value.(float64); ok && r.Step == copyStep(size, place) {
			return rate, true
		}
	}
	return 0, false
}

// verdict says of a placement how much passes at most, how near that comes to the memory, and which
// messages are slow and why: small ones by what is spent whatever their size, large ones by whether
// they take more CPU time or none, which is waiting.
func (p *page) verdict(place string) string {
	var known []stat.Row // with a figure, the fastest first
	for _, size := range profileStreamSizes {
		r, ok := p.find(size, place, "stream", "")
		percent, _ := r.Estimates["goodput"].Spread()
		if _, measured := r.Figure("goodput"); ok && measured && percent <= view.MaxShownSpread {
			known = append(known, r)
		}
	}
	figure := func(r stat.Row, metric string) float64 { v, _ := r.Figure(metric); return v }
	slices.SortStableFunc(known, func(a, b stat.Row) int { return cmp.Compare(figure(b, "goodput"), figure(a, "goodput")) })
	where := view.PlacementPhrase(place) + ": "
	if len(known) == 0 {
		return where + "too noisy to tell"
	}
	best, slow := known[0], known[len(known)-1]
	text := where + fmt.Sprintf("%s at most, at %s", results.FormatGoodput(figure(best, "goodput")), results.FormatSize(int64(best.Cell.Size)))
	if rate, ok := p.copyRate(inCache, place); ok && rate > 0 {
		text += fmt.Sprintf(", %.2g of what its CPUs copy in their caches (a pipe copies each byte twice)", figure(best, "goodput")/rate)
	}
	if r, ok := p.find(profileTripSizes[0], place, "roundtrip", ""); ok && figure(r, "p50") > 0 {
		text += "; a round trip takes " + results.FormatDuration(figure(r, "p50"))
	}
	if figure(slow, "goodput") > 0.7*figure(best, "goodput") {
		return text
	}
	text += fmt.Sprintf("; slow: %s, %s: ", results.FormatSize(int64(slow.Cell.Size)), results.FormatGoodput(figure(slow, "goodput")))
	perByte := (figure(best, "time") - figure(slow, "time")) / float64(best.Cell.Size-slow.Cell.Size)
	cpu := figure(slow, "cpu") / figure(best, "cpu")
	switch fixed := 1 - perByte*float64(slow.Cell.Size)/figure(slow, "time"); {
	case slow.Cell.Size < best.Cell.Size:
		return text + fmt.Sprintf("%.0f %% of the time is calls and switches, whatever the size", 100*max(0, min(fixed, 1)))
	case cpu > 1.3:
		return text + fmt.Sprintf("they take %.2g times the CPU time a byte, as more than a cache holds is copied", cpu)
	}
	return text + "with no more CPU time a byte, so that the ends wait for each other"
}

// notes say what the figures are, and what zero-copy does not do.
func (p *page) notes() []string {
	notes := []string{
		"[1] bytes copied a second by one thread on each CPU of the placement at once, each between its own buffers",
	}
	if slices.ContainsFunc(p.rows, func(r stat.Row) bool { return r.Cell.Transfer != "" }) {
		notes = append(notes,
			"[2] zero-copy: the pipe refers to the writer's pages, which may not change until the reader has copied them out",
			"[3] the reading end drops these pages: nobody reads the bytes, and no byte is copied. It is what the pipe can do, not what a program can")
	} else if err := zeroCopySupported(); err != nil {
		notes = append(notes, err.Error())
	}
	return append(notes, "± is the 95 % interval of the median.")
}
