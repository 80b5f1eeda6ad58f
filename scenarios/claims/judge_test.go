package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/scenarios/failures"
)

// A verdictCase is what a set may hold, and what a claim's rule makes of it.
type verdictCase struct {
	name    string
	found   values // findings by ID
	servers []serverFound
	records []results.Record
	want    results.Verdict
	unsure  bool
}

type values map[string]any

// A serverFound is what check found of one MCP server.
type serverFound struct {
	framing  string
	dirty    results.Verdict // of lines that are no messages
	ends     results.Verdict // of the end of input with requests in flight
	answered int64           // of those requests
}

// A class is how a failure came about.
type class string

// set makes a set of records of a case.
func (c verdictCase) set() *results.Set {
	s := &results.Set{Records: c.records}
	for id, v := range c.found {
		s.Add(findingOf(id, v))
	}
	for n, found := range c.servers {
		seen := check.ServerEvidence{Protocol: "mcp 2025-11-25", Framing: found.framing}
		dirty := findingOf(serverCheck(dirtyLine), nil)
		dirty.Verdict = found.dirty
		dirty.Evidence = results.MustEvidence(seen)
		seen.Answered = &found.answered
		ends := findingOf(serverCheck(endInFlight), nil)
		ends.Verdict = found.ends
		ends.Evidence = results.MustEvidence(seen)
		for _, f := range []results.Finding{dirty, ends} {
			f.About = []string{fmt.Sprint("server-", n)}
			s.Add(f)
		}
	}
	return s
}

func findingOf(id string, v any) results.Finding {
	f := results.Finding{ID: id, Verdict: results.Noted, Value: v, Found: fmt.Sprint(v)}
	if c, ok := v.(class); ok {
		f.Value = 1
		f.Class = string(c)
	}
	return f
}

// pair measures a framing and its base in six rounds. The ratios of time and of CPU time between
// them lie between least and most.
func pair(pattern, framing, base string, size int, least, most float64) []results.Record {
	mine := results.Record{Cell: results.UsualCell(framing, pattern, "same", size)}
	other := results.Record{Cell: results.UsualCell(base, pattern, "same", size)}
	for round := range stat.LeastSamples {
		share := float64(round) / float64(stat.LeastSamples-1)
		ratio := least + share*(most-least)
		mine.Samples = append(mine.Samples, sampleOf(round, size, ratio))
		other.Samples = append(other.Samples, sampleOf(round, size, 1))
	}
	return []results.Record{mine, other}
}

func sampleOf(round, size int, ratio float64) results.Sample {
	ns := int64(1e9 * ratio)
	none := int64(0)
	bytes := int64(1000 * size)
	return results.Sample{Fork: 1, Round: round + 1, ElapsedNS: ns, Messages: 1000,
		PayloadBytes: bytes, WireBytes: bytes + int64(1000*46),
		Writer: results.Counters{CPUNS: &ns}, Reader: results.Counters{CPUNS: &none}}
}

// costs are streams whose ratios to raw lie between least and most.
func costs(least, most float64) []results.Record {
	return pair("stream", costFraming, results.FramingRaw, 65_000, least, most)
}

// costsAt are the same at another size.
func costsAt(size int, least, most float64) []results.Record {
	return pair("stream", costFraming, results.FramingRaw, size, least, most)
}

// trips are round trips, with ratios to lines of framed messages and of bare ones.
func trips(framed, bare [2]float64) []results.Record {
	return slices.Concat(pair("roundtrip", costFraming, "ndjson", 256, framed[0], framed[1]),
		pair("roundtrip", bareFraming, "ndjson", 256, bare[0], bare[1])[:1])
}

// readers are the reader of single bytes, with its ratios to the other, and the one that searches
// its buffer again, whose time grows with an exponent; each next time is off by a factor.
func readers(least, most float64, exponent2 int, off float64) []results.Record {
	all := pair("stream", "ndjson-bytewise", "ndjson", 1_000_000, least, most)
	for i, size := range []int{256_000, 512_000, 1_024_000, 2_048_000} {
		r := results.Record{Cell: results.UsualCell("ndjson-rescan", "stream", "same", size)}
		ns := 1e6 * float64(int(1)<<(i*exponent2))
		if i%2 == 1 {
			ns *= off
		}
		r.Samples = []results.Sample{{ElapsedNS: int64(ns), Messages: 1}}
		all = append(all, r)
	}
	return all
}

