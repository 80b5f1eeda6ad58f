package view

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A TuneAnswer is what tune records say about chunk sizes.
type TuneAnswer struct {
	Objective string   `json:"objective"`
	Best      int      `json:"best,omitempty"` // bytes of a whole frame; absent where noise hides it
	Margin    float64  `json:"margin"`
	Alike     []int    `json:"alike,omitempty"`
	Flat      bool     `json:"flat"`
	Sentences []string `json:"sentences"`
}

// WriteTune writes what the tune records of a set say: the table, and the answer in sentences; as
// CSV the table in base units, as bench the samples. A set without samples is [ErrNothing].
func WriteTune(w io.Writer, s *results.Set, a TuneAnswer, format Format) error {
	if !slices.ContainsFunc(s.Tunes, func(t results.Tune) bool { return len(t.Samples) > 0 }) {
		return ErrNothing
	}
	switch format {
	case FormatBench:
		return Write(w, TuneMeasurements(s), format, Options{})
	case FormatCSV:
		return tuneTable(s).Write(w, format)
	case FormatJSON:
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(struct {
			TuneAnswer
			Tunes []results.Tune `json:"tunes"`
		}{a, s.Tunes})
	}
	if err := tuneTable(s).Write(w, format); err != nil {
		return err
	}
	bullet := ""
	if format == FormatMarkdown {
		bullet = "- "
	}
	var text strings.Builder
	for _, sentence := range slices.Concat(a.Sentences, tuneWarnings(s.Tunes)) {
		text.WriteString("\n" + bullet + sentence + ".")
	}
	_, err := fmt.Fprintln(w, text.String())
	return err
}

// TuneMeasurements returns the set's tune records as measurements, which in their cells and samples
// they are.
func TuneMeasurements(s *results.Set) *results.Set {
	out := &results.Set{Environments: s.Environments}
	for _, t := range s.Tunes {
		if len(t.Samples) > 0 {
			out.Add(results.Record{Run: t.Run, Time: t.Time, Cell: t.Cell, Samples: t.Samples, Warnings: t.Warnings, Stopped: "samples"})
		}
	}
	return out
}

// TuneEstimate returns the median of a metric that every sample of a tune record has.
func TuneEstimate(metric string, samples []results.Sample) stat.Estimate {
	return stat.MustMetric(metric).Estimate(results.Record{Samples: samples})
}

// TuneWaitMetric names the wait that sizes are judged by: the p90 of small messages, from when they
// were due. One hiccup of the machine in a sample decides its p99, and the bytes ahead of a small
// message decide its p90. Samples too short for one give their median.
func TuneWaitMetric(samples []results.Sample) string {
	if len(stat.MustMetric("due.p90").Values(samples)) == len(samples) {
		return "due.p90"
	}
	return "due.p50"
}

// tuneTable lays the records out: what each size costs and gains with each reader. A star marks the
// sizes of which none is better in goodput and wait at once.
func tuneTable(s *results.Set) Table {
	t := Table{
		Title: "What chunk sizes cost and gain (* none is better in both)",
		Columns: Columns("reader|reader B/s", "`framing", ">message|message B", "capacity|capacity B", "sender", ">goodput|goodput B/s",
			">CPU/MiB|CPU ns/MiB", ">wait p50|wait p50 ns", ">wait p99|wait p99 ns", ">predicted|predicted ns", ">samples", "!", "@>run", "@~evidence", "@_warnings"),
	}
	several := len(s.Machines()) > 1
	if several {
		t.Columns = append(Columns("machine"), t.Columns...)
	}
	runs := distinct(s.Tunes, func(u results.Tune) string { return u.Run })
	for _, r := range s.Tunes {
		message, capacity := bytesCell(int64(r.Cell.Size)), Cell{Base: "0"}
		if r.Cell.Size == 0 {
			message.Text = "recorded"
		}
		if len(r.Samples) > 0 && r.Samples[0].Capacity > 0 {
			capacity = bytesCell(int64(r.Samples[0].Capacity))
		}
		row := []Cell{{tuneReader(r.Cell), fmt.Sprint(r.Cell.Drain)}, textCell(r.Cell.Framing), message, capacity, textCell(r.Cell.Sender)}
		for _, m := range []string{"goodput", "cpu", "due.p50", "due.p99"} {
			row = append(row, estimateCell(stat.MustMetric(m), TuneEstimate(m, r.Samples)))
		}
		predicted, mark, run := Cell{}, "", ""
		if ns := float64(r.Evidence.PredictedNS); ns > 0 {
			predicted = figureCell(ns, results.FormatDuration(ns))
		}
		switch {
		case r.Recommended:
			mark = recommendedMark
		case undominated(r, s.Tunes):
			mark = "*"
		}
		if len(runs) > 1 {
			run = strconv.Itoa(1 + slices.Index(runs, r.Run))
		}
		row = append(row, predicted, textCell(strconv.Itoa(len(r.Samples))), textCell(mark), textCell(run), textCell(EvidenceText(r.Evidence)), textCell(strings.Join(r.Warnings, "; ")))
		if several {
			row = append([]Cell{textCell(machineOf(s, r.Run))}, row...)
		}
		t.AppendCells(row...)
	}
	return t
}

