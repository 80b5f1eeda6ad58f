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
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// handshakeMethods open or end a session.
var handshakeMethods = []string{
	"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit",
}

// A recorded is a message of the client in a recording.
type recorded struct {
	payload.Message
	number int           // in the recording, from 1
	took   time.Duration // until its answer in the recording; 0 if that is unknown
	name   string        // its method and id
	silent bool          // nobody answers it; known when it is sent
}

// String names the message as its recording does.
func (m *recorded) String() string { return fmt.Sprintf("message %d, %s", m.number, m.what()) }

// what names the message by its method, id and size.
func (m *recorded) what() string {
	name := m.name
	if name == "" {
		name = "a message"
	}
	return name + " of " + stat.FormatBytes(int64(m.Size))
}

// takeApart splits a recording. requests are the client's messages without its answers and without
// the handshake, which the driver makes itself. replies are the server's answers by id, in the
// order in which they came.
func takeApart(
	recording []payload.Message,
) (requests []recorded, replies map[string][]payload.Message) {
	replies = map[string][]payload.Message{}
	open := map[string]int{} // places in requests, by id
	for i, m := range recording {
		method, id := m.Method, string(m.ID)
		answers := method == "" && id != ""
		if m.Body != nil {
			e := jsonrpc.Scan(m.Body)
			method, id, answers = string(e.Method), string(e.ID), e.Kind().Answers()
			if answers && m.Dir != "request" {
				replies[id] = append(replies[id], m)
			}
		}
		at, asked := open[id]
		if answers && asked && m.Dir != "request" {
			requests[at].took = m.At - requests[at].At
			delete(open, id)
		}
		if m.Dir == "reply" || answers || slices.Contains(handshakeMethods, method) {
			continue
		}
		if id != "" {
			open[id] = len(requests)
		}
		name := strings.TrimSpace(method + " " + id)
		requests = append(requests, recorded{Message: m, number: i + 1, name: name})
	}
	return requests, replies
}

// patienceFactor is how many times as long as the recorded server a replay waits at least for an
// answer.
const patienceFactor = 3

// Replay sends the client's messages of a recording again, in order, each request after the answer
// to the one before, and keeps one record. A message that nobody answers is sent in one write with
// the next request. An answer may take three times as long as in the recording, at least.
//
// If the recording has only the size of a message, Replay makes one of exactly that size. It
// compares each answer with the recorded one: their members, types, lengths and errors, but not
// ids, the words of texts, numbers, and members whose name is in ignore. An answer counts as
// undecided if the recorded one is redacted, or if it differs after a redacted request.
func (d *Driver) Replay(
	ctx context.Context, recording []payload.Message, sink Sink, ignore ...string,
) error {
	requests, replies := takeApart(recording)
	if len(requests) == 0 {
		return errors.New("replay: no request in the recording that could be sent again")
	}
	s, err := d.live(ctx)
	if err != nil {
		return err
	}
	d.unopened = false // whatever the client of the recording opened
	r := &replay{
		Driver: d, replies: replies, ignore: ignore, t: d.record(),
		evidence: &results.ReplayEvidence{Replayed: len(requests)},
	}
	r.t.Evidence.Replay = r.evidence
	r.t.Evidence.Server.Request = "the messages of a recording"
	before := s.Account()
	began := time.Now()
	served := true
	for i := 0; served && i < len(requests); i++ {
		served, err = r.send(ctx, &requests[i], i == len(requests)-1)
		if err != nil {
			return err
		}
		if !served {
			r.explain(ctx, requests[:i+1], time.Since(began) < mostSmallTime)
		}
	}
	r.judge()
	r.warnOfDifferences()
	r.evidence.Answered = len(r.times)
	if served && len(r.times) > 0 {
		sample, err := timed(s.Sample(before), r.times, r.bytes)
		if err != nil {
			return err
		}
		r.t.Samples = append(r.t.Samples, sample)
	}
	return sink(r.t)
}

// A replay is a recording that is being sent again, and the results so far.
type replay struct {
	*Driver
	replies map[string][]payload.Message // that are not compared yet, by id
	ignore  []string                     // members of answers that are not compared

	t        results.Target
	evidence *results.ReplayEvidence
	times    []int64 // of the requests that were answered, in ns
	bytes    int64
	altered  bool          // a request that was sent is redacted, so not the original
	madeUp   int           // messages that were sent with text of ours, for want of a body
	slowest  recorded      // the one that took longest in the recording
	now      time.Duration // how long slowest took
	lead     [][]byte      // messages that nobody answers, to be sent with the next request
}

// judge sets the verdict CannotTell if nothing is wrong, but some answers could not be compared.
func (r *replay) judge() {
	e := r.evidence
	if r.t.Verdict != string(target.OK) || e.Undecided == 0 {
		return
	}
	setVerdict(&r.t, target.CannotTell)
	r.t.Evidence.Why = fmt.Sprintf("%d of %d answers cannot be compared: the recording is redacted",
		e.Undecided, e.Compared)
}

// warnOfDifferences warns of what may keep a replay from failing as the recorded session did.
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