// grown are three messages of which memory was held.
func grown(small, middle, large int64) values {
	return values{memory + "4MiB": small, memory + "16MiB": middle, memory + "64MiB": large}
}

// kept are how much of a large message's memory was kept, at once and later.
func kept(atOnce, later string) values {
	return values{memory + "16MiB/at-once": class(atOnce), memory + "16MiB/later": class(later)}
}

// checks are how late and early checks of a length went.
func checks(late, early string) values {
	return values{checksLate: class(late), checksEarly: class(early)}
}

// broken are chunks of which one was lost, on a stream that ends and on one that stays open.
func broken(ends, open string) values {
	return values{chunks + "lost": class(ends), chunks + "lost-open": class(open)}
}

// invalid are two faulty frames.
func invalid(first, second string) values {
	return values{chunks + "invalid/a": class(first), chunks + "invalid/b": class(second)}
}

func exactly(exact, closes string) values {
	return values{oversized + "exact": class(exact), oversized + "closes": class(closes)}
}

func pieces(ours, theirs, last string) values {
	return values{inPieces: class(ours), printed: class(theirs), printedLast: class(last)}
}

// good is an MCP server that does all that the documents ask.
func good() serverFound {
	return serverFound{"ndjson", results.OK, results.OK, check.InFlight}
}

// serverCases are those of a claim on every server, for which another one does not hold.
func serverCases(other serverFound, none results.Verdict) []verdictCase {
	return []verdictCase{
		{name: "all", servers: []serverFound{good(), good()}, want: results.Holds},
		{name: "one not", servers: []serverFound{good(), other}, want: results.Depends},
		{name: "none", servers: []serverFound{other, other}, want: none},
	}
}

var (
	deafAfterDirt = serverFound{"ndjson", results.Fails, results.OK, check.InFlight}
	stays         = serverFound{"ndjson", results.OK, results.Fails, check.InFlight}
	dropsAnswers  = serverFound{"ndjson", results.OK, results.OK, check.InFlight - 1}
	inHeaders     = serverFound{"content-length", results.CannotTell, results.OK, check.InFlight}
)

// either is two cases of one finding.
func either(id string, yes any, want results.Verdict, no any, other results.Verdict) []verdictCase {
	return []verdictCase{
		{name: "yes", found: values{id: yes}, want: want},
		{name: "no", found: values{id: no}, want: other},
	}
}

