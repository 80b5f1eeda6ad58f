package tune

import (
	"slices"
	"strconv"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// Table lays the records out: what each size costs and gains with each reader.
// A star marks the sizes of which none is better in goodput and wait at once.
func Table(records []results.Tune) view.Table {
	t := view.Table{
		Title:   "What chunk sizes cost and gain (* none is better in both)",
		Columns: view.Columns("reader", "framing", ">message", "capacity", "sender", ">goodput", ">CPU/MiB", ">wait p50", ">wait p99", ">predicted", ">samples", ""),
	}
	for _, r := range records {
		t.Append(readerCell(r.Cell.Drain), r.Cell.Framing, messageCell(r.Cell), capacityCell(r), orDash(r.Cell.Sender),
			figure("goodput", r), figure("cpu", r), figure("due.p50", r), figure("due.p99", r), predictedCell(r),
			strconv.Itoa(len(r.Samples)), mark(r, records))
	}
	return t
}

// mark is what the last column says of a record.
func mark(r results.Tune, all []results.Tune) string {
	switch {
	case r.Recommended:
		return "<- use"
	case undominated(r, all):
		return "*"
	}
	return "-"
}

// undominated reports whether no record of the same reader and messages has both more
// goodput and less wait.
func undominated(r results.Tune, all []results.Tune) bool {
	if len(r.Samples) == 0 {
		return false
	}
	return !slices.ContainsFunc(all, func(o results.Tune) bool {
		return o.Cell.Drain == r.Cell.Drain && o.Cell.Size == r.Cell.Size && len(o.Samples) > 0 && o.Cell != r.Cell &&
			estimate("goodput", o.Samples).Median >= estimate("goodput", r.Samples).Median &&
			wait(o.Samples).Median <= wait(r.Samples).Median
	})
}

func readerCell(drain int64) string {
	if drain == 0 {
		return "full speed"
	}
	return results.FormatGoodput(float64(drain))
}

func messageCell(c results.Cell) string {
	if c.Size == 0 {
		return "recorded"
	}
	return size(c.Size)
}

// capacityCell is the pipe's capacity as it was read back.
func capacityCell(r results.Tune) string {
	if len(r.Samples) == 0 || r.Samples[0].Capacity == 0 {
		return "-"
	}
	return size(r.Samples[0].Capacity)
}

func figure(metric string, r results.Tune) string {
	e := estimate(metric, r.Samples)
	if e.N == 0 {
		return "-"
	}
	m, err := stat.MetricByName(metric)
	if err != nil {
		return "-"
	}
	text := m.Format(e.Median)
	if spread, ok := e.Spread(); ok {
		text += " ±" + results.FormatPercent(spread)
	}
	return text
}

func predictedCell(r results.Tune) string {
	ns, ok := Predicted(r)
	if !ok {
		return "-"
	}
	return results.FormatDuration(ns)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
