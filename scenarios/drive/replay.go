package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// handshakeMethods open or end a session.
var handshakeMethods = []string{
	"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit",
}

// takeApart returns the messages of a recording that the client said, without the handshake, which
// the driver makes itself, and what the server answered, by id, in the order of the answers.
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

// Replay sends what the client of a recording said, in order, each request after the answer to the
// one before, and keeps one record. A message of which the recording has the size alone is made of
// exactly that size. Answers that the recording has are compared with those that come: their
// members, types, lengths and errors, but not ids, what texts of one length say, numbers, and
// members of the names in ignore. Of an answer that was redacted, and of one that differs after a
// request that was, it cannot be told whether it is the right one.
func (d *Driver) Replay(
	ctx context.Context,
	recording []payload.Message,
	sink Sink,
	ignore ...string,
) error {
	requests, replies := takeApart(recording)
	if len(requests) == 0 {
		return errors.New("replay: no request in the recording that could be sent again")
	}
	t, err := d.replay(ctx, requests, replies, ignore)
	if err != nil {
		return err
	}
	return sink(t)
}

// A replay is the sending again of a recording, and what came of it.
type replay struct {
	*Driver
	replies map[string][]payload.Message // that are not compared yet, by id
	ignore  []string                     // members of answers that are not compared

	t        results.Target
	evidence *results.ReplayEvidence
	times    []int64 // of the requests that were answered, in ns
	bytes    int64
	altered  bool // a request that was sent is not as it was
}

// replay sends the messages again, and makes the record.
func (d *Driver) replay(
	ctx context.Context,
	requests []payload.Message,
	replies map[string][]payload.Message,
	ignore []string,
) (results.Target, error) {
	r := &replay{
		Driver: d, replies: replies, ignore: ignore, t: d.record(),
		evidence: &results.ReplayEvidence{Replayed: len(requests)},
	}
	r.t.Evidence.Replay = r.evidence
	s, err := d.live(ctx)
	if err != nil {
		return r.t, err
	}
	before := s.Account()
	for i, m := range requests {
		served, err := r.send(ctx, i, m, i == len(requests)-1)
		if err != nil {
			return r.t, err
		}
		if !served {
			break
		}
	}
	e := r.evidence
	if r.t.Verdict == string(target.OK) && e.Undecided > 0 {
		setVerdict(&r.t, target.CannotTell)
		r.t.Evidence.Why = fmt.Sprintf(
			"%d of %d answers cannot be compared: the recording is redacted",
			e.Undecided, e.Compared)
	}
	e.Answered = len(r.times)
	if e.Answered == 0 || e.FailedAtMessage > 0 {
		return r.t, nil
	}
	sample, err := timed(s.Sample(before), r.times, r.bytes)
	r.t.Samples = append(r.t.Samples, sample)
	return r.t, err
}

// send sends the i-th message again, compares the answer, and reports whether it was served.
func (r *replay) send(ctx context.Context, i int, m payload.Message, last bool) (bool, error) {
	request, was := r.recorded(m)
	differs := ""
	if was != nil {
		request.Heard = func(answer []byte) { differs = r.difference(was, answer) }
	}
	out := target.Outcome{Verdict: target.OK}
	var err error
	if request.Silent {
		err = r.notify(ctx, request)
	} else {
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
		setFailure(&r.t, out)
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

// notify sends a message that nobody answers. One that is not taken is met by the next request.
func (r *replay) notify(ctx context.Context, request *target.Request) error {
	s, err := r.live(ctx)
	if err == nil {
		_ = s.SendWithin(ctx, s.LimitOf(request.Kind, request.Size()), request.Number(0))
	}
	return err
}

// recorded makes the request that sends a recorded message again, and returns the answer that it
// got, which it takes out of replies; nil if none is known.
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

// difference says where an answer is not as it was recorded; "" if it is.
func (r *replay) difference(recorded *payload.Message, answer []byte) string {
	var was, is map[string]any
	err := errors.Join(json.Unmarshal(recorded.Body, &was), json.Unmarshal(answer, &is))
	if err != nil {
		return err.Error()
	}
	delete(was, "id")
	delete(is, "id")
	c := comparison{ignore: r.ignore, redacted: recorded.Redacted}
	return c.differs("answer", was, is)
}

// A comparison is how two answers are compared.
type comparison struct {
	ignore   []string // members that are not compared
	redacted bool     // values were overwritten: types and members are left to compare
}

// differs compares two decoded values: types, members, and lengths. Of what they say only the code
// of an error is compared.
func (c comparison) differs(path string, was, is any) string {
	if reflect.TypeOf(was) != reflect.TypeOf(is) {
		return fmt.Sprintf("%s is of another type", path)
	}
	switch was := was.(type) {
	case map[string]any:
		is := is.(map[string]any)
		names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			then, had := was[name]
			now, has := is[name]
			switch {
			case slices.Contains(c.ignore, name):
			case !had:
				return fmt.Sprintf("%s.%s was not there", path, name)
			case !has:
				return fmt.Sprintf("%s.%s is missing", path, name)
			default:
				if d := c.differs(path+"."+name, then, now); d != "" {
					return d
				}
			}
		}
	case []any:
		is := is.([]any)
		if len(was) != len(is) {
			return fmt.Sprintf("%s has %d elements, not %d", path, len(is), len(was))
		}
		for i := range was {
			if d := c.differs(fmt.Sprintf("%s[%d]", path, i), was[i], is[i]); d != "" {
				return d
			}
		}
	case string:
		if n := len(is.(string)); n != len(was) && !c.redacted {
			return fmt.Sprintf("%s has %d bytes, not %d", path, n, len(was))
		}
	case float64:
		if path == "answer.error.code" && was != is && !c.redacted {
			return fmt.Sprintf("%s is %v, not %v", path, is, was)
		}
	}
	return ""
}
