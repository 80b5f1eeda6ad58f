package drive_test

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// The search of replies was cut before it came to the size that failed. The search of requests says
// nothing about replies.
func TestACutSearchOfRepliesClearsNoSize(t *testing.T) {
	requests, replies := int64(128<<10), int64(32<<10)
	for cut, fails := range map[string]bool{"cut short": false, "done": true} {
		reply := results.Target{Verdict: "ok", SearchedTo: &replies}
		reply.Evidence.Limit = &results.LimitEvidence{Side: "reply", CutShort: cut == "cut short"}
		set := &results.Set{Targets: []results.Target{
			{Size: 32 << 10, Verdict: "ok"},
			{Size: 64 << 10, Verdict: "unanswered"},
			{Verdict: "ok", SearchedTo: &requests},
			reply,
		}}
		if err := drive.Failed(set); (err != nil) != fails {
			t.Errorf("%s: %v", cut, err)
		}
	}
}

// Nothing failed in a search that the time cut short: no verdict.
func TestASearchThatIsCutShortHasNoVerdict(t *testing.T) {
	cut := results.Target{Verdict: "ok", SearchedTo: new(int64(32 << 10))}
	cut.Evidence.Limit = &results.LimitEvidence{Side: "reply", CutShort: true}
	replies := results.Target{Verdict: results.VerdictNotTried}
	replies.Evidence.Limit = &results.LimitEvidence{Side: "reply"}
	limited := results.Target{Verdict: "deaf", RequestLimit: new(int64(999))}
	for _, row := range []struct {
		targets   []results.Target
		undecided bool
	}{
		{[]results.Target{cut}, true},
		{[]results.Target{{Size: 1 << 10, Verdict: "ok"}, replies}, true},
		{[]results.Target{limited, replies}, false},
	} {
		err := drive.Undecided(&results.Set{Targets: row.targets})
		if (err != nil) != row.undecided {
			t.Errorf("%+v: %v", row.targets, err)
		}
	}
}

// A search that did not come as far as the size that failed does not clear that size.
func TestOnlyASearchBeyondAFailureSaysThatItIsNotOverASize(t *testing.T) {
	for searched, fails := range map[int64]bool{4 << 20: false, 16 << 20: true} {
		set := &results.Set{Targets: []results.Target{
			{Size: 8 << 20, Verdict: "ok"},
			{Size: 16 << 20, Verdict: "exit 0"},
			{Verdict: "ok", SearchedTo: &searched},
		}}
		if err := drive.Failed(set); (err != nil) != fails {
			t.Errorf("searched to %d: %v", searched, err)
		}
	}
}

// An error has the words of the screen, not the names of the results file.
func TestAFailureIsSaidInWords(t *testing.T) {
	ended := results.Target{Verdict: "deaf"}
	ended.Evidence.Replay = &results.ReplayEvidence{FailedAtMessage: 8}
	counts := results.Target{Verdict: "deaf", Size: 1 << 10}
	counts.Evidence.Failure = &results.FailureEvidence{AnySize: true, ServedBefore: 3,
		SmallBytes: 140}
	const words = "the server answers 3 requests of 140 B or of 1,024 B, then fails: no reply, " +
		"process alive"
	for want, failed := range map[string]results.Target{
		"the replay ended at message 8 to the server: no reply, process alive": ended,
		words: counts,
	} {
		err := drive.Failed(&results.Set{Targets: []results.Target{failed}})
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
