package claims

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/faults/evidencetest"
)

// A verdictCase is evidence, and the verdict that follows from it.
type verdictCase struct {
	name     string
	evidence any
	want     string
	unsure   bool
}

// between is an estimate with that interval.
func between(lo, hi float64) stat.Estimate {
	interval := &stat.Interval{Lo: lo, Hi: hi, Confidence: 0.95}
	return stat.Estimate{N: 14, Median: (lo + hi) / 2, Interval: interval}
}

// ratiosOf are ratios with those intervals.
func ratiosOf(intervals ...[2]float64) (out []Ratio) {
	for i, r := range intervals {
		out = append(out, Ratio{
			Framing: "chunked:61440", Size: 1024 << i, Placement: "same",
			Ratio: between(r[0], r[1]),
		})
	}
	return out
}

func costsOf(intervals ...[2]float64) Costs {
	return Costs{Metric: "time", Ratios: ratiosOf(intervals...)}
}

func ms(n int64) int64 { return n * int64(time.Millisecond) }

// good is a server that does all that a document asks, by lines.
func good(name string) Server {
	return Server{
		Name: name, Newline: true, Blank: true, Trailing: true,
		Malformed: true, MalformedID: "null",
		Replied: true, ReplyNS: ms(100), Exited: true, ExitNS: ms(200),
	}
}

// interviewsOf are two good servers, of which the second and then both are changed.
func interviewsOf(changes ...func(*Server)) Interviews {
	e := Interviews{[]Server{good("a"), good("b")}}
	for i, change := range changes {
		change(&e.Servers[len(e.Servers)-1-i])
	}
	return e
}

// all, some and none of the servers do something.
func serverCases(fail func(*Server)) []verdictCase {
	return []verdictCase{
		{"all", interviewsOf(), Holds, false},
		{"some", interviewsOf(fail), Depends, false},
		{"none", interviewsOf(fail, fail), Refuted, false},
	}
}

// A write is the size of writes that were tried, and how many of them were cut.
type write struct{ size, cut int }

func writesOf(writes ...write) Atomicity {
	var e Atomicity
	for _, w := range writes {
		e.Mixtures = append(e.Mixtures, faults.InterleavedWrites{Size: w.size, Cut: w.cut})
	}
	return e
}

// peersOf are peers that understood so many messages of three.
func peersOf(toLines, fromLines int) Peers {
	return Peers{
		ToLines:   faults.Mismatch{Sent: 3, Understood: toLines},
		FromLines: faults.Mismatch{Sent: 3, Understood: fromLines},
	}
}

// textsOf are receivers that got so many messages of nine intact.
func textsOf(joined, strict int) Agnostic {
	return Agnostic{
		Bytes:  faults.SplitText{Messages: 9, Intact: joined},
		Strict: faults.SplitText{Messages: 9, Intact: strict},
	}
}

// optionsOf are a client that closes and one that answers first.
func optionsOf(shut, say Option) Compared {
	shut.Option = optionShut
	say.Option = optionSay
	return Compared{Options: []Option{shut, say}}
}

func growthOf(slope, lo, hi float64) faults.ReaderGrowth {
	interval := &stat.Interval{Lo: lo, Hi: hi}
	return faults.ReaderGrowth{Slope: stat.Growth{Slope: slope, Interval: interval}}
}

// logLineOf is a reader that got so many messages of two around a log line.
func logLineOf(intact int) Dirty {
	c := faults.DirtyCase{Oddity: "log line", Sent: 2, Intact: intact}
	return Dirty{[]faults.DirtyLines{{Reader: "a", Cases: []faults.DirtyCase{c}}}}
}

func takesHeader(s *Server) { s.ContentLength = true }

// answersID makes a server answer a malformed line with that id.
func answersID(id string) func(*Server) {
	return func(s *Server) { s.MalformedID = id }
}

var atomicityCases = []verdictCase{
	{"cut within 512", writesOf(write{512, 1}), Refuted, false},
	{"cut at 513", writesOf(write{512, 0}, write{513, 3}, write{5000, 3}), Holds, false},
	{"cut at 4097", writesOf(write{512, 0}, write{4096, 0}, write{4097, 3}), Refuted, false},
	{"never cut", writesOf(write{512, 0}, write{4097, 0}), Depends, false},
}

