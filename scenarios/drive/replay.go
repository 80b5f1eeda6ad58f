package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// The deadline for an answer is at least patienceFactor times as long as the answer took in the
// recording.
const patienceFactor = 3

// Replay sends the client's messages in a recording again, in their order, and gives sink one
// record. If the recording has only the size of a message, Replay makes up one of that size.
//
// Replay compares the members, types, lengths and error codes of each answer with the recorded one.
// It does not compare ids, the words of texts, other numbers, or members whose name is in ignore.
func (d *Driver) Replay(
	ctx context.Context, recording []payload.Message, sink Sink, ignore ...string,
) error {
	requests, owed, number := split(recording)
	if len(requests) == 0 {
		text := "replay: no request in the recording that could be sent again: drive opens the " +
			"session itself (initialize), and that worked; to try more, run " +
			d.options.commandLine(0)
		if d.hasBareHeaders() {
			text += "; " + bareHeaders
		}
		return errors.New(text)
	}
	if err := d.refuseProse(requests); err != nil {
		return err
	}
	s, err := d.live(ctx)
	if err != nil {
		return err
	}
	d.unopened = false // if there are documents, the recording opens them
	r := &replay{
		Driver: d, ignore: ignore, t: d.record(), evidence: &results.ReplayEvidence{},
	}
	r.t.Evidence.Replay = r.evidence
	r.t.Evidence.Server.Request = fmt.Sprintf("%d of %d recorded messages to the server: drive "+
		"starts, answers and ends by itself", len(requests), number)
	before := s.Account()
	began := time.Now()
	served := true
	for i := 0; served && i < len(requests); i++ {
		lasted := time.Since(began)
		r.evidence.Replayed++
		if r.evidence.NotJSON == 0 && d.isProse(&requests[i]) {
			r.evidence.NotJSON = requests[i].number
		}
		served, err = r.send(ctx, &requests[i], i == len(requests)-1)
		if err != nil {
			return err
		}
		if !served {
			r.explain(ctx, requests[:i+1], lasted)
		}
	}
	if served {
		r.judgeAnswers(requests)
	}
	r.warnOfDifferences()
	r.evidence.Answered = len(r.times)
	if served && len(r.times) > 0 {
		sample, err := timed(s.Sample(before), r.times, r.bytes)
		if err != nil {
			return err
		}
		r.t.Samples = append(r.t.Samples, sample)
	}
	if served {
		for _, method := range slices.Compact(slices.Sorted(maps.Values(owed))) {
			if _, asked := s.Asked.Load(method); asked {
				warn(&r.t, "drive answered %s, which the recorded client did not", method)
			}
		}
		r.evidence.AtEnd = r.endInput()
	}
	r.warnOfSideEffects(&r.t)
	if served {
		r.discard()
	}
	return sink(r.t)
}

// refuseProse returns an error if the server expects JSON and a message is none. A recorded client
// may have written such a message; in a file of messages, it is a mistake.
func (d *Driver) refuseProse(requests []recorded) error {
	for _, m := range requests {
		if m.Dir == "" && d.isProse(&m) {
			return OptionError(fmt.Sprintf("message %d is no JSON, which a server of %s expects: "+
				"give a recording of pipebench tap, or a file with a JSON-RPC message per line",
				m.number, d.protocol.Speaks()))
		}
	}
	return nil
}

// isProse reports whether the server expects JSON and the body of m is none.
func (d *Driver) isProse(m *recorded) bool {
	return d.protocol.JSONRPC && m.Body != nil && !json.Valid(m.Body)
}

// endInput ends the server's input, says whether the server leaves then, and reads what it writes.
func (r *replay) endInput() string {
	s := r.server
	s.CloseInput()
	if s.Ended(target.LeaveAtEnd) {
		child.Within(s.Closed(), target.LeaveAtTerm)
		return string(s.ExitVerdict())
	}
	warn(&r.t, "it stays after the end of its input; next: pipebench check --server --only "+
		"end-idle -- %s", strings.Join(r.options.Command, " "))
	return "still there after " + results.FormatDuration(float64(target.LeaveAtEnd))
}

// A replay is a recording that is being sent again, with the results so far.
type replay struct {
	*Driver
	ignore []string // names of the members of answers that are left out

	t        results.Target          // the record
	evidence *results.ReplayEvidence // of that record
	times    []int64                 // how long each answer took, in ns
	bytes    int64                   // the bytes of all messages that were sent
	altered  bool                    // a redacted request was sent instead of the original
	madeUp   int                     // messages that we made up, since the recording has no body
	slowest  recorded                // the message whose answer took longest in the recording
	now      time.Duration           // how long the answer to slowest took in this replay
	lead     [][]byte                // messages without an answer, to send with the next request
	brief    bool                    // do not wait long for an answer
	// smallFailed is set if what failed is the small request after the last message.
	smallFailed bool
}

