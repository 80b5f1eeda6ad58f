package view

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestWhatAServerComesTo(t *testing.T) {
	served := results.Target{Size: 16 << 20, Verdict: "ok"}
	silent := results.Target{Verdict: "exit 0", RequestLimit: new(int64(10485759))}
	replayed := results.TargetEvidence{Replay: &results.ReplayEvidence{Replayed: 9}}
	for _, row := range []struct {
		name    string
		targets []results.Target
		passed  bool
		want    string
	}{
		{"all served", []results.Target{served}, true, "works to 16 MiB"},
		{
			"silent exit", []results.Target{served, silent},
			false, "breaks at 10,485,760 B: exited silently (code 0)",
		},
		{
			"characters of several bytes", []results.Target{
				{Verdict: "corrupt", Size: 128 << 10, Evidence: results.TargetEvidence{
					Failure: &results.FailureEvidence{Characters: true}}},
				{Verdict: "ok", SearchedTo: new(int64(16 << 20))},
				{Verdict: results.VerdictNotTried},
			},
			false, "fails on characters other than ASCII letters and digits, in a message of " +
				"128 KiB: corrupt; without them: requests work to 16 MiB; " +
				"large replies were not tried",
		},
		{
			"characters and replies in too little time", []results.Target{
				{Verdict: "corrupt", Size: 128 << 10, Evidence: results.TargetEvidence{
					Failure: &results.FailureEvidence{Characters: true}}},
				{Verdict: "ok", SearchedTo: new(int64(32 << 20))},
				{Verdict: "ok", SearchedTo: new(int64(16 << 20)), Evidence: results.TargetEvidence{
					Limit: &results.LimitEvidence{Side: "reply", CutShort: true}}},
			},
			false, "fails on characters other than ASCII letters and digits, in a message of " +
				"128 KiB: corrupt; without them: requests work to 32 MiB; " +
				"replies were tried only to 16,777,216 B",
		},
		{
			"characters and a limit", []results.Target{
				{Verdict: "corrupt", Size: 128 << 10, Evidence: results.TargetEvidence{
					Failure: &results.FailureEvidence{Characters: true}}},
				{Verdict: "exit 0", RequestLimit: new(int64(20 << 20))},
			},
			false, "fails on characters other than ASCII letters and digits, in a message of " +
				"128 KiB: corrupt; without them: breaks at 20,971,521 B: exited silently (code 0)",
		},
		{
			"refused in words",
			[]results.Target{{Verdict: "error reply", RequestLimit: new(int64(16 << 20))}},
			true, "works to 16,777,216 B, then error reply",
		},
		{
			"grows", []results.Target{served, {Verdict: results.VerdictSuperlinear}},
			true, "faster than linear",
		},
		{
			"replies break first",
			[]results.Target{
				served, {Size: 32 << 20, Verdict: "exit 0"},
				{Verdict: "exit 0", RequestLimit: new(int64(20 << 20))},
				{Verdict: "truncated", ReplyLimit: new(int64(100000))},
			},
			false, "breaks at replies of 100,001 B: truncated",
		},
		{
			"replies break alone",
			[]results.Target{
				{Verdict: "ok", SearchedTo: new(int64(16 << 20))},
				{Verdict: "corrupt", ReplyLimit: new(int64(8 << 20))},
			},
			false, "breaks at replies of 8,388,609 B: corrupt",
		},
		{
			"calls of the tool are not answered",
			[]results.Target{{
				Verdict: "deaf", ReplyLimit: new(int64(8 << 20)),
				Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{Side: "reply"}},
			}},
			false, "breaks at calls of the tool of 8,388,609 B: no reply, process alive",
		},
		{
			"requests break first",
			[]results.Target{
				{Verdict: "exit 0", RequestLimit: new(int64(5 << 20))},
				{Verdict: "corrupt", ReplyLimit: new(int64(8 << 20))},
			},
			false, "breaks at 5,242,881 B: exited silently (code 0)",
		},
		{
			"a search for requests that was cut short",
			[]results.Target{{Verdict: "exit 0", RequestLimit: new(int64(8 << 20)),
				Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{
					Side: "request", FailedAt: 16 << 20, CutShort: true}}}},
			false, "breaks between 8,388,609 and 16,777,216 B: exited silently (code 0)",
		},
		{
			"a search for replies that was cut short",
			[]results.Target{{Verdict: "corrupt", ReplyLimit: new(int64(8 << 20)),
				Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{
					Side: "reply", FailedAt: 16 << 20, CutShort: true}}}},
			false, "breaks between 8,388,609 and 16,777,216 B: corrupt",
		},
		{
			"replies tried in part",
			[]results.Target{
				{Verdict: "ok", SearchedTo: new(int64(256 << 10))},
				{Verdict: "ok", SearchedTo: new(int64(42_075)),
					Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{
						Side: "reply", CutShort: true}}},
			},
			false, "INCOMPLETE: requests work to 256 KiB; replies were tried only to 42,075 B",
		},
		{
			"no time to search",
			[]results.Target{
				{Size: 8 << 20, Verdict: "ok"}, {Size: 16 << 20, Verdict: "exit 0"},
				{Verdict: "ok", SearchedTo: new(int64(4 << 20))},
			},
			false, "breaks between 8,388,609 and 16,777,216 B: exited silently (code 0)",
		},
		{
			"a tool that makes no larger replies",
			[]results.Target{
				{Verdict: "ok", SearchedTo: new(int64(5_000_000))},
				{Verdict: "ok", SearchedTo: new(int64(61_522)),
					Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{
						Side: "reply", Call: "render_table bytes", Asked: 5_000_000}}},
			},
			false, "requests work to 5,000,000 B; replies stop at 61,522 B, though asked for more",
		},
		{
			"a replay", []results.Target{{Verdict: "ok", Evidence: replayed}},
			true, "PASS: 9 messages replayed",
		},
		{
			"a replay to a server that stays",
			[]results.Target{{Verdict: "ok", Evidence: results.TargetEvidence{
				Replay: &results.ReplayEvidence{Replayed: 9, AtEnd: "still there after 2.00 s"}}}},
			true, "PASS: 9 messages replayed; at the end of its input: still there after 2.00 s",
		},
		{
			"a replay that ends early", []results.Target{{Verdict: "deaf", Evidence: replayed}},
			false, "FAIL: 9 messages replayed; no reply, process alive",
		},
		{
			"nothing works", []results.Target{{Size: 1 << 10, Verdict: "deaf"}},
			false, "FAIL at every size tried: no reply, process alive",
		},
		{
			"methods that it does not know are ignored",
			[]results.Target{{Size: 1 << 10, Verdict: results.VerdictIgnored}}, false,
			"FAIL: ignores methods that it does not know, and drive measures by such a method: " +
				"drive --messages FILE sends others",
		},
		{
			"only small ones fail",
			[]results.Target{
				{Size: 1 << 10, Verdict: "error reply"},
				{RequestLimit: new(int64(0)), Verdict: "error reply", Evidence: results.
					TargetEvidence{Limit: &results.LimitEvidence{Uneven: []int{8192, 16384}}}},
			},
			false, "fails at small sizes, and works at 8,192 B: error reply",
		},
	} {
		got := resultOf(row.targets)
		if got.Passed != row.passed || !strings.Contains(got.text, row.want) {
			t.Errorf("%s: passed %v, %q; want %v, %q", row.name, got.Passed, got.text, row.passed,
				row.want)
		}
	}
}

