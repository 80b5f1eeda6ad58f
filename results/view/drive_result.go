package view

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A DriveResult sums up what the drive command found out about a server.
type DriveResult struct {
	Passed bool `json:"passed"`

	// Limit is the size in bytes of the largest message that works, as request and as reply.
	// Failure is the verdict on messages that do not work.
	Limit   int64  `json:"limit,omitempty"`
	Failure string `json:"failure,omitempty"`

	text string // the result in one line
	tone Tone
}

// resultOf sums up what the drive command found. A server may pass although it answers large
// messages with an error.
func resultOf(targets []results.Target) DriveResult {
	growth := "" // a text if the times grow faster than the sizes
	for _, t := range targets {
		if t.Evidence.Replay != nil {
			return replayResult(t)
		}
		if t.Verdict == results.VerdictSuperlinear {
			growth = ", " + t.Verdict
		}
	}
	reach := results.ReachOf(targets)
	limited := reach.Limited()
	failed := reach.Failed
	known, text := reachText(reach)
	r := DriveResult{Limit: reach.Served}
	switch {
	case failed != nil && failed.FailsOnCharacters():
		if limited != nil {
			known = *limited.Limit()
			text = breakingText(*limited) + FailureText(*limited)
		}
		text = fmt.Sprintf("fails on characters other than ASCII letters and digits, in a "+
			"message of %s: %s; without them: %s",
			results.FormatSize(failed.Size), FailureText(*failed), text)
		return DriveResult{Limit: known, Failure: failed.Verdict, text: text, tone: Bad}
	case limited == nil && (len(reach.NotTried) > 0 || failed == nil && reach.CutShort != nil):
		text = "INCOMPLETE: " + text
		return DriveResult{
			Limit: known, Failure: results.VerdictNotTried, text: text, tone: Mixed,
		}
	case reach.FailsAtAnySize():
		r.Failure = failed.Verdict
		r.tone = Bad
		r.text = AnySizeText(*failed)
	case limited != nil:
		r.Limit = *limited.Limit()
		r.judge(limited, breakingText(*limited), growth)
	case failed != nil:
		r.judge(failed, failingText(*failed, reach.Served), growth)
	case reach.Stopped != nil:
		return DriveResult{
			Limit: known, Failure: string(results.CannotTell), text: text + growth, tone: Mixed,
		}
	case reach.Served > 0 && results.RepliesUntried(targets):
		r.Passed = true
		r.tone = Mixed
		r.text = untriedText(targets, results.FormatSize(reach.Served)) + growth
	default:
		r.judge(&results.Target{}, "", growth) // no size failed
		if targets[0].Evidence.Load != nil {
			r.text = "works under a load of requests of " + results.FormatSize(r.Limit) +
				", the largest sent"
		}
	}
	return r
}

// untriedText says up to which size a server works if no large reply was checked.
func untriedText(targets []results.Target, size string) string {
	for _, t := range targets {
		if t.Evidence.Server != nil && t.Evidence.Server.Uncompared {
			return "requests work to " + size + "; answers were not compared"
		}
	}
	if targets[0].Evidence.Load != nil {
		return "works under a load of requests of " + size + " that call no tool (see " +
			"check --server)"
	}
	return "requests that call no tool work to " + size + " (--tool NAME calls one)"
}

// reachText returns the largest size that works, and says how far requests and replies were tried.
func reachText(r results.Reach) (limit int64, text string) {
	requests := "requests work to " + results.FormatSize(r.Served)
	switch {
	case len(r.NotTried) > 0 && r.Served == 0:
		return 0, notTriedText(r)
	case r.CutShort != nil && r.CutShort.Evidence.Limit.Side == "request":
		return r.Served, requests + "; larger ones were not tried"
	case r.CutShort != nil:
		tried := *r.CutShort.SearchedTo
		return min(r.Served, tried), requests + "; replies were tried only to " +
			stat.FormatBytes(tried)
	case r.Stopped != nil:
		tried := *r.Stopped.SearchedTo
		return min(r.Served, tried), requests + "; replies stop at " + stat.FormatBytes(tried) +
			", though asked for more"
	case len(r.NotTried) > 0:
		return r.Served, requests + "; " + notTriedText(r)
	}
	return r.Served, "works to " + results.FormatSize(r.Served)
}

// notTriedText lists what was not tried.
func notTriedText(r results.Reach) string {
	var list []string
	for _, t := range r.NotTried {
		what := "large replies"
		if t.Size > 0 {
			what = results.FormatSize(t.Size)
		}
		list = append(list, what)
	}
	return strings.Join(list, ", ") + " were not tried"
}