// explain names the last of requests, which failed. If a larger message that nobody answers was
// sent right before it, explain says so and, if there is time, whether the request is answered
// without it.
func (r *replay) explain(ctx context.Context, requests []recorded, again bool) {
	last := len(requests) - 1
	failed := &requests[last]
	why := &r.t.Evidence.Why
	*why = failed.what() + ": " + *why
	before := last
	for i := last - 1; i >= 0 && requests[i].silent; i-- {
		if requests[i].Size > requests[before].Size {
			before = i
		}
	}
	if before == last || failed.silent {
		return
	}
	large := requests[before]
	*why += fmt.Sprintf("; right after %s, which expects no answer", large.String())
	if !again || !r.answeredWithout(ctx, requests, before) {
		return
	}
	*why += fmt.Sprintf("; without message %d it is answered", large.number)
	r.t.Evidence.Advice = "the large message made the server lose what came behind it: look at " +
		"how input is put together, and at limits of its buffer"
}

// answeredWithout sends the requests to another process, without one of them, and reports whether
// the last of them is answered.
func (r *replay) answeredWithout(ctx context.Context, requests []recorded, without int) bool {
	r.observe("trying again without a large message")
	again := &replay{Driver: r.Driver, t: r.record(), evidence: &results.ReplayEvidence{}}
	for i := range requests {
		if i == without {
			continue
		}
		served, err := again.send(ctx, &requests[i], false)
		if err != nil || !served {
			return false
		}
	}
	return true
}

// send sends a message again, compares the answer, and reports whether it was served.
func (r *replay) send(ctx context.Context, m *recorded, last bool) (bool, error) {
	request, was := r.recorded(m.Message)
	request.Least = patienceFactor * m.took
	m.silent = request.Silent
	differs := ""
	if was != nil {
		request.Heard = func(answer []byte) { differs = r.difference(was, answer) }
	}
	out := target.Outcome{Verdict: target.OK}
	s, err := r.live(ctx)
	switch {
	case err != nil:
	case !request.Silent:
		request.Lead = r.lead
		r.lead = nil
		out, err = r.trip(ctx, request, int64(m.number))
	case last:
		// if the server does not take it, the next request fails
		r.lead = append(r.lead, request.Number(0))
		_ = s.SendWithin(ctx, s.LimitOf(request.Kind, request.Size()), r.lead...)
	default:
		r.lead = append(r.lead, request.Number(0))
	}
	if err == nil && out.Verdict == target.OK && last {
		err = r.checkAlive(ctx, &out)
	}
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

// recorded makes the request that sends a recorded message again. It also returns the recorded
// answer, nil if there is none, and removes it from replies.
func (r *replay) recorded(m payload.Message) (*target.Request, *payload.Message) {
	if m.Body == nil && m.Method != "" && len(m.ID) == 0 {
		return target.Unanswerable(m.Size), nil
	}
	if m.Body == nil {
		return r.protocol.Request(target.Tool, m.Size), nil
	}
	e := jsonrpc.Scan(m.Body)
	if e.Kind() != jsonrpc.Request {
		request := target.Again(m.Body, nil)
		request.Silent = r.protocol.JSONRPC
		return request, nil
	}
	request := target.Again(m.Body, e.ID)
	known := r.replies[string(e.ID)]
	if len(known) == 0 {
		return request, nil
	}
	r.replies[string(e.ID)] = known[1:]
	return request, &known[0]
}

// difference says where an answer differs from the recorded one; "" if nowhere.
func (r *replay) difference(recorded *payload.Message, answer []byte) string {
	var was, is map[string]any
	err := errors.Join(json.Unmarshal(recorded.Body, &was), json.Unmarshal(answer, &is))
	if err != nil {
		return err.Error()
	}
	delete(was, "id")
	delete(is, "id")
	o := outline{ignore: r.ignore, redacted: recorded.Redacted}
	then := map[string]string{}
	now := map[string]string{}
	o.add(then, "answer", was)
	o.add(now, "answer", is)
	paths := slices.AppendSeq(slices.Collect(maps.Keys(then)), maps.Keys(now))
	slices.Sort(paths)
	for _, path := range paths {
		switch {
		case then[path] == "":
			return path + " was not there"
		case now[path] == "":
			return path + " is missing"
		case then[path] != now[path]:
			return fmt.Sprintf("%s is %s, not %s", path, now[path], then[path])
		}
	}
	return ""
}

// An outline lists what is compared of an answer: the types and lengths of its values, by their
// paths. The only value that is compared itself is the code of an error.
type outline struct {
	ignore   []string // members that are not compared
	redacted bool     // values were overwritten: types and members are left to compare
}

// add adds a decoded value and what is in it.
func (o outline) add(to map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		to[path] = "an object"
		for name, v := range value {
			if !slices.Contains(o.ignore, name) {
				o.add(to, path+"."+name, v)
			}
		}
	case []any:
		to[path] = fmt.Sprintf("a list of %d", len(value))
		for i, v := range value {
			o.add(to, fmt.Sprintf("%s[%d]", path, i), v)
		}
	case string:
		to[path] = "a text"
		if !o.redacted {
			to[path] = fmt.Sprintf("a text of %d bytes", len(value))
		}
	case float64:
		to[path] = "a number"
		if path == "answer.error.code" && !o.redacted {
			to[path] = fmt.Sprint(value)
		}
	case nil:
		to[path] = "null"
	default:
		to[path] = "true or false"
	}
}