var fitsCases = []verdictCase{
	{"whatever", Fits{Messages: []Content{{Name: "a", Passed: true}}}, Holds, false},
	{"some", Fits{Messages: []Content{{Name: "a", Passed: true}, {Name: "b"}}}, Depends, false},
	{"refused", Fits{Messages: []Content{{Name: "a"}}}, Refuted, false},
}

// cases make every rule go at least two ways.
var cases = map[string][]verdictCase{
	"000-pipe-buf": atomicityCases,
	"000-capacity": {
		{"64 KiB", LargeWrite{Fill: Stall{Accepted: 65536}}, Holds, false},
		{"1 MiB", LargeWrite{Fill: Stall{Accepted: 1 << 20}}, Refuted, false},
	},
	"000-write-blocks": {
		{"waits", LargeWrite{Block: Stall{Stalled: true}}, Holds, false},
		{"returns", LargeWrite{}, Refuted, false},
	},
	"000-write-eagain": {
		{
			"refused at once",
			LargeWrite{NonBlock: &Stall{EAGAIN: 1}, OneMore: &Stall{}},
			Holds, false,
		},
		{
			"cut short, then refused",
			LargeWrite{NonBlock: &Stall{Accepted: 65536, EAGAIN: 1}, OneMore: &Stall{EAGAIN: 1}},
			Depends, false,
		},
		{
			"cut short, one byte is not",
			LargeWrite{NonBlock: &Stall{Accepted: 65536, EAGAIN: 1}, OneMore: &Stall{}},
			Depends, false,
		},
		{"never", LargeWrite{NonBlock: &Stall{Accepted: 65537}, OneMore: &Stall{}}, Refuted, false},
		{"no such mode", LargeWrite{}, Refuted, false},
	},
	"000-write-epipe": {
		{"with a reader", LargeWrite{ReadPipe: true}, Holds, false},
		{"without, at any size", LargeWrite{GonePipe: true, OnePipe: true}, Refuted, false},
		{"never", LargeWrite{}, Depends, false},
	},
	"000-chunks-avoid-blocking": {
		{
			"chunks wait",
			ChunkedWrite{Bare: Stall{Stalled: true}, Chunked: Stall{Stalled: true}},
			Refuted, false,
		},
		{"chunks do not", ChunkedWrite{Bare: Stall{Stalled: true}}, Holds, false},
		{"neither", ChunkedWrite{}, Depends, false},
	},
	"000-60k-leaves-room": {
		{"fits", Room{61440, 60, Stall{Accepted: 61500}}, Holds, false},
		{"too long", Room{61440, 5000, Stall{Accepted: 66440}}, Refuted, false},
		{"refused", Room{61440, 60, Stall{Accepted: 4096, Stalled: true}}, Refuted, false},
	},

	"000-header-40": {
		{"about", Headers{[]HeaderOf{{Least: 42, Most: 46}}}, Holds, false},
		{
			"one size not",
			Headers{[]HeaderOf{{Least: 42, Most: 46}, {Least: 47, Most: 48}}},
			Depends, false,
		},
		{"far", Headers{[]HeaderOf{{Least: 80, Most: 90}}}, Refuted, false},
	},
	"000-overhead-bytes": {
		{"below", Wire{[]WireOf{{1024, 0.9}, {65536, 0.1}}}, Holds, false},
		{"small ones more", Wire{[]WireOf{{1024, 4.1}, {65536, 0.1}}}, Depends, false},
		{"above", Wire{[]WireOf{{1024, 4.1}, {65536, 1}}}, Refuted, false},
	},
	"000-overhead-time": {
		{"below", costsOf([2]float64{0.9, 1.005}), Holds, false},
		{"above", costsOf([2]float64{1.02, 1.1}, [2]float64{1.2, 1.3}), Refuted, false},
		{"both", costsOf([2]float64{0.9, 1}, [2]float64{1.2, 1.3}), Depends, false},
		{"wide", costsOf([2]float64{0.9, 1.3}, [2]float64{1.2, 1.3}), Depends, true},
		{"no figures", costsOf(), Depends, true},
	},
	"000-overhead-cpu": {
		{"below", costsOf([2]float64{0.9, 1.005}), Holds, false},
		{"above", costsOf([2]float64{1.02, 1.1}), Refuted, false},
		{"both", costsOf([2]float64{0.9, 1}, [2]float64{1.2, 1.3}), Depends, false},
		{"wide", costsOf([2]float64{0.9, 1.3}), Depends, true},
	},
	"000-latency-small": {
		{
			"no longer",
			Small{Framed: ratiosOf([2]float64{0.9, 1.04}), Bare: ratiosOf([2]float64{0.9, 1.04})},
			Holds, false,
		},
		{
			"longer",
			Small{Framed: ratiosOf([2]float64{1.06, 1.2}), Bare: ratiosOf([2]float64{1.06, 1.2})},
			Refuted, false,
		},
		{
			"framed longer",
			Small{Framed: ratiosOf([2]float64{1.06, 1.2}), Bare: ratiosOf([2]float64{0.9, 1.04})},
			Depends, false,
		},
		{
			"wide",
			Small{Framed: ratiosOf([2]float64{0.9, 1.2}), Bare: ratiosOf([2]float64{0.9, 1.04})},
			Depends, true,
		},
	},
	"000-throughput": {
		{"within 5 %", costsOf([2]float64{1.01, 1.04}), Holds, false},
		{"beyond", costsOf([2]float64{1.06, 1.2}), Refuted, false},
		{"some", costsOf([2]float64{1.01, 1.04}, [2]float64{1.06, 1.2}), Depends, false},
		{"wide", costsOf([2]float64{1.01, 1.2}), Depends, true},
	},

	"000-any-size": {
		{"arrived", Arrival{Size: 1, Intact: true}, Holds, false},
		{"not", Arrival{Size: 1}, Refuted, false},
	},
	"000-memory": {
		{
			"as the message",
			Memory{Messages: []Kept{{Size: 100, Held: 200}}, Growth: stat.Growth{Slope: 0.9}},
			Holds, false,
		},
		{
			"squared",
			Memory{Messages: []Kept{{Size: 100, Held: 200}}, Growth: stat.Growth{Slope: 2}},
			Refuted, false,
		},
		{"of no message", Memory{}, Refuted, false},
		{
			"not at all",
			Memory{Messages: []Kept{{Size: 100, Held: 200}}, Growth: stat.Growth{Slope: 0.1}},
			Refuted, false,
		},
	},
	"000-cleared": {
		{"let go at once", Kept{Size: 1000, AtOnce: new(int64(99)), AfterHeap: 99}, Holds, false},
		{"let go later", Kept{Size: 1000, AtOnce: new(int64(1000)), AfterHeap: 99}, Depends, false},
		{"let go, whenever that was", Kept{Size: 1000, AfterHeap: 99}, Depends, false},
		{"kept", Kept{Size: 1000, AtOnce: new(int64(1000)), AfterHeap: 100}, Refuted, false},
	},
	"000-streaming": {
		{"each", Streaming{Frames: 18, Early: 17}, Holds, false},
		{"none", Streaming{Frames: 18}, Refuted, false},
		{"some", Streaming{Frames: 18, Early: 3}, Depends, false},
	},
	"000-in-flight": {
		{"all", Flight{Messages: 4, Intact: 4}, Holds, false},
		{"not all", Flight{Messages: 4, Intact: 3}, Refuted, false},
	},
	"000-missing-chunks": {
		{"always", Missing{Named: true, NamedOpen: true}, Holds, false},
		{"at the end", Missing{Named: true}, Depends, false},
		{"never", Missing{}, Refuted, false},
	},
	"000-out-of-order": {
		{"delivered", Missing{Swapped: true}, Refuted, false},
		{"refused", Missing{}, Holds, false},
	},
	"000-invalid-frames": {
		{"all", Invalid{[]InvalidCase{{"a", true, "x"}, {"b", true, "x"}}}, Holds, false},
		{"some", Invalid{[]InvalidCase{{"a", true, "x"}, {"b", false, ""}}}, Depends, false},
		{"none", Invalid{[]InvalidCase{{"a", false, ""}}}, Refuted, false},
	},
	"000-unchunked-peers": {
		{"both ways", peersOf(3, 3), Holds, false},
		{"from lines", peersOf(0, 3), Depends, false},
		{"to lines", peersOf(3, 0), Depends, false},
		{"neither", peersOf(0, 2), Refuted, false},
	},
	"000-protocol-agnostic": {
		{"none lost", textsOf(9, 9), Holds, false},
		{"lost as text", textsOf(9, 0), Depends, false},
		{"lost as bytes", textsOf(8, 0), Refuted, false},
	},

	"001-exact": {
		{"exact", Exact{AtLimit: true}, Holds, false},
		{"one too few", Exact{}, Refuted, false},
		{"one too many", Exact{AtLimit: true, Over: true}, Refuted, false},
		{"goes on", Exact{AtLimit: true, NextAfter: true}, Refuted, false},
	},
	"001-check-free": {{"a constant", Frame{Limit: 16 << 20}, Noted, false}},
	"001-prevents-allocation": {
		{"in memory already", Prevent{Sent: 100, Limit: 16, Late: Kept{Held: 100}}, Refuted, false},
		{"part of it", Prevent{Sent: 100, Limit: 16, Late: Kept{Held: 50}}, Depends, false},
		{"not", Prevent{Sent: 100, Limit: 16, Late: Kept{Held: 16}}, Holds, false},
	},
	"001-closing-safer": {
		{
			"answering holds more",
			optionsOf(
				Option{Held: 40},
				Option{Held: 100, ID: "1", Next: true},
			),
			Holds, false,
		},
		{
			"answering holds no more",
			optionsOf(
				Option{Held: 40},
				Option{Held: 41, ID: "1", Next: true},
			),
			Refuted, false,
		},
		{
			"answering knows late",
			optionsOf(
				Option{Held: 40, DetectNS: 1},
				Option{Held: 41, DetectNS: 11, ID: "1"},
			),
			Holds, false,
		},
		{
			"answering closes then",
			optionsOf(
				Option{Held: 40, DetectNS: 5},
				Option{Held: 41, DetectNS: 6, ID: "1"},
			),
			Refuted, false,
		},
		{
			"answering finds no id",
			optionsOf(
				Option{Held: 40},
				Option{Held: 41, ID: "null", Next: true},
			),
			Depends, false,
		},
	},
	"001-10mb-text":  fitsCases,
	"001-5mb-image":  fitsCases,
	"001-1000-tools": fitsCases,
	"001-50mb-excluded": {
		{"refused", Fits{Messages: []Content{{Name: "a"}}}, Holds, false},
		{"passes", Fits{Messages: []Content{{Name: "a", Passed: true}}}, Refuted, false},
	},
	"001-http2-1000": {{"1024", Frame{Limit: 16 << 20, HTTP2: 16 << 10}, Noted, false}},
	"001-grpc-4mb":   {{"four times", Frame{Limit: 16 << 20, GRPC: 4 << 20}, Noted, false}},
	"001-rarely-1mb": {
		{"short", interviewsOf(func(s *Server) { s.Largest = 999_999 }), NotTestable, false},
		{"long", interviewsOf(func(s *Server) { s.Largest = 1_000_001 }), Refuted, false},
	},
	"002-efficient-json": {
		{"less", Parsing{Share: between(0.2, 0.8)}, Refuted, false},
		{"several times", Parsing{Share: between(3.1, 9)}, Holds, false},
		{"about as much", Parsing{Share: between(0.8, 2)}, Depends, false},
	},

	"002-bytewise": {
		{"wrong", Bytewise{}, Refuted, false},
		{
			"right and dear",
			Bytewise{Compared: 1, ToOurs: []faults.Sized{
				{Figure: between(0.9, 1.1)}, {Figure: between(900, 1000)},
			}},
			Depends, false,
		},
		{
			"right and cheap",
			Bytewise{Compared: 1, ToOurs: []faults.Sized{{Figure: between(0.9, 1.1)}}},
			Holds, false,
		},
	},
	"002-crash-isolation": {
		{"not told", Crash{}, Refuted, false},
		{"told, and killed by a signal", Crash{Told: true, Printer: true}, Depends, false},
		{"told", Crash{Told: true}, Holds, false},
	},
	"002-malformed-skipped": serverCases(func(s *Server) { s.Malformed = false }),
	"002-stderr-separate": {
		{
			"either way",
			Logs{faults.Logging{Asked: 9, Answered: 9}, faults.Logging{Asked: 9, Answered: 9}},
			Holds, false,
		},
		{
			"only when read",
			Logs{faults.Logging{Asked: 9, Answered: 1}, faults.Logging{Asked: 9, Answered: 9}},
			Depends, false,
		},
		{
			"neither",
			Logs{faults.Logging{Asked: 9, Answered: 1}, faults.Logging{Asked: 9, Answered: 1}},
			Refuted, false,
		},
	},

	"003-exact-sizes": {
		{"all", Headed{Messages: 6}, Holds, false},
		{"one altered", Headed{Messages: 6, Altered: []string{"x"}}, Refuted, false},
	},
	"003-mcp-content-length": {
		{"none by header, all by line", interviewsOf(), Refuted, false},
		{"all by header", interviewsOf(takesHeader, takesHeader), Holds, false},
		{"one by header", interviewsOf(takesHeader), Depends, false},
		{"one by nothing", interviewsOf(func(s *Server) { s.Newline = false }), Depends, false},
		{"nobody asked", Interviews{}, NotTestable, false},
		{"ours alone", Interviews{[]Server{good(ours)}}, NotTestable, false},
	},

	"004-mcp-newline": serverCases(func(s *Server) { s.Newline = false }),
	"004-4096-robust": {
		{"all", Pieces{Messages: 9, Intact: 9}, Holds, false},
		{"one altered", Pieces{Messages: 9, Intact: 8}, Refuted, false},
		{
			"as printed too",
			Pieces{Messages: 9, Intact: 9, Printed: &Printed{Intact: 9, LastLine: true}},
			Holds, false,
		},
		{
			"not as printed",
			Pieces{Messages: 9, Intact: 9, Printed: &Printed{Intact: 9}},
			Depends, false,
		},
		{
			"nor its text",
			Pieces{Messages: 9, Intact: 9, Printed: &Printed{Intact: 8, BadText: true}},
			Depends, false,
		},
	},
	"004-4096-cheap": {
		{"quadratic", growthOf(1.7, 1.3, 2), Refuted, false},
		{"quadratic, perhaps", growthOf(1.7, 0.3, 3), Refuted, true},
		{"linear, perhaps", growthOf(1.29, 1, 1.6), Holds, true},
		{"linear", growthOf(1.1, 1, 1.2), Holds, false},
	},
	"004-10mb-limit": {
		{"not a word", faults.UnboundedLine{Limit: 10, Held: 5}, Refuted, false},
		{"late", faults.UnboundedLine{Limit: 10, Held: 31, Detected: true}, Refuted, false},
		{"in time", faults.UnboundedLine{Limit: 10, Held: 30, Detected: true}, Holds, false},
	},
	"004-skip-hangs": {
		{"no answer", Skip{Skipped: []string{"2"}}, Holds, false},
		{"an answer", Skip{Skipped: []string{"1", "2"}}, Refuted, false},
		{"nothing at all", Skip{}, Depends, false},
	},
	"004-id-in-1k": {
		{"everywhere", Places{Found: []string{"first", "last"}}, Holds, false},
		{"not last", Places{Found: []string{"first"}, Lost: []string{"last"}}, Depends, false},
		{"nowhere", Places{Lost: []string{"first"}}, Refuted, false},
	},
	"004-eof-shutdown": append(serverCases(func(s *Server) { s.Replied = false }),
		verdictCase{
			"answers too late",
			interviewsOf(func(s *Server) { s.ReplyNS = ms(2001) }),
			Depends, false,
		},
		verdictCase{
			"stays too long",
			interviewsOf(func(s *Server) { s.ExitNS = ms(5001) }),
			Depends, false,
		},
		verdictCase{"stays", interviewsOf(func(s *Server) { s.Exited = false }), Depends, false}),
	"004-unknown-id": {
		{"null alone", interviewsOf(), Refuted, false},
		{"both", interviewsOf(answersID(`""`)), Holds, false},
		{"empty alone", interviewsOf(answersID(`""`), answersID(`""`)), Depends, false},
		{"none", interviewsOf(answersID("no answer"), answersID("no answer")), Depends, false},
	},
	"004-empty-lines":    serverCases(func(s *Server) { s.Blank = false }),
	"004-trailing-space": serverCases(func(s *Server) { s.Trailing = false }),
	"004-stdout-reserved": {
		{"costs one", logLineOf(1), Holds, false},
		{"costs none", logLineOf(2), Refuted, false},
	},
}

