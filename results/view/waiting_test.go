package view

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

// waitingSweep is the part of a default run about writers that do not block, beside the rest.
func waitingSweep() *results.Set {
	s := sweepOf(manyFramings, []int{256, 4 << 10, 64 << 10, 1 << 20}, "same", "apart")
	slower := map[string]float64{"poll/blocking": 1, "poller/blocking": 1.25, "sleep=10ms/blocking": 400}
	for io, times := range slower {
		for i, framing := range manyFramings {
			for _, size := range []int{4 << 10, 128 << 10} {
				for _, reader := range []results.Cell{{}, {Drain: 50e6}, {ClosesAfter: 1}} {
					c := resultstest.Cell(framing, size)
					c.IO, c.Drain, c.ClosesAfter = io, reader.Drain, reader.ClosesAfter
					r := resultstest.Record(c, int64(size+i), resultstest.Around(times*float64(1000+size), 0.01)...)
					for k := range r.Samples {
						w := &r.Samples[k].Writer
						w.EAGAIN, w.Short, w.WaitNS = new(r.Samples[k].Messages/10*int64(1+i%2)), new(int64(0)), new(r.Samples[k].ElapsedNS/2)
						if c.ClosesAfter > 0 {
							r.Samples[k].Closed = &results.Closed{LostBytes: 65536,
								ToldNS: int64(20000 * times), Error: "EPIPE", Signals: new(1)}
						}
					}
					s.Add(r)
				}
			}
		}
	}
	return s
}

// How late a writer learns that its reader left is the range of all such measurements, apart for
// those that sleep.
func TestTheRangeOfAllWritersIsToldIfTheReaderLeaves(t *testing.T) {
	s := waitingSweep()
	const want = "a writer gets EPIPE after 20.0 µs to 8.00 ms; it loses " +
		"what it wrote after the last message that was read: 65,536 B (messages of 4 to 128 KiB)."
	if got := refusalSentence(stat.Rows(s)); !strings.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Records = slices.DeleteFunc(s.Records, func(r results.Record) bool {
		return r.Cell.ClosesAfter > 0 && r.Cell != s.Records[len(s.Records)-1].Cell
	})
	last := &s.Records[len(s.Records)-1]
	last.Samples = last.Samples[:2]
	if got := refusalSentence(stat.Rows(s)); strings.Contains(got, "EPIPE") {
		t.Errorf("two samples are told: %q", got)
	}
}

func TestTheTimeToEPIPEFitsInto80Columns(t *testing.T) {
	s := waitingSweep()
	s.Records = slices.DeleteFunc(s.Records, func(r results.Record) bool {
		return r.Cell.IO == "blocking" || r.Cell.Framing != "ndjson"
	})
	for i := range s.Records {
		r := &s.Records[i]
		r.Cell.Size = 130_000
		for k := range r.Samples {
			if r.Cell.ClosesAfter > 0 && k%2 == 0 {
				r.Samples[k].Closed.LostBytes = 64_000
			}
		}
	}
	text := strings.Join(screenOf(t, s, Options{Width: 80}), "\n")
	if !strings.Contains(text, "told after") || strings.Contains(text, "left out") {
		t.Errorf("the column is missing in:\n%s", text)
	}
	if !strings.Contains(text, "  64,000 B") {
		t.Errorf("lost is a number that no sample has:\n%s", text)
	}
}

// A run in which all readers leave is about that, though noise hides how framings compare.
func TestARunOfReadersThatLeaveTellsOfThem(t *testing.T) {
	s := waitingSweep()
	s.Records = slices.DeleteFunc(s.Records, func(r results.Record) bool {
		return r.Cell.ClosesAfter == 0 || r.Cell.IO != "poll/blocking"
	})
	for i, r := range s.Records {
		for k := range r.Samples {
			r.Samples[k].ElapsedNS *= int64(1 + (i+1)*k%7)
		}
	}
	text := strings.Join(screenOf(t, s, Options{Width: 80}), "\n")
	first := Summarise(s).Meaning[0]
	isFirst := strings.HasPrefix(first, "If the reader leaves, ")
	if !isFirst || !strings.Contains(text, "told after\n") {
		t.Errorf("%s\n%s", first, text)
	}
}

// What writers meet that do not block has a block of its own on the first screen, a table of its
// own in detail, and no part in what is said of the framings.
func TestWaitingWritersHaveABlockOfTheirOwn(t *testing.T) {
	s := waitingSweep()
	lines := screenOf(t, s, Options{Width: 100})
	text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
	for _, want := range []string{
		"Non-blocking writer, one CPU", " fast ", "50 MB/s", "told after",
		"64 KiB 8.00 ms",
		"Round trip vs raw, two CPUs",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	for _, line := range lines {
		if len([]rune(line)) > 100 {
			t.Errorf("more than 100 columns: %q", line)
		}
	}
	if strings.Contains(strings.Join(Summarise(s).Meaning, " "), "poller") {
		t.Errorf("writers that do not block are in what the framings mean: %q", Summarise(s).Meaning)
	}
	for format, wants := range map[Format][]string{
		FormatMarkdown: {"Non-blocking writers on one CPU", "EAGAIN/msg", "told after",
			"leaves after 1 message", "EPIPE, SIGPIPE"},
		FormatCSV:   {"lost (B)", "told (ns)", "eagain", "waiting (%)", "\"EPIPE, SIGPIPE\""},
		FormatJSON:  {`"told": "EPIPE, SIGPIPE"`, `"lost"`},
		FormatBench: {"eagain/op", "short/op"},
	} {
		var out bytes.Buffer
		if err := Write(&out, s, format, Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: %q is missing", format, want)
			}
		}
	}
}
