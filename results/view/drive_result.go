package view

import (
	"fmt"
	"slices"
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

// driveRecords are what the records of the drive command say together.
type driveRecords struct {
	served   int64           // the largest size that works
	failed   *results.Target // the first size that fails
	limited  *results.Target // the record of the smallest limit
	stopped  *results.Target // the search in which the tool made no larger replies
	cutShort *results.Target // the search that met no limit in its time
	growth   string          // a text if the times grow faster than the sizes
	notTried []string        // sizes for which there was no time
}

func (d *driveRecords) add(t *results.Target) {
	switch {
	case t.Verdict == results.VerdictNotTried:
		what := "large replies"
		if t.Size > 0 {
			what = results.FormatSize(t.Size)
		}
		d.notTried = append(d.notTried, what)
	case t.RequestLimit != nil || t.ReplyLimit != nil:
		if d.limited == nil || limitOf(*t) < limitOf(*d.limited) {
			d.limited = t
		}
	case t.RepliesStopped():
		d.stopped = t
	case t.SearchedTo != nil:
		e := t.Evidence.Limit
		if e != nil && e.CutShort {
			d.cutShort = t
		}
		if e == nil || !e.CutShort || e.Side == "request" {
			d.served = max(d.served, *t.SearchedTo)
		}
	case t.Size > 0 && t.Served():
		d.served = max(d.served, t.Size)
	case t.Size > 0 && d.failed == nil:
		d.failed = t
	case t.Verdict == results.VerdictSuperlinear:
		d.growth = ", " + t.Verdict
	}
}

// resultOf sums up what the drive command found. A server may pass although it answers large
// messages with an error.
func resultOf(targets []results.Target) DriveResult {
	var d driveRecords
	for i := range targets {
		if targets[i].Evidence.Replay != nil {
			return replayResult(targets[i])
		}
		d.add(&targets[i])
	}
	r := DriveResult{Limit: d.served}
	switch {
	case d.failed != nil && d.failed.FailsOnCharacters():
		r.Failure = d.failed.Verdict
		r.tone = Bad
		limit, ascii := d.reach()
		r.Limit = limit
		if d.limited != nil {
			r.Limit = limitOf(*d.limited)
			ascii = breakingText(*d.limited) + FailureText(*d.limited)
		}
		r.text = fmt.Sprintf("fails on characters of several bytes, in a message of %s: %s; "+
			"ASCII %s", results.FormatSize(d.failed.Size), FailureText(*d.failed), ascii)
	case len(d.notTried) > 0 && d.limited == nil:
		r.Failure = results.VerdictNotTried
		r.tone = Mixed
		r.text = "INCOMPLETE: " + strings.Join(d.notTried, ", ") + " were not tried"
		if d.served > 0 {
			r.text += "; requests work to " + results.FormatSize(d.served)
		}
	case d.failsAtAnySize():
		r.Failure = d.failed.Verdict
		r.tone = Bad
		r.text = "fails " + whenText(*d.failed) + ", of whatever size: " + FailureText(*d.failed)
	case d.limited != nil:
		r.Limit = limitOf(*d.limited)
		r.judge(d.limited, breakingText(*d.limited), d.growth)
	case d.failed != nil:
		r.judge(d.failed, failingText(*d.failed, d.served), d.growth)
	case d.cutShort != nil:
		r.Failure = results.VerdictNotTried
		r.tone = Mixed
		limit, text := d.reach()
		r.Limit = limit
		r.text = "INCOMPLETE: " + text
	case d.stopped != nil:
		r.Failure = string(results.CannotTell)
		r.tone = Mixed
		limit, text := d.reach()
		r.Limit = limit
		r.text = text + d.growth
	case d.served > 0 && results.RepliesUntried(targets):
		r.Passed = true
		r.tone = Mixed
		size := results.FormatSize(d.served)
		r.text = "requests that call no tool work to " + size + " (--tool NAME calls one)"
		if slices.ContainsFunc(targets, isUncompared) {
			r.text = "requests work to " + size + "; answers were not compared"
		}
		r.text += d.growth
	default:
		r.judge(&results.Target{}, "", d.growth) // no size failed
		if r.Passed && targets[0].Evidence.Load == nil {
			r.text += ", one at a time"
		}
	}
	return r
}

// reach returns the largest size that works, and says how far requests and replies were tried.
func (d *driveRecords) reach() (limit int64, text string) {
	requests := "requests work to " + results.FormatSize(d.served)
	switch {
	case d.cutShort != nil && d.cutShort.Evidence.Limit.Side == "request":
		return d.served, requests + "; larger ones were not tried"
	case d.cutShort != nil:
		tried := *d.cutShort.SearchedTo
		return min(d.served, tried), requests + "; replies were tried only to " +
			stat.FormatBytes(tried)
	case d.stopped != nil:
		tried := *d.stopped.SearchedTo
		return min(d.served, tried), requests + "; replies stop at " + stat.FormatBytes(tried) +
			", though asked for more"
	case len(d.notTried) > 0:
		return d.served, requests + "; " + strings.Join(d.notTried, ", ") + " were not tried"
	}
	return d.served, "works to " + results.FormatSize(d.served)
}

func isUncompared(t results.Target) bool {
	return t.Evidence.Server != nil && t.Evidence.Server.Uncompared
}

// failsAtAnySize reports whether a server failed after some requests, although all were small, or
// although the search for a limit found that their size works.
func (d *driveRecords) failsAtAnySize() bool {
	if d.failed == nil {
		return false
	}
	f := d.failed.Evidence.Failure
	wereSmall := f != nil && f.AnySize && f.ServedBefore > 0
	return wereSmall || d.limited == nil && d.served >= d.failed.Size
}

// whenText says after how many requests a server failed.
func whenText(t results.Target) string {
	f := t.Evidence.Failure
	if f == nil || f.ServedBefore == 0 {
		return "at times"
	}
	return "after " + results.FormatCount(int(f.ServedBefore), "request")
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
		r.text = "works to " + results.FormatSize(r.Limit) + growthText
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

// limitOf returns the size limit of requests or of replies, which the record must have.
func limitOf(t results.Target) int64 {
	if t.RequestLimit != nil {
		return *t.RequestLimit
	}
	return *t.ReplyLimit
}

// breakingText says at which size a server breaks. This is usually one byte above its limit.
func breakingText(t results.Target) string {
	limit := limitOf(t)
	at := stat.FormatBytes(limit + 1)
	of := "" // the sizes in the table are those of requests
	if t.RequestLimit == nil {
		of = "replies of "
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
	text := "fails at " + stat.FormatBytes(t.Size)
	if served < t.Size {
		text = betweenText(served+1, t.Size)
	}
	if f := t.Evidence.Failure; f != nil && f.ServedBefore > 0 {
		text += ", after " + results.FormatCount(int(f.ServedBefore), "request")
	}
	return text + ": "
}

// replayResult sums up the replay of a whole recording to a server.
func replayResult(t results.Target) DriveResult {
	replayed := results.FormatCount(t.Evidence.Replay.Replayed, "message") + " replayed"
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