func TestRules(t *testing.T) {
	for _, c := range All() {
		seen := map[string]bool{}
		for _, row := range cases[c.ID] {
			found, err := results.NewEvidence(row.evidence)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Judge(found)
			if err != nil {
				t.Errorf("%s, %s: %v", c.ID, row.name, err)
				continue
			}
			if got.Verdict != row.want || got.Unsure != row.unsure {
				t.Errorf("%s, %s: %s (unsure %t), want %s (unsure %t)", c.ID, row.name,
					got.Verdict, got.Unsure, row.want, row.unsure)
			}
			if got.Why == "" {
				t.Errorf("%s, %s: no reason", c.ID, row.name)
			}
			seen[got.Verdict] = true
		}
		if len(seen) < 2 && !seen[Noted] {
			t.Errorf("%s: no evidence makes its rule go another way", c.ID)
		}
	}
	for id := range paragraphs() {
		if _, err := Find(id); err != nil {
			t.Error(err)
		}
	}
	for id := range cases {
		if _, err := Find(id); err != nil {
			t.Error(err)
		}
	}
}

// Every sentence of claims.txt is the reason for a verdict.
func TestEachOutcomeIsReached(t *testing.T) {
	for id, p := range paragraphs() {
		c, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		reached := make(map[outcome]bool)
		for _, row := range cases[id] {
			f, err := c.decide(results.MustEvidence(row.evidence))
			if err != nil {
				t.Errorf("%s, %s: %v", id, row.name, err)
			}
			reached[f.outcome] = true
		}
		for o := range p.outcomes {
			if !reached[o] {
				t.Errorf("%s: no evidence has the outcome %+v", id, o)
			}
		}
	}
}

