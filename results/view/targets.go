package view

import (
	"io"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// WriteDrive writes what the drive command found out about a server. As JSON, it writes the
// [DriveResult] and the records. It returns [ErrNothing] if there are no records.
func WriteDrive(w io.Writer, format Format, set *results.Set, o Options) error {
	if len(set.Targets) == 0 {
		return ErrNothing
	}
	result := resultOf(set.Targets)
	switch format {
	case FormatJSON:
		return WriteJSON(w, struct {
			DriveResult
			Summary
		}{result, Summarise(set)})
	case FormatCSV:
		return targetTable(set, set.Targets).Write(w, format, o)
	case FormatBench:
		return Write(w, set, format, o)
	}
	p := Page{Verdict: result.text, Tone: result.tone, Header: []string{howDriven(set)}}
	p.addSideEffects(set.Targets)
	p.addTable(loadTable(set, set.Targets))
	p.Conclusions = append(targetSentences(set.Targets), targetAdvice(set.Targets)...)
	p.Notes = targetNotes(set.Targets)
	switch {
	case result.Passed && set.Targets[0].Evidence.Replay != nil:
		// check is not named: it may name the replay
		p.Notes = append(p.Notes, "If it still hangs with your client, which may not wait for "+
			"each answer as a replay does: pipebench inspect PID looks at both while they hang.")
	case result.Passed && set.Targets[0].Evidence.Load != nil:
		hint := "If it hangs with your client: " + nextAfterDrive
		if len(set.Targets) == 1 {
			hint = "Other sizes may fail: --size 1KiB,256KiB tries several. " + hint
		}
		p.Notes = append(p.Notes, hint)
	case result.Passed:
		p.Notes = append(p.Notes, "If it hangs with your client, which may send several requests "+
			"at once as --inflight 8 does: "+nextAfterDrive)
	}
	return p.Write(w, format, o)
}

// addSideEffects adds to the verdict what may hang a client though the server serves this one.
func (p *Page) addSideEffects(targets []results.Target) {
	seen := make(map[string]bool)
	for _, t := range targets {
		s := t.Evidence.Server
		if s == nil {
			continue
		}
		for _, effect := range []struct {
			seen bool
			text string
		}{
			{s.StrayLines > 0, "writes lines that are no messages"},
			{s.BareHeaders, "ends lines of headers with LF alone"},
			{s.ExtraAnswers > 0, "gives answers that nobody waits for"},
			{s.LoggedBytes > 0, "can hang a client that does not read its standard error"},
		} {
			if !effect.seen || seen[effect.text] {
				continue
			}
			seen[effect.text] = true
			p.Verdict += "; " + effect.text
			if p.Tone == Good {
				p.Tone = Mixed
			}
		}
	}
}

// nextAfterDrive says what to try next if a server passes here and still hangs with its own client.
const nextAfterDrive = "pipebench check --server tries what bad clients do, and pipebench " +
	"inspect PID looks at it while it hangs."

func howDriven(set *results.Set) string {
	t := set.Targets[len(set.Targets)-1] // the framing may be found out only during the run
	command := strings.Join(t.Command, " ")
	server := t.Evidence.Server
	if server == nil {
		return command
	}
	text := command + ": " + server.Spoken + ", " + results.FramingPhrase(server.Framing)
	if server.Request != server.Spoken {
		text += ", " + server.Request
	}
	return text
}

// loadTable shows the sizes and loads with which one server was tried. It leaves out columns in the
// style [Code].
func loadTable(s *results.Set, targets []results.Target) Table {
	t := targetTable(s, selected(targets, func(t results.Target) bool { return t.Size > 0 }))
	return t.withColumns(func(i int) bool { return t.Columns[i].Style != Code })
}

func targetTable(s *results.Set, targets []results.Target) Table {
	t := Table{Columns: []Column{
		{Title: "command", Style: Code, Detail: true},
		{Title: "machine", Style: Code, Detail: true},
		{Title: "protocol", Style: Code, Detail: true},
		{Title: "message", Data: "message (B)", Right: true, Key: true},
		{Title: "in flight", Right: true, Key: true},
		{Title: "rate asked", Data: "rate asked (/s)", Right: true},
		{Title: "verdict", Style: Verdict, Key: true},
		{Title: "time", Data: "time (ns)", Right: true},
		{Title: "p50", Data: "p50 (ns)", Right: true},
		{Title: "p99", Data: "p99 (ns)", Right: true},
		{Title: "requests/s", Data: "requests (/s)", Right: true},
		{Title: "ns/B", Data: "time (ns/B)", Right: true},
		{Title: "MB/s, in + out", Data: "both ways (B/s)", Right: true},
		{Title: "server memory", Data: "server memory (B)", Right: true},
		{Title: "out of order", Right: true},
		{Title: "n", Right: true},
		{Title: "limit", Data: "limit (B)", Right: true, Detail: true},
		{Title: "found", Style: Code, Detail: true},
	}}
	for _, target := range targets {
		t.AppendValues(targetRow(s, target)...)
	}
	return t.dropEmpty()
}

// targetRow returns the table row of a record. A record with a load is about many requests at a
// time.
func targetRow(s *results.Set, t results.Target) []Value {
	var inFlight, asked, time, p50, p99, rate, perByte, bothWays, outOfOrder, trips Value
	ns := stat.MedianTime(t.Samples)
	load := t.Evidence.Load
	isTimed := ns > 0 && (t.Served() || load != nil)
	if isTimed {
		l := latencyOf(t)
		p50 = quantileValue(l, "p50")
		p99 = quantileValue(l, "p99")
	}
	if load != nil {
		inFlight = countValue(int64(load.Inflight))
		outOfOrder = countValue(load.OutOfOrder)
		if load.Rate > 0 {
			asked = figureValue(load.Rate, results.FormatNumber(load.Rate, 3))
		}
	}
	switch {
	case isTimed && load != nil:
		rate = figureValue(1e9/ns, results.FormatGrouped(int64(1e9/ns)))
	case isTimed:
		time = nanosValue(ns)
		n := int64(0)
		for _, s := range t.Samples {
			n += s.Messages
		}
		trips = countValue(n)
	}
	if isTimed && load == nil && t.Size > 0 {
		sent := float64(t.Size)
		perByte = figureValue(ns/sent, results.FormatNumber(ns/sent, 3))
		both := sent
		if size := t.Evidence.Size; size != nil {
			both += float64(size.ReplyBytes)
		}
		const megabytes = 1e3 // MB/s in one byte per nanosecond
		bothWays = figureValue(both/ns*1e9, results.FormatNumber(both/ns*megabytes, 3))
	}
	return []Value{
		textValue(strings.Join(t.Command, " ")),
		textValue(machineTitle(s, s.Machine(t.Run))),
		textValue(t.Protocol),
		sizeValue(t.Size),
		inFlight,
		asked,
		servedValue(t),
		time,
		p50,
		p99,
		rate,
		perByte,
		bothWays,
		memoryValue(t),
		outOfOrder,
		trips,
		limitValue(t),
		textValue(targetSentence(t)),
	}
}

// servedValue shows the verdict on a size, and how many requests were served before a failure.
func servedValue(t results.Target) Value {
	v := verdictValue(t.Verdict)
	if f := t.Evidence.Failure; f != nil && f.ServedOfSize > 0 {
		v.Text = "ok " + results.FormatGrouped(f.ServedOfSize) + " of this size, then " + v.Text
	}
	return v
}

// sizeValue shows a size, or nothing for 0.
func sizeValue(n int64) Value {
	if n == 0 {
		return Value{}
	}
	return bytesValue(n)
}

// limitValue shows the limit that a record is about, if there is one.
func limitValue(t results.Target) Value {
	if t.Limit() == nil {
		return Value{}
	}
	return bytesValue(*t.Limit())
}

// quantileValue shows one of [results.Quantiles], such as "p99". It shows nothing if the latency
// lacks that quantile.
func quantileValue(l results.Latency, name string) Value {
	ns := l.Quantile(name)
	if ns == nil {
		return Value{}
	}
	return nanosValue(float64(*ns))
}

// latencyOf merges the latencies of all samples. If requests had a fixed rate, it takes the times
// from when each request was due.
func latencyOf(t results.Target) results.Latency {
	l, err := results.MergePercentiles(t.Samples, "roundtrip", "due")
	if err != nil {
		return results.Latency{} // shown as a dash: the file is damaged
	}
	return l
}

func memoryValue(t results.Target) Value {
	peak := int64(0)
	if e := t.Evidence.Failure; e != nil && e.PeakBytes != nil {
		peak = *e.PeakBytes
	}
	for _, s := range t.Samples {
		if s.Reader.PeakBytes != nil {
			peak = max(peak, *s.Reader.PeakBytes)
		}
	}
	if peak == 0 {
		return Value{}
	}
	return figureValue(float64(peak), results.FormatNumber(float64(peak)/(1<<20), 3)+" MiB")
}
