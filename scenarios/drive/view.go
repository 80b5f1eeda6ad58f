package drive

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
)

// View writes what records say about servers, for people: a table by size, then the limits, the growth, the load, and advice. Only the
// formats table, markdown and, of sizes and loads, csv have a view of their own; else the records are shown as they are.
func View(w io.Writer, format view.Format, set *results.Set) error {
	if len(set.Targets) == 0 && len(set.Faults) == 0 {
		return view.ErrNothing
	}
	switch format {
	case view.FormatTable, view.FormatMarkdown:
	case view.FormatCSV:
		for _, t := range []view.Table{sizeTable(set.Targets), loadTable(set.Targets)} {
			if len(t.Rows) > 0 {
				return t.Write(w, format)
			}
		}
		fallthrough
	default:
		return view.Write(w, set, format, view.Options{})
	}
	var text strings.Builder
	fmt.Fprintln(&text, headline(set))
	for _, t := range []view.Table{sizeTable(set.Targets), loadTable(set.Targets), faultTable(set.Faults)} {
		if len(t.Rows) == 0 {
			continue
		}
		fmt.Fprintln(&text)
		if err := t.Write(&text, format); err != nil {
			return err
		}
	}
	for _, list := range [][]string{sentences(set.Targets), advices(set.Targets), warnings(set.Targets)} {
		if len(list) > 0 {
			fmt.Fprintln(&text)
		}
		for _, s := range list {
			fmt.Fprintln(&text, s)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// headline says what was driven, and how.
func headline(set *results.Set) string {
	if len(set.Targets) == 0 {
		f := set.Faults[0]
		var e struct {
			Command  []string `json:"command"`
			Protocol string   `json:"protocol"`
		}
		_ = f.Evidence.Decode(&e) // of another record the headline is empty
		return fmt.Sprintf("%s: %s", strings.Join(e.Command, " "), e.Protocol)
	}
	t := set.Targets[0]
	return fmt.Sprintf("%s: %v, %v framing, %v", strings.Join(t.Command, " "), fields(t)["spoken"], fields(t)["framing"], fields(t)["request"])
}

// sizeTable has a row a size.
func sizeTable(targets []results.Target) view.Table {
	t := view.Table{Columns: view.Columns(">message", "verdict", ">time", ">p99", ">ns/B", ">MB/s both ways", ">reply", ">server memory", ">driver's CPU", ">n")}
	for _, g := range targets {
		if _, isLoad := fields(g)["inflight"]; g.Size == 0 || isLoad {
			continue
		}
		row := []string{results.FormatSize(g.Size), g.Verdict, "-", "-", "-", "-", "-", memory(g), "-", "-"}
		if ns := medianTime(g.Samples); ns > 0 && Verdict(g.Verdict).Works() {
			row[2], row[3] = results.FormatDuration(ns), percentile(g.Samples, func(l results.Latency) *int64 { return l.P99NS })
			row[4] = fmt.Sprintf("%.3g", ns/float64(g.Size))
			reply, _ := number(fields(g)["reply_bytes"])
			row[5] = fmt.Sprintf("%.3g", (float64(g.Size)+reply)/ns*1e3)
			row[6] = results.FormatSize(int64(reply))
			if share, ok := number(fields(g)["driver_cpu_share"]); ok {
				row[8] = results.FormatPercent(100 * share)
			}
			row[9] = fmt.Sprint(trips(g.Samples))
		}
		t.Append(row...)
	}
	return t
}

func trips(samples []results.Sample) (n int64) {
	for _, s := range samples {
		n += s.Messages
	}
	return n
}

// percentile is that of all samples together, if they carry it; of an open loop, from when requests were due.
func percentile(samples []results.Sample, of func(results.Latency) *int64) string {
	var all []results.Latency
	for _, s := range samples {
		for _, name := range []string{"roundtrip", "due"} {
			if l, ok := s.Latency[name]; ok {
				all = append(all, l)
			}
		}
	}
	if len(all) == 0 {
		return "-"
	}
	l, err := results.MergeLatencies(all)
	if err != nil || of(l) == nil {
		return "-"
	}
	return results.FormatDuration(float64(*of(l)))
}

func memory(g results.Target) string {
	peak, _ := number(fields(g)["peak_bytes"])
	for _, s := range g.Samples {
		if p := s.Reader.PeakBytes; p != nil {
			peak = max(peak, float64(*p))
		}
	}
	if peak == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g MiB", peak/(1<<20))
}

// number reads a figure of the evidence, which is a float64 once it was in a file.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// sentences are the limits and the growth.
func sentences(targets []results.Target) []string {
	var out []string
	for _, t := range targets {
		if s := sentence(t); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func sentence(t results.Target) string {
	side, _ := fields(t)["side"].(string)
	switch {
	case t.RequestLimit != nil:
		return limitSentence("requests", *t.RequestLimit, t)
	case t.ReplyLimit != nil:
		return limitSentence("replies", *t.ReplyLimit, t)
	case t.SearchedTo != nil:
		return fmt.Sprintf("no limit on a %s up to %s", side, bytesText(int(*t.SearchedTo)))
	}
	if n, ok := number(fields(t)["replayed"]); ok {
		return replaySentence(t, n)
	}
	if slope, ok := number(fields(t)["slope"]); ok {
		return growthSentence(t, slope)
	}
	return ""
}

func limitSentence(what string, n int64, t results.Target) string {
	payload, _ := number(fields(t)["payload_bytes"])
	s := fmt.Sprintf("%s up to %s work (payload %s); one byte more: %s", what, bytesText(int(n)), bytesText(int(payload)), t.Verdict)
	if n == 0 {
		s = fmt.Sprintf("%s of no size work: %s", what, t.Verdict)
	}
	if twice, ok := fields(t)["at_twice"].(string); ok && twice != t.Verdict {
		s += fmt.Sprintf("; twice the limit: %s", twice)
	}
	return s
}

func growthSentence(t results.Target, slope float64) string {
	from, _ := number(fields(t)["from"])
	to, _ := number(fields(t)["to"])
	capacity, _ := number(fields(t)["capacity"])
	lo, known := number(fields(t)["slope_lo"])
	hi, _ := number(fields(t)["slope_hi"])
	shows, _ := number(fields(t)["shows_at"])
	points, _ := number(fields(t)["points"])
	g := Growth{From: int(from), To: int(to), Capacity: int(capacity), Shows: int(shows)}
	g.Slope, g.Points = slope, int(points)
	if known {
		g.Interval = &stat.Interval{Lo: lo, Hi: hi}
	}
	return g.String()
}

// advices says once for each verdict what it means.
func advices(targets []results.Target) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range targets {
		a := Verdict(t.Verdict).Advice()
		if a == "" || seen[t.Verdict] {
			continue
		}
		seen[t.Verdict] = true
		s := t.Verdict + ": " + a
		if words, ok := fields(t)["stderr_tail"].([]any); ok && len(words) > 0 {
			s += fmt.Sprintf(" (its last words: %v)", words[len(words)-1])
		}
		out = append(out, s)
	}
	return out
}

// warnings are the notes of the records, the last of those that differ in their figures alone.
func warnings(targets []results.Target) []string {
	var kinds []string
	last := map[string]string{}
	for _, t := range targets {
		for _, w := range t.Warnings {
			kind := strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return -1
				}
				return r
			}, w)
			if last[kind] == "" {
				kinds = append(kinds, kind)
			}
			last[kind] = "note: " + w
		}
	}
	out := make([]string, len(kinds))
	for i, kind := range kinds {
		out[i] = last[kind]
	}
	return out
}

func faultTable(faults []results.Fault) view.Table {
	t := view.Table{Columns: view.Columns("fault", "verdict", "what came of it")}
	for _, f := range faults {
		t.Append(f.ID, f.Verdict, f.Advice)
	}
	return t
}

// Line is a record in a line, for the progress of a run.
func Line(t results.Target) string {
	if s := sentence(t); s != "" {
		return s
	}
	s := results.FormatSize(t.Size) + ": " + t.Verdict
	if ns := medianTime(t.Samples); ns > 0 && Verdict(t.Verdict).Works() {
		s += ", " + results.FormatDuration(ns)
	}
	if why, ok := fields(t)["why"].(string); ok {
		s += ", " + why
	}
	return s
}

// Hopeless is an error if sizes were tried and none was served, or if a recording could not be replayed to its end.
func Hopeless(set *results.Set) error {
	tried := false
	for _, t := range set.Targets {
		if n := t.SearchedTo; Verdict(t.Verdict).Works() && t.Size > 0 || n != nil && *n > 0 {
			return nil
		}
		for _, limit := range []*int64{t.RequestLimit, t.ReplyLimit} {
			if limit != nil && *limit > 0 {
				return nil
			}
		}
		if at, replay := number(fields(t)["failed_at_message"]); replay {
			return fmt.Errorf("the replay ended at message %.0f: %s", at, t.Verdict)
		}
		tried = tried || !Verdict(t.Verdict).Works()
	}
	if tried {
		return errors.New("the server fails at every size")
	}
	return nil
}

func replaySentence(t results.Target, n float64) string {
	answered, _ := number(fields(t)["answered"])
	s := fmt.Sprintf("%.0f messages replayed, %.0f of them requests that were answered: %s", n, answered, t.Verdict)
	if at, failed := number(fields(t)["failed_at_message"]); failed {
		return s + fmt.Sprintf(" at message %.0f (%v)", at, fields(t)["why"])
	}
	if len(t.Samples) == 0 {
		return s
	}
	s += ", in " + results.FormatDuration(float64(t.Samples[0].ElapsedNS))
	for _, p := range []struct {
		name string
		of   func(results.Latency) *int64
	}{
		{"p50", func(l results.Latency) *int64 { return l.P50NS }},
		{"p99", func(l results.Latency) *int64 { return l.P99NS }},
		{"the longest", func(l results.Latency) *int64 { return &l.MaxNS }},
	} {
		if took := percentile(t.Samples, p.of); took != "-" { // so few do not carry it
			s += ", " + p.name + " " + took
		}
	}
	return s
}