var cases = map[string][]verdictCase{
	"000-pipe-buf": {
		{name: "not 512", found: values{pipe("interleave/512/read-4096"): true},
			want: results.Refuted},
		{name: "512", found: values{pipe("interleave/512/read-4096"): false,
			pipe("interleave/513/read-4096"): true}, want: results.Holds},
		{name: "4096", found: values{pipe("interleave/4096/read-65536"): false,
			pipe("interleave/4097/read-4096"): true, pipe("interleave/513/read-1"): "too few"},
			want: results.Refuted},
		{name: "none", found: values{pipe("interleave/4096/read-4096"): false},
			want: results.Depends, unsure: true},
		{name: "4096 not seen", found: values{pipe("interleave/4096/read-4096"): "too few",
			pipe("interleave/4097/read-4096"): true}, want: results.CannotTell},
	},
	"000-capacity": either(pipe("capacity/fill/4096"), 65536, results.Holds,
		16384, results.Refuted),
	"000-write-blocks": {
		{name: "waits", found: values{pipe("broken/after-0/accepted"): 65536,
			pipe("broken/after-0/error"): "EPIPE"}, want: results.Holds},
		{name: "returns", found: values{pipe("broken/after-0/accepted"): 165536,
			pipe("broken/after-0/error"): "success"}, want: results.Refuted},
	},
	"000-write-eagain": {
		{name: "when full", found: writes(65536, "EAGAIN", 4096), want: results.Depends},
		{name: "at once", found: writes(0, "EAGAIN", 4096), want: results.Holds},
		{name: "never", found: writes(1<<20, "success", 4096), want: results.Refuted},
		{name: "no such mode", found: writes(65536, "EAGAIN", "unsupported"),
			want: results.Refuted},
	},
	"000-write-epipe": either(pipe("broken/no-reader"), "EPIPE", results.Refuted,
		"success", results.Depends),
	"000-chunks-avoid-blocking": either(pipe("capacity/fill/61440"), 65536, results.Refuted,
		2<<20, results.Depends),
	"000-60k-leaves-room": either(pipe("capacity/fill/61440"), 65536, results.Holds,
		16384, results.Refuted),

	"000-overhead-bytes": {
		{name: "below", records: costs(1, 1), want: results.Holds},
		{name: "small ones more", records: append(costs(1, 1), costsAt(4000, 1, 1)...),
			want: results.Depends},
		{name: "above", records: costsAt(4000, 1, 1), want: results.Refuted},
	},
	"000-overhead-time": costCases(1.01),
	"000-overhead-cpu":  costCases(1.01),
	"000-throughput":    costCases(1.05),
	"000-latency-small": {
		{name: "no longer", records: trips([2]float64{0.9, 1.04}, [2]float64{0.9, 1.04}),
			want: results.Holds},
		{name: "longer", records: trips([2]float64{1.06, 1.2}, [2]float64{1.06, 1.2}),
			want: results.Refuted},
		{name: "framed", records: trips([2]float64{1.06, 1.2}, [2]float64{0.9, 1.04}),
			want: results.Depends},
		{name: "wide", records: trips([2]float64{0.9, 1.2}, [2]float64{0.9, 1.04}),
			want: results.Depends, unsure: true},
	},

	"000-any-size": either(memory+"64MiB", class(failures.Sound), results.Holds,
		class(failures.Corrupted), results.Refuted),
	"000-memory": {
		{name: "as the message", found: grown(4<<20, 16<<20, 64<<20), want: results.Holds},
		{name: "squared", found: grown(1<<20, 16<<20, 256<<20), want: results.Refuted},
		{name: "not at all", found: grown(1<<20, 1<<20, 1<<20), want: results.Refuted},
	},
	"000-cleared": {
		{name: "at once", found: kept(failures.Sound, failures.Sound), want: results.Holds},
		{name: "later", found: kept(failures.Grows, failures.Sound), want: results.Depends},
		{name: "kept", found: kept(failures.Grows, failures.Grows), want: results.Refuted},
	},
	"000-streaming": either(chunks+"shown-early", class(failures.Sound), results.Holds,
		class(failures.Stuck), results.Refuted),
	"000-in-flight": either(chunks+"in-turn", class(failures.Sound), results.Holds,
		class(failures.Corrupted), results.Refuted),
	"000-missing-chunks": {
		{name: "always", found: broken(failures.Refused, failures.Refused), want: results.Holds},
		{name: "at the end", found: broken(failures.Refused, failures.Stuck),
			want: results.Depends},
		{name: "never", found: broken(failures.SilentLoss, failures.Stuck),
			want: results.Refuted},
	},
	"000-out-of-order": either(chunks+"swapped", class(failures.Sound), results.Refuted,
		class(failures.Refused), results.Holds),
	"000-invalid-frames": {
		{name: "all", found: invalid(failures.Refused, failures.Refused), want: results.Holds},
		{name: "some", found: invalid(failures.Refused, failures.Corrupted),
			want: results.Depends},
		{name: "none", found: invalid(failures.Sound, failures.Corrupted), want: results.Refuted},
	},
	"000-unchunked-peers": {
		{name: "both", found: peers(failures.Sound, failures.Sound), want: results.Holds},
		{name: "from lines", found: peers(failures.Corrupted, failures.Sound),
			want: results.Depends},
		{name: "to lines", found: peers(failures.Sound, failures.Stuck), want: results.Depends},
		{name: "neither", found: peers(failures.Corrupted, failures.Stuck),
			want: results.Refuted},
	},
	"000-protocol-agnostic": {
		{name: "none lost", found: values{joinedText: class(failures.Sound),
			decodedText: class(failures.Sound)}, want: results.Holds},
		{name: "lost as text", found: values{joinedText: class(failures.Sound),
			decodedText: class(failures.SilentLoss)}, want: results.Depends},
		{name: "lost as bytes", found: values{joinedText: class(failures.Corrupted),
			decodedText: class(failures.SilentLoss)}, want: results.Refuted},
	},

	"001-exact": {
		{name: "exact", found: exactly(failures.Sound, failures.Refused), want: results.Holds},
		{name: "one too few", found: exactly(failures.Refused, failures.Refused),
			want: results.Refuted},
		{name: "goes on", found: exactly(failures.Sound, failures.Noticed),
			want: results.Refuted},
	},
	"001-prevents-allocation": {
		{name: "late", found: checks(failures.Grows, failures.Sound), want: results.Refuted},
		{name: "not", found: checks(failures.Grows, failures.Grows), want: results.Depends},
		{name: "both", found: checks(failures.Sound, failures.Sound), want: results.Holds},
	},

	"002-bytewise": {
		{name: "slow", records: readers(20, 30, 1, 1), want: results.Depends},
		{name: "not so slow", records: readers(2, 2.9, 1, 1), want: results.Holds},
	},
	"002-crash-isolation": {
		{name: "told", found: values{pipe("eof/last-writer"): "EOF",
			pipe("broken/no-reader/sigpipe"): false}, want: results.Holds},
		{name: "killed", found: values{pipe("eof/last-writer"): "EOF",
			pipe("broken/no-reader/sigpipe"): true}, want: results.Depends},
		{name: "not told", found: values{pipe("eof/last-writer"): "EAGAIN",
			pipe("broken/no-reader/sigpipe"): true}, want: results.Refuted},
	},
	"002-malformed-skipped": serverCases(deafAfterDirt, results.Refuted),
	"002-stderr-separate": {
		{name: "fills", found: values{pipe("broken/after-0/error"): "EPIPE",
			pipe("capacity/fill/512"): 65536}, want: results.Depends},
		{name: "takes all", found: values{pipe("broken/after-0/error"): "success",
			pipe("capacity/fill/512"): 65536}, want: results.Holds},
	},

	"003-exact-sizes": either(awkward, class(failures.Sound), results.Holds,
		class(failures.Corrupted), results.Refuted),
	"003-mcp-content-length": {
		{name: "none", servers: []serverFound{good(), good()}, want: results.Refuted},
		{name: "all", servers: []serverFound{inHeaders}, want: results.Holds},
		{name: "one", servers: []serverFound{good(), inHeaders}, want: results.Depends},
	},

	"004-mcp-newline": serverCases(inHeaders, results.Refuted),
	"004-4096-robust": {
		{name: "as printed", found: pieces(failures.Sound, failures.Sound, failures.Sound),
			want: results.Holds},
		{name: "not the last", want: results.Depends,
			found: pieces(failures.Sound, failures.Sound, failures.SilentLoss)},
		{name: "altered", found: pieces(failures.Corrupted, failures.Sound, failures.Sound),
			want: results.Refuted},
	},
	"004-4096-cheap": {
		{name: "quadratic", records: readers(1, 2, 2, 1), want: results.Refuted},
		{name: "quadratic, perhaps", records: readers(1, 2, 2, 9), want: results.Refuted,
			unsure: true},
		{name: "linear, perhaps", records: readers(1, 2, 1, 2), want: results.Holds, unsure: true},
		{name: "linear", records: readers(1, 2, 1, 1), want: results.Holds},
	},
	"004-10mb-limit": {
		{name: "late", found: values{endlessLine: class(failures.Grows)}, want: results.Refuted},
		{name: "in time", found: values{endlessLine: class(failures.Sound)}, want: results.Holds},
	},
	"004-skip-hangs": either(skipped, class(failures.Noticed), results.Holds,
		class(failures.Refused), results.Refuted),
	"004-eof-shutdown": append(
		serverCases(stays, results.Refuted), serverCases(dropsAnswers, results.Refuted)...),
	"004-empty-lines": serverCases(deafAfterDirt, results.Depends),
	"004-stdout-reserved": {
		{name: "a message", found: logLineCosts(failures.Noticed), want: results.Holds},
		{name: "nothing", found: logLineCosts(failures.Sound), want: results.Refuted},
	},
}