// A rule bears evidence of any content: files may be old, cut or written by others.
func TestRulesBearAnyEvidence(t *testing.T) {
	for _, c := range All() {
		for _, row := range cases[c.ID] {
			for _, e := range evidencetest.Altered(t, row.evidence) {
				j, err := c.Judge(e)
				if err != nil {
					continue // no evidence of this kind
				}
				verdicts := []string{Holds, Refuted, Depends, NotTestable, Noted}
				if !slices.Contains(verdicts, j.Verdict) {
					t.Errorf("%s of %s: %+v", c.ID, e, j)
				}
			}
		}
	}
}

// Without evidence nothing is refuted: a file may be cut, and nobody may be there to be asked.
func TestWithoutEvidenceNothingIsRefuted(t *testing.T) {
	for _, c := range All() {
		for _, evidence := range []results.Evidence{"", "{}"} {
			if j, err := c.Judge(evidence); err != nil || j.Verdict != NotTestable || j.Why == "" {
				t.Errorf("%s of %q: %+v, %v", c.ID, evidence, j, err)
			}
		}
	}
	if f := (tally{}).judge(""); f.nobody == "" {
		t.Errorf("a tally of nobody: %+v", f)
	}
}

// What the source of macOS documents stands beside what was found here.
func TestClaimsOnPipesNameMacOS(t *testing.T) {
	for _, id := range []string{"000-pipe-buf", "000-capacity", "000-write-blocks",
		"000-write-eagain", "000-write-epipe"} {
		c, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		j, err := c.Judge(results.MustEvidence(cases[id][0].evidence))
		if err != nil || !strings.Contains(j.Why, "XNU") {
			t.Errorf("%s: %+v, %v", id, j, err)
		}
	}
}
