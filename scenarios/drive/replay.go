package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// handshakeMethods open or end a session.
var handshakeMethods = []string{
	"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit",
}

// takeApart splits a recording. requests are the client's messages without its answers and without
// the handshake, which the driver makes itself. replies are the server's answers by id, in the
// order in which they came.
func takeApart(
	recording []payload.Message,
) (requests []payload.Message, replies map[string][]payload.Message) {
	replies = map[string][]payload.Message{}
	for _, m := range recording {
		method, answers := m.Method, m.Method == "" && len(m.ID) > 0
		if m.Body != nil {
			e := jsonrpc.Scan(m.Body)
			method, answers = string(e.Method), e.Kind().Answers()
			if answers && m.Dir != "request" {
				replies[string(e.ID)] = append(replies[string(e.ID)], m)
			}
		}
		if m.Dir != "reply" && !answers && !slices.Contains(handshakeMethods, method) {
			requests = append(requests, m)
		}
	}
	return requests, replies
}

// Replay sends the client's messages of a recording again, in order, each request after the answer
// to the one before, and keeps one record. If the recording has only the size of a message, Replay
// makes one of exactly that size. It compares each answer with the recorded one: their members,
// types, lengths and errors, but not ids, the words of texts, numbers, and members whose name is in
// ignore. An answer counts as undecided if the recorded one is redacted, or if it differs after a
// redacted request.
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
	r := &replay{
		Driver: d, replies: replies, ignore: ignore, t: d.record(),
		evidence: &results.ReplayEvidence{Replayed: len(requests)},
	}
	r.t.Evidence.Replay = r.evidence
	before := s.Account()
	served := true
	for i := 0; served && i < len(requests); i++ {
		served, err = r.send(ctx, i, requests[i], i == len(requests)-1)
		if err != nil {
			return err
		}
	}
	r.judge()
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
	altered  bool // a request that was sent is redacted, so not the original
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

// send sends the i-th message again, compares the answer, and reports whether it was served.
func (r *replay) send(ctx context.Context, i int, m payload.Message, last bool) (bool, error) {
	request, was := r.recorded(m)
	differs := ""
	if was != nil {
		request.Heard = func(answer []byte) { differs = r.difference(was, answer) }
	}
	out := target.Outcome{Verdict: target.OK}
	s, err := r.live(ctx)
	if err == nil && request.Silent {
		// if the server does not take it, the next request fails
		_ = s.SendWithin(ctx, s.LimitOf(request.Kind, request.Size()), request.Number(0))
	} else if err == nil {
		out, err = r.trip(ctx, request, int64(i+1))
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
		e.FailedAtMessage = i + 1
		return false, nil
	}
	r.bytes += int64(m.Size)
	e.LargestBytes = max(e.LargestBytes, m.Size)
	if out.Took > 0 {
		r.times = append(r.times, int64(out.Took))
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
			r.t.Evidence.Why = fmt.Sprintf("message %d: %s", i+1, differs)
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
