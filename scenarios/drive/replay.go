package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results"
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
	defer d.heed(ctx)()
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

// replay sends the messages again, and makes the record.
func (d *Driver) replay(
	ctx context.Context,
	requests []payload.Message,
	replies map[string][]payload.Message,
	ignore []string,
) (results.Target, error) {
	t := d.record()
	c, err := d.live(ctx)
	if err != nil {
		return t, err
	}
	before := c.account()
	replay := &results.ReplayEvidence{Replayed: len(requests)}
	t.Evidence.Replay = replay
	var times []int64 // of the requests that were answered, in ns
	var bytes int64
	altered := false // a request that was sent is not as it was
	for i, m := range requests {
		request, out := d.recorded(m, replies, ignore), fine
		if request.silent {
			c, err = d.live(ctx)
			if err == nil { // what is not taken is met by the next request
				_ = c.sendWithin(d.deadline(request.kind, len(request.msg)), request.msg)
			}
		} else {
			out, err = d.roundTrip(ctx, request, int64(i+1))
		}
		if err == nil && out.verdict == OK && i == len(requests)-1 {
			err = d.checkAlive(ctx, &out)
		}
		if err != nil {
			return t, err
		}
		if out.verdict != OK {
			setFailure(&t, out)
			replay.FailedAtMessage = i + 1
			break
		}
		bytes, replay.LargestBytes = bytes+int64(m.Size), max(replay.LargestBytes, m.Size)
		if out.took > 0 {
			times = append(times, int64(out.took))
		}
		altered = altered || m.Redacted
		if request.recorded == nil {
			continue
		}
		replay.Compared++
		switch {
		case out.differs != "" && !altered:
			replay.Different++
			if replay.Different == 1 {
				setVerdict(&t, Differs)
				t.Evidence.Why = fmt.Sprintf("message %d: %s", i+1, out.differs)
			}
		case out.differs != "" || request.redacted:
			replay.Undecided++
		}
	}
	if t.Verdict == string(OK) && replay.Undecided > 0 {
		setVerdict(&t, CannotTell)
		t.Evidence.Why = fmt.Sprintf(
			"%d of %d answers cannot be compared: the recording is redacted",
			replay.Undecided,
			replay.Compared,
		)
	}
	replay.Answered = len(times)
	if len(times) == 0 || replay.FailedAtMessage > 0 {
		return t, nil
	}
	sample, err := c.timed(before, times, bytes)
	t.Samples = append(t.Samples, sample)
	return t, err
}

// recorded makes the request that sends a recorded message again, with the answer that it got,
// which it takes out of replies.
func (d *Driver) recorded(
	m payload.Message,
	replies map[string][]payload.Message,
	ignore []string,
) *requestTemplate {
	e := jsonrpc.Scan(m.Body)
	switch {
	case m.Body == nil && m.Method != "" && len(m.ID) == 0:
		// A notification of exactly its size. Both protocols have those that are not known ignored.
		t := newTemplate(`{"jsonrpc":"2.0","method":"$/pipebench","params":{"pad":"`, `"}}`, m.Size)
		t.silent = true
		return t
	case m.Body == nil:
		return d.request(toolRequest, m.Size)
	}
	// Its id is its own, and an error may be what it deserves.
	t := &requestTemplate{msg: m.Body, id: -1, errs: true, mu: new(sync.Mutex), ignore: ignore}
	if e.Kind() == jsonrpc.Request {
		id := string(e.ID)
		t.wants = e.ID
		if known := replies[id]; len(known) > 0 {
			t.recorded, t.redacted = known[0].Body, known[0].Redacted
			replies[id] = known[1:]
		}
	} else {
		t.silent = d.protocol.jsonRPC
	}
	return t
}

// difference says where an answer is not as it was recorded; "" where it is.
func (t *requestTemplate) difference(reply []byte) string {
	var was, is map[string]any
	err := errors.Join(json.Unmarshal(t.recorded, &was), json.Unmarshal(reply, &is))
	if err != nil {
		return err.Error()
	}
	delete(was, "id")
	delete(is, "id")
	return t.differs("answer", was, is)
}

// differs compares two decoded values: types, members, and lengths. Of what they say only the code
// of an error is compared. Where values were overwritten, types and members are left to compare.
func (t *requestTemplate) differs(path string, was, is any) string {
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
			case slices.Contains(t.ignore, name):
			case !had:
				return fmt.Sprintf("%s.%s was not there", path, name)
			case !has:
				return fmt.Sprintf("%s.%s is missing", path, name)
			default:
				if d := t.differs(path+"."+name, then, now); d != "" {
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
			if d := t.differs(fmt.Sprintf("%s[%d]", path, i), was[i], is[i]); d != "" {
				return d
			}
		}
	case string:
		if n := len(is.(string)); n != len(was) && !t.redacted {
			return fmt.Sprintf("%s has %d bytes, not %d", path, n, len(was))
		}
	case float64:
		if path == "answer.error.code" && was != is && !t.redacted {
			return fmt.Sprintf("%s is %v, not %v", path, is, was)
		}
	}
	return ""
}