// writes are what non-blocking writes to a pipe do.
func writes(first int, full string, writable any) values {
	return values{pipe("growth/first-write"): first, pipe("full/write"): full,
		pipe("poll/writable-after"): writable}
}

// costCases are those of a claim that chunks cost no more than a bound.
func costCases(bound float64) []verdictCase {
	return []verdictCase{
		{name: "below", records: costs(0.9, bound-0.005), want: results.Holds},
		{name: "above", records: costs(bound+0.01, 1.2), want: results.Refuted},
		{name: "both", records: append(costs(0.9, 1), costsAt(1_000_000, 1.2, 1.3)...),
			want: results.Depends},
		{name: "wide", records: costs(0.9, 1.3), want: results.Depends, unsure: true},
	}
}

func peers(to, from string) values {
	return values{toLines: class(to), fromLines: class(from)}
}

// logLineCosts are readers of which one loses a message to a log line, or none does.
func logLineCosts(of string) values {
	all := values{}
	for _, id := range logLines {
		all[id] = class(failures.Sound)
	}
	all[logLines[1]] = class(of)
	return all
}

func TestRules(t *testing.T) {
	for _, c := range All() {
		if len(cases[c.ID]) == 0 {
			t.Errorf("%s: no case: add one to cases in judge_test.go", c.ID)
		}
		for _, row := range cases[c.ID] {
			got := Judge(row.set(), []Claim{c})
			if len(got) != 1 {
				t.Errorf("%s, %s: not judged", c.ID, row.name)
				continue
			}
			f := got[0]
			if f.Verdict != row.want || isUnsure(f) != row.unsure {
				t.Errorf("%s, %s: %s (unsure %t), want %s (unsure %t): %s", c.ID, row.name,
					f.Verdict, isUnsure(f), row.want, row.unsure, f.Found)
			}
			if f.Found == "" || f.ID != "claim/"+c.ID || f.Title != c.Says {
				t.Errorf("%s, %s: incomplete: %+v", c.ID, row.name, f)
			}
		}
	}
	for id := range cases {
		if _, err := Find(id); err != nil {
			t.Error(err)
		}
	}
}