// AnySizeText says how a server failed over no size, and after which requests. Their number is to
// blame only if as many small ones fail, too; else their number or their bytes.
func AnySizeText(t results.Target) string {
	text := "fails at times"
	f := t.Evidence.Failure
	if f != nil && f.ServedBefore > 0 {
		if f.AnySize {
			sizes := stat.FormatBytes(t.Size)
			if 0 < f.SmallBytes && f.SmallBytes < t.Size {
				sizes = stat.FormatBytes(f.SmallBytes) + " or of " + sizes
			}
			return fmt.Sprintf("answers %s of %s, then fails: %s",
				results.FormatCount(int(f.ServedBefore), "request"), sizes, FailureText(t))
		}
		text = "fails after " + results.FormatCount(int(f.ServedBefore), "answered request")
		if f.SentBefore > 0 {
			text += " or " + stat.FormatBytes(f.SentBefore) + " in all"
		}
	}
	return text + ", and not over a size: " + FailureText(t)
}

// judge decides whether the server passed, and puts the result into words. The record failure shows
// how messages above r.Limit fail, sizeText says at which size, and growthText how times grow.
func (r *DriveResult) judge(failure *results.Target, sizeText, growthText string) {
	r.Failure = failure.Verdict
	r.Passed = r.Limit > 0 && (r.Failure == "" || r.Failure == results.VerdictErrorReply)
	r.tone = Good
	switch {
	case r.Passed && r.Failure != "":
		r.text = "works to " + stat.FormatBytes(r.Limit) + ", then " + FailureText(*failure) +
			growthText
	case r.Passed:
		r.text = "works to " + results.FormatSize(r.Limit) + growthText + ", one at a time"
	case r.Failure == results.VerdictIgnored:
		r.tone = Bad
		r.text = "FAIL: " + FailureText(*failure) + ", and drive measures by such a method: " +
			"drive --messages FILE sends others"
	case r.Limit == 0:
		r.tone = Bad
		r.text = "FAIL at every size tried: " + FailureText(*failure)
		if e := failure.Evidence.Limit; e != nil && len(e.Uneven) > 0 {
			r.text = "fails at small sizes, and works at " +
				stat.FormatBytes(int64(e.Uneven[0])) + ": " + FailureText(*failure)
		}
		if r.Failure == results.VerdictErrorReply {
			r.text += ": " + Escape(failure.Evidence.Why)
		}
	default:
		r.tone = Bad
		r.text = sizeText + FailureText(*failure)
	}
}

// breakingText says at which size a server breaks. This is usually one byte above its limit.
func breakingText(t results.Target) string {
	limit := *t.Limit()
	at := stat.FormatBytes(limit + 1)
	of := "" // the sizes in the table are those of requests
	if t.RequestLimit == nil {
		of = t.LimitOf() + " of "
	}
	e := t.Evidence.Limit
	switch {
	case e != nil && e.Flaky:
		return "breaks near " + of + at + ", but not every time: "
	case e != nil && e.CutShort && e.Call == "":
		return betweenText(limit+1, int64(e.FailedAt)) + ": "
	case e != nil && e.Call != "":
		return "breaks above " + of + stat.FormatBytes(limit) + ": "
	}
	return "breaks at " + of + at + ": "
}

func betweenText(from, to int64) string {
	return "breaks between " + results.FormatGrouped(from) + " and " + stat.FormatBytes(to)
}

// failingText says at which message size a server failed, if its exact limit is not known. served
// is the largest size that worked.
func failingText(t results.Target, served int64) string {
	if t.Evidence.Load != nil { // the load may be the cause, not the size
		return "FAIL under a load of requests of " + results.FormatSize(t.Size) + ": "
	}
	text := "fails at " + stat.FormatBytes(t.Size)
	if served < t.Size {
		text = betweenText(served+1, t.Size)
	}
	if f := t.Evidence.Failure; f != nil && f.ServedBefore > 0 {
		text += ", after " + results.FormatCount(int(f.ServedBefore), "answered request")
	}
	return text + ": "
}

// replayResult sums up the replay of a whole recording to a server.
func replayResult(t results.Target) DriveResult {
	replayed := results.FormatCount(t.Evidence.Replay.Replayed, "message") + " replayed"
	if n := t.Evidence.Replay.NotJSON; n > 0 {
		replayed = fmt.Sprintf("recorded message %d is not JSON; %s", n, replayed)
	}
	if atEnd := t.Evidence.Replay.AtEnd; atEnd != "" {
		replayed += "; at the end of its input: " + atEnd
	}
	switch {
	case t.Served():
		return DriveResult{Passed: true, text: "PASS: " + replayed, tone: Good}
	case t.Verdict == string(results.CannotTell):
		text := "INCOMPLETE: " + replayed + "; " + FailureText(t)
		return DriveResult{Failure: t.Verdict, text: text, tone: Mixed}
	}
	text := "FAIL: " + replayed + "; " + FailureText(t)
	return DriveResult{Failure: t.Verdict, text: text, tone: Bad}
}