// estimateCell is a median with its spread.
func estimateCell(m stat.Metric, e stat.Estimate) Cell {
	if e.N == 0 {
		return Cell{}
	}
	text := m.Format(e.Median)
	if spread, ok := e.Spread(); ok {
		text += " ±" + results.FormatPercent(spread)
	}
	return figureCell(e.Median, text)
}

// recommendedMark marks the chunk size that tune recommends.
const recommendedMark = "<- use"

// undominated reports whether no record of the same reader and messages has both more goodput and
// less wait.
func undominated(r results.Tune, all []results.Tune) bool {
	if len(r.Samples) == 0 {
		return false
	}
	wait := func(t results.Tune) float64 { return TuneEstimate(TuneWaitMetric(t.Samples), t.Samples).Median }
	goodput := func(t results.Tune) float64 { return TuneEstimate("goodput", t.Samples).Median }
	return !slices.ContainsFunc(all, func(o results.Tune) bool {
		return o.Cell.Drain == r.Cell.Drain && o.Cell.Size == r.Cell.Size && len(o.Samples) > 0 && o.Cell != r.Cell &&
			goodput(o) >= goodput(r) && wait(o) <= wait(r)
	})
}

func tuneReader(c results.Cell) string {
	if c.Drain == 0 {
		return "full speed"
	}
	return results.FormatGoodput(float64(c.Drain))
}

// tuneCapacity returns the pipe's capacity as it was read back.
func tuneCapacity(r results.Tune) string {
	if len(r.Samples) == 0 || r.Samples[0].Capacity == 0 {
		return "-"
	}
	return results.FormatSize(int64(r.Samples[0].Capacity))
}

// lateShare is the share of small messages offered late from which their wait is in doubt: more than
// the p99 leaves out.
const lateShare = 0.05

// LateWarning tells of small messages that the load generator offered late; false where they are too
// few to matter.
func LateWarning(samples []results.Sample) (string, bool) {
	share := lateShareOf(samples)
	return fmt.Sprintf("%s %s of the small messages late: the machine did other work", lateWords, results.FormatPercent(100*share)), share > lateShare
}

// lateWords begin that warning.
const lateWords = "the generator offered"

func lateShareOf(samples []results.Sample) float64 {
	var late, due int64
	for _, s := range samples {
		if s.Load != nil {
			late, due = late+s.Load.Late, due+s.Load.Due
		}
	}
	return float64(late) / float64(max(1, due))
}

// tuneWarnings returns the warnings of the records, each with what it is about. Lateness is the
// machine's and touches many records at once: it is said once for all.
func tuneWarnings(records []results.Tune) []string {
	var out []string
	late, most := 0, 0.0
	for _, r := range records {
		for _, w := range r.Warnings {
			if strings.HasPrefix(w, lateWords) {
				late, most = late+1, max(most, lateShareOf(r.Samples))
				continue
			}
			name := strings.TrimSpace(r.Cell.Framing + " " + r.Cell.Sender)
			out = append(out, fmt.Sprintf("warning: %s, pipe of %s, reader at %s: %s", name, tuneCapacity(r), tuneReader(r.Cell), w))
		}
	}
	if late > 0 {
		out = append(out, fmt.Sprintf("warning: in %d of %d cells the generator offered over %s of the small messages late, up to %s: the machine did other work, and p99 may be that",
			late, len(records), results.FormatPercent(100*lateShare), results.FormatPercent(100*most)))
	}
	return out
}