// The cases make the rule of each claim go several ways.
func TestEachOutcomeIsReached(t *testing.T) {
	for _, c := range All() {
		verdicts := make(map[results.Verdict]bool)
		for _, row := range cases[c.ID] {
			verdicts[row.want] = true
		}
		if len(verdicts) < 2 && len(c.Needs) > 0 { // the others are constants and arithmetic
			t.Errorf("%s: no evidence makes its rule go another way", c.ID)
		}
	}
}

// Without evidence nothing is refuted: a file may be cut, and nobody may be there to be asked.
func TestWithoutEvidenceNothingIsRefuted(t *testing.T) {
	for _, c := range All() {
		if len(c.Needs) > 0 && len(Judge(&results.Set{}, []Claim{c})) > 0 {
			t.Errorf("%s is judged by nothing", c.ID)
		}
	}
	for id, rows := range cases {
		c, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		for need := range rows[0].found {
			less := rows[0]
			less.found = maps.Clone(less.found)
			delete(less.found, need)
			isNeed := slices.Contains(c.Needs, need)
			if isNeed && len(less.found) > 0 && len(Judge(less.set(), []Claim{c})) > 0 {
				t.Errorf("%s is judged without %s", id, need)
			}
		}
	}
}

// A rule bears findings of any content: files may be old, cut or written by others.
func TestRulesBearAnyEvidence(t *testing.T) {
	for _, c := range All() {
		for _, row := range cases[c.ID] {
			set := row.set()
			for i, f := range set.Findings {
				for _, other := range []any{nil, -1.0, 1e15, "?", true} {
					f.Value = other
					set.Findings[i] = f
					Judge(set, []Claim{c})
					f.Evidence = results.MustEvidence(map[string]any{"held": -1, "bad": "?"})
					set.Findings[i] = f
					Judge(set, []Claim{c})
				}
			}
		}
	}
}