// judgeAnswers sets the verdict if all is well so far: Differs if a request was answered more than
// once that was answered once in the recording, CannotTell if an answer could not be compared.
func (r *replay) judgeAnswers(requests []recorded) {
	if r.t.Verdict != string(target.OK) {
		return
	}
	e := r.evidence
	_, ids := r.server.Strays.Unasked()
	for _, m := range requests {
		answeredOnce := m.Body != nil && len(m.answers) == 1 // in the recording
		if answeredOnce && slices.Contains(ids, string(jsonrpc.Scan(m.Body).ID)) {
			setVerdict(&r.t, target.Differs)
			r.t.Evidence.Why = m.String() + ": it was answered more than once, and in the " +
				"recording once"
			return
		}
	}
	if e.Undecided > 0 {
		setVerdict(&r.t, target.CannotTell)
		r.t.Evidence.Why = fmt.Sprintf("%d of %d answers cannot be compared: the recording is "+
			"redacted", e.Undecided, e.Compared)
	}
}

// warnOfDifferences warns of differences that may be why the replay works although the recorded
// session failed.
func (r *replay) warnOfDifferences() {
	if r.slowest.took >= max(time.Second, 3*r.now) {
		then := results.FormatDuration(float64(r.slowest.took))
		now := results.FormatDuration(float64(r.now))
		warn(&r.t, "%s took %s in the recording, and %s now", &r.slowest, then, now)
	}
	if r.madeUp > 0 {
		warn(&r.t, "the recording has no bodies: made-up text of the same length was sent (%d of "+
			"%s); record with pipebench tap --bodies to send what was sent", r.madeUp,
			results.FormatCount(r.evidence.Replayed, "message"))
	}
}

// send sends a message again, compares the answer, and reports whether the message was served.
// After the last message, the server must also be able to go on.
func (r *replay) send(ctx context.Context, m *recorded, last bool) (served bool, err error) {
	request, was := r.requestAgain(m)
	request.Least = patienceFactor * m.took
	request.AtEnd = true
	request.Brief = r.brief
	differs := ""
	if was != nil {
		request.Heard = func(answer []byte) { differs = r.difference(was, answer) }
	}
	out, err := r.deliver(ctx, request, m, last)
	if err != nil {
		return false, err
	}
	e := r.evidence
	if out.Verdict != target.OK {
		r.setFailure(&r.t, out, 0)
		e.FailedAtMessage = m.number
		return false, nil
	}
	r.bytes += int64(m.Size)
	e.LargestBytes = max(e.LargestBytes, m.Size)
	if out.Took > 0 {
		r.times = append(r.times, int64(out.Took))
	}
	if m.Body == nil {
		r.madeUp++
	}
	if m.took > r.slowest.took {
		r.slowest = *m
		r.now = out.Took
	}
	r.altered = r.altered || m.Redacted
	if was == nil {
		return true, nil
	}
	e.Compared++
	if differs != "" && !r.altered {
		e.Different++
		if e.Different == 1 {
			setVerdict(&r.t, target.Differs)
			r.t.Evidence.Why = fmt.Sprintf("%s: %s", m, differs)
		}
	} else if differs != "" || was.Redacted {
		e.Undecided++
	}
	return true, nil
}

// deliver sends the request that m has become, and waits for its answer. If m.silent is set, the
// request is held back and sent with the next one, unless it is the last.
func (r *replay) deliver(
	ctx context.Context, request *target.Request, m *recorded, last bool,
) (target.Outcome, error) {
	out := target.Outcome{Verdict: target.OK}
	s, err := r.live(ctx)
	if err != nil {
		return out, err
	}
	if m.silent {
		r.lead = append(r.lead, request.Number(0))
		if last { // an error is ignored: if it fails, so does checkAlive
			_ = s.SendWithin(ctx, s.LimitOf(request.Kind, request.Size()), r.lead...)
		}
	} else {
		request.Lead = r.lead
		r.lead = nil
		out, err = r.trip(ctx, request, int64(m.number))
	}
	if err != nil || out.Verdict != target.OK || !last {
		return out, err
	}
	if r.protocol.Silent {
		warn(&r.t, "the server ignores methods that it does not know: whether it still lives "+
			"after the last message cannot be told")
		return out, nil
	}
	err = r.checkAlive(ctx, &out)
	r.smallFailed = out.Verdict != target.OK
	return out, err
}

// requestAgain makes the request that sends a recorded message again, and sets m.silent. The second
// result is the recorded answer, or nil if there is none.
func (r *replay) requestAgain(m *recorded) (*target.Request, *payload.Message) {
	if m.Body == nil && m.Method != "" && len(m.ID) == 0 {
		m.silent = true
		return target.Unanswerable(m.Size), nil
	}
	if m.Body == nil {
		return r.protocol.Request(target.Tool, m.Size), nil
	}
	e := jsonrpc.Scan(m.Body)
	if e.Kind() != jsonrpc.Request {
		m.silent = r.protocol.JSONRPC
		return target.Again(m.Body, nil), nil
	}
	request := target.Again(m.Body, e.ID)
	if len(m.answers) == 0 || m.answers[0].Body == nil {
		return request, nil
	}
	return request, m.answers[0]
}