// A limit of replies that a tool makes is said by what the tool was asked for: the next larger
// reply may have many bytes more.
func TestALimitOfATool(t *testing.T) {
	found := results.Target{
		Verdict: "unanswered", ReplyLimit: new(int64(61_363)),
		Evidence: results.TargetEvidence{Limit: &results.LimitEvidence{
			Side: "reply", Call: "report rows", Asked: 619, FailedAt: 620,
		}},
	}
	const want = "report rows=619: replies of 61,363 B work; report rows=620: unanswered"
	if got := targetSentence(found); got != want {
		t.Errorf("says %q, not %q", got, want)
	}
	result := resultOf([]results.Target{found})
	if result.text != "breaks above replies of 61,363 B: unanswered" {
		t.Errorf("begins with %q", result.text)
	}
}

// The sweep knows only that the server ended. The search saw that the answer before it was cut.
func TestASearchSpeaksForTheSweepAboveItsLimit(t *testing.T) {
	advised := func(text string) results.TargetEvidence {
		return results.TargetEvidence{Advice: text}
	}
	targets := []results.Target{
		{Verdict: "unanswered", Size: 64 << 10, Evidence: advised("answer every request")},
		{Verdict: "exit 0", Size: 128 << 10, Evidence: advised("look for a limit on a line")},
		{Verdict: "truncated", ReplyLimit: new(int64(100_000)), Evidence: advised("flush")},
	}
	got := strings.Join(targetAdvice(targets), "; ")
	if !strings.Contains(got, "every request") || strings.Contains(got, "a line") ||
		!strings.Contains(got, "flush") {
		t.Errorf("advises %q", got)
	}
}

// How times grow is computed from measurements, and is none.
func TestNotesCountMeasurements(t *testing.T) {
	stray := func(lines string) results.Target {
		return results.Target{Warnings: []string{lines + " lines without a message"}}
	}
	growth := results.Target{Evidence: results.TargetEvidence{Growth: &results.GrowthEvidence{}}}
	notes := targetNotes([]results.Target{stray("2"), stray("3"), growth})
	const want = "in 2 of 2 measurements: 2 lines without a message"
	if got := strings.Join(notes, "; "); got != want {
		t.Errorf("got %q", got)
	}
}