// An experiment that hangs, or a verdict of another version, leaves the claim without a new one.
func TestAFindingOnTheClaimStandsWhereEvidenceLacks(t *testing.T) {
	c, err := Find("000-capacity")
	if err != nil {
		t.Fatal(err)
	}
	hangs := results.Finding{ID: "rule/anonymous/fill", Verdict: results.CannotTell, Found: "hangs"}
	got := Judge(&results.Set{Findings: []results.Finding{hangs}}, []Claim{c})
	if len(got) != 1 || got[0].Verdict != results.CannotTell ||
		!strings.Contains(got[0].Found, "hangs") {
		t.Errorf("of an experiment that hangs: %+v", got)
	}
	old := &results.Set{}
	old.Add(results.Finding{
		ID: "claim/" + c.ID, Verdict: results.Refuted, Found: "as it was",
	})
	got = Judge(old, []Claim{c})
	if len(got) != 1 || got[0].Verdict != results.Refuted || got[0].Found != "as it was" {
		t.Errorf("of an earlier version: %+v", got)
	}
}

// A verdict that was found by better evidence is not replaced by an open one.
func TestAnOpenVerdictReplacesNone(t *testing.T) {
	c, err := Find("000-pipe-buf")
	if err != nil {
		t.Fatal(err)
	}
	set := cases[c.ID][3].set()
	set.Add(results.Finding{ID: "claim/" + c.ID, Verdict: results.Refuted, Found: "as it was"})
	got := Judge(set, []Claim{c})
	if len(got) != 1 || got[0].Verdict != results.Refuted {
		t.Errorf("got %+v", got)
	}
}

// A claim on pipes says what the source of macOS documents, beside what was found here.
func TestClaimsOnPipesNameMacOS(t *testing.T) {
	for _, id := range []string{"000-pipe-buf", "000-capacity", "000-write-blocks",
		"000-write-eagain", "000-write-epipe"} {
		c, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		got := Judge(cases[id][0].set(), []Claim{c})
		if len(got) != 1 || !strings.Contains(got[0].Found, "XNU") {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

// A server that speaks with headers cannot be asked what it makes of dirty lines, and a server that
// does not speak MCP says nothing about MCP.
func TestOnlyServersThatCanBeAskedCount(t *testing.T) {
	c, err := Find("002-malformed-skipped")
	if err != nil {
		t.Fatal(err)
	}
	headers := verdictCase{servers: []serverFound{inHeaders}}
	got := Judge(headers.set(), []Claim{c})
	if len(got) != 1 || got[0].Verdict != results.CannotTell {
		t.Errorf("of a server that speaks with headers: %+v", got)
	}
	lines := verdictCase{servers: []serverFound{good()}}
	set := lines.set()
	for i := range set.Findings {
		seen := check.ServerEvidence{Protocol: "lsp", Framing: "ndjson"}
		set.Findings[i].Evidence = results.MustEvidence(seen)
	}
	if got := Judge(set, []Claim{c}); len(got) != 0 {
		t.Errorf("of a language server: %+v", got)
	}
}

// A server that was checked twice counts once, as it was found last.
func TestTheLastCheckOfAServerCounts(t *testing.T) {
	twice := verdictCase{servers: []serverFound{deafAfterDirt, good()}}
	set := twice.set()
	for i := range set.Findings {
		set.Findings[i].About = []string{"server"}
	}
	c, err := Find("002-malformed-skipped")
	if err != nil {
		t.Fatal(err)
	}
	got := Judge(set, []Claim{c})
	if len(got) != 1 || got[0].Verdict != results.Holds {
		t.Errorf("got %+v", got)
	}
}

// A verdict on a cost says where the limit is not kept to, and where noise hides it.
func TestACostSaysWhere(t *testing.T) {
	c, err := Find("000-overhead-cpu")
	if err != nil {
		t.Fatal(err)
	}
	mixed := verdictCase{records: append(costs(0.8, 1.3), costsAt(1_000_000, 1.31, 1.5)...)}
	got := Judge(mixed.set(), []Claim{c})
	want := "1 % is not kept to at 1,000,000 B on one CPU; " +
		"noise hides whether 1 % is kept to at 65,000 B on one CPU"
	if len(got) != 1 || !isUnsure(got[0]) || !strings.HasSuffix(got[0].Found, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

// isUnsure reports whether the evidence of f says that another run may give another verdict.
func isUnsure(f results.Finding) bool {
	var b basis
	err := f.Evidence.Decode(&b)
	return err == nil && b.Unsure
}
