package drive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// handshakeMethods are the methods that open or end a session.
var handshakeMethods = []string{
	"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit",
}

// A recorded is a message of the client in a recording.
type recorded struct {
	payload.Message
	number int              // among the client's messages in the recording, counted from 1
	took   time.Duration    // the time until its answer in the recording; 0 if not known
	name   string           // the method and id
	silent bool             // the server does not answer it; set when the message is sent again
	answer *payload.Message // in the recording; nil if it is not known
	twice  bool             // it was answered more than once in the recording
}

func (m *recorded) String() string { return fmt.Sprintf("message %d, %s", m.number, m.what()) }

func (m *recorded) what() string {
	return cmp.Or(m.name, "a message") + " of " + stat.FormatBytes(int64(m.Size))
}

// addAnswer adds an answer to the message, which may be recorded before the message.
func (m *recorded) addAnswer(answer *payload.Message) {
	m.twice = m.answer != nil
	if !m.twice {
		m.answer = answer
		m.took = max(0, answer.At-m.At)
	}
}

// split returns the client's messages in a recording, each with its answer. It leaves out the
// handshake and the client's own answers; number counts these, too. By id, owed has the methods of
// the server's requests, or "" if the client answered. A message may stand behind its answer.
func split(recording []payload.Message) (
	requests []recorded, owed map[string]string, number int,
) {
	const handshake = -1
	owed = map[string]string{}
	asked := map[string]int{}                // the index of the last request, or handshake, by id
	early := map[string][]*payload.Message{} // answers without a request so far, by id
	sent := time.Duration(0)                 // when the client's last message had passed
	earlier := time.Duration(0)              // when the messages of the write before that had
	for _, m := range recording {
		method := m.Method
		id := string(m.ID)
		answers := method == "" && id != ""
		if m.Body != nil {
			e := jsonrpc.Scan(m.Body)
			method = string(e.Method)
			id = string(e.ID)
			answers = e.Kind().Answers()
		}
		_, known := owed[id]
		if !known && m.Dir == "reply" && method != "" && id != "" {
			owed[id] = method
		}
		if answers && m.Dir != "request" {
			at, known := asked[id]
			switch {
			case !known:
				early[id] = append(early[id], &m)
			case at != handshake:
				requests[at].addAnswer(&m)
			}
		}
		if m.Dir == "reply" {
			continue
		}
		number++
		if m.At != sent {
			earlier = sent
			sent = m.At
		}
		if answers {
			owed[id] = ""
			continue
		}
		if slices.Contains(handshakeMethods, method) {
			asked[id] = handshake
			continue
		}
		r := recorded{Message: m, number: number, name: method}
		if id != "" {
			r.name = strings.TrimSpace(method + " (id " + id + ")")
			asked[id] = len(requests)
			for _, e := range early[id] {
				if earlier < e.At {
					r.addAnswer(e)
				}
			}
		}
		requests = append(requests, r)
	}
	return requests, owed, number
}

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
		served, err = r.send(ctx, &requests[i], i == len(requests)-1)
		if err != nil {
			return err
		}
		if !served {
			r.explain(ctx, requests[:i+1], max(lasted, r.options.Patience) < 30*time.Second)
		}
	}
	if served {
		r.judgeSecondAnswers(requests)
	}
	r.judge()
	r.warnOfDifferences()
	r.warnOfSideEffects(&r.t)
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
	return sink(r.t)
}

// refuseProse returns an error if the server expects JSON and a message is none. A recorded client
// may have written such a message; in a file of messages, it is a mistake.
func (d *Driver) refuseProse(requests []recorded) error {
	for _, m := range requests {
		isProse := m.Dir == "" && m.Body != nil && !json.Valid(m.Body)
		if d.protocol.JSONRPC && isProse {
			return OptionError(fmt.Sprintf("message %d is no JSON, which a server of %s expects: "+
				"give a recording of pipebench tap, or a file with a JSON-RPC message per line",
				m.number, d.protocol.Speaks()))
		}
	}
	return nil
}

// endInput ends the server's input, says whether the server leaves then, and ends it if it stays.
func (r *replay) endInput() string {
	s := r.server
	s.CloseInput()
	defer r.discard()
	if s.Ended(target.LeaveAtEnd) {
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
	sent     []int64                 // bytes of the frames that were sent together last
}

// judgeSecondAnswers sets the verdict Differs if all is well so far, and the server answered a
// request more than once that it answered once in the recording.
func (r *replay) judgeSecondAnswers(requests []recorded) {
	if r.t.Verdict != string(target.OK) {
		return
	}
	_, ids := r.server.Strays.Unasked()
	for _, m := range requests {
		answeredOnce := m.Body != nil && m.answer != nil && !m.twice // in the recording
		if answeredOnce && slices.Contains(ids, string(jsonrpc.Scan(m.Body).ID)) {
			setVerdict(&r.t, target.Differs)
			r.t.Evidence.Why = m.String() + ": it was answered more than once, and in the " +
				"recording once"
			return
		}
	}
}

// judge sets the verdict CannotTell if nothing is wrong, but some answers could not be compared.
func (r *replay) judge() {
	e := r.evidence
	if r.t.Verdict == string(target.OK) && e.Undecided > 0 {
		setVerdict(&r.t, target.CannotTell)
		r.t.Evidence.Why = fmt.Sprintf("%d of %d answers cannot be compared: "+
			"the recording is redacted", e.Undecided, e.Compared)
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

// explain notes in the record that the last of the requests failed, and in which message the server
// stopped reading. If hasTime is set, it looks for other causes: it sends all requests again, then
// in ASCII, without a larger message right before the last, and without another message.
func (r *replay) explain(ctx context.Context, requests []recorded, hasTime bool) {
	last := len(requests) - 1
	failed := &requests[last]
	why := &r.t.Evidence.Why
	*why = failed.what() + ": " + *why
	largest := last // of the messages that were sent before it in one write, or last if none was
	first := last
	for first > 0 && requests[first-1].silent {
		first--
		if largest == last || requests[first].Size > requests[largest].Size {
			largest = first
		}
	}
	named := []target.Verdict{target.WrongLength, target.Mixed, target.Buffered}
	if failed.silent || slices.Contains(named, target.Verdict(r.t.Verdict)) {
		return
	}
	if stopped := r.whereStopped(requests[first:]); stopped != "" {
		*why += "; " + stopped
		r.t.Evidence.Advice = target.AdviceToInspect("the server stopped reading", r.repeat(0))
		return
	}
	large := requests[largest]
	if largest != last {
		*why += fmt.Sprintf("; right after %s, which expects no answer", large.String())
	}
	if !hasTime || r.sent == nil { // nil: what failed is the small request after the last message
		return
	}
	if r.failsAt(ctx, requests) != failed.number {
		*why += "; sent once more, the same messages did not fail there: it comes now and then"
		r.t.Evidence.Advice = adviceOnChance
		return
	}
	plain, changed := inASCII(requests)
	if changed > 0 && r.failsAt(ctx, plain) == 0 {
		*why += fmt.Sprintf("; message %d has characters of several bytes: with ASCII in their "+
			"place, as many bytes, it is answered", changed)
		r.t.Evidence.Advice = target.AdviceOnCharacters
		return
	}
	without := func(i int) []recorded { return slices.Concat(requests[:i], requests[i+1:]) }
	if largest == last || r.failsAt(ctx, without(largest)) != 0 {
		return
	}
	*why += fmt.Sprintf("; without message %d it is answered", large.number)
	if !r.isAdvised() {
		r.t.Evidence.Advice = fmt.Sprintf(adviceOnCause, large.number, failed.number)
	}
	other := (largest + last - 1) % last
	if other != largest && r.failsAt(ctx, without(other)) == 0 {
		*why += fmt.Sprintf(", and also without message %d: it depends on how many messages "+
			"came before", requests[other].number)
		r.t.Evidence.Advice = adviceOnChance
	}
}

const (
	adviceOnCause = "with message %[1]d there is no answer to message %[2]d, and without it " +
		"there is one; message %[1]d may leave a lock held or work unfinished, end the thread " +
		"that reads with an error, be read or announced in a wrong length, or, if it is large, " +
		"fill a buffer: pipebench inspect PID tells more while your client hangs"
	adviceOnChance = "no message alone is the cause: look for a count, a limit, a lock or a race " +
		"in the server; pipebench inspect PID tells more while your client hangs"
)

// isAdvised reports whether the advice names what the server does: it waits, or it computes.
func (r *replay) isAdvised() bool {
	failure := r.t.Evidence.Failure
	return failure != nil && (failure.Question != "" || failure.Computed)
}

// inASCII returns the requests with an x for each byte that is not ASCII, and the number of the
// last message that has such bytes, or 0.
func inASCII(requests []recorded) (plain []recorded, changed int) {
	plain = slices.Clone(requests)
	for i := range plain {
		body := slices.Clone(plain[i].Body)
		for k := range body {
			if body[k] >= utf8.RuneSelf {
				body[k] = 'x'
				changed = plain[i].number
			}
		}
		plain[i].Body = body
	}
	return plain, changed
}

// whereStopped says in which of the messages, which were sent together, a server that lives stopped
// reading. It returns "" if the server read them all, or if that is not known.
func (r *replay) whereStopped(sent []recorded) string {
	failure := r.t.Evidence.Failure
	deaf := r.t.Verdict == string(target.Deaf) && failure != nil
	unread := deaf && failure.UnreadStdin != nil && *failure.UnreadStdin > 0
	if !unread || len(r.sent) == 0 || r.isAdvised() {
		return ""
	}
	read := failure.Accepted - *failure.UnreadStdin
	last := len(sent) - 1
	for i, size := range r.sent {
		if read < size || i == last {
			last = i
			break
		}
		read -= size
	}
	if read <= 0 {
		return fmt.Sprintf("the server stopped reading before %s", &sent[last])
	}
	text := fmt.Sprintf("the server stopped reading in %s, after %s of it", &sent[last],
		stat.FormatBytes(read))
	if last > 0 {
		text += "; it may hang in an earlier one, since servers read ahead"
	}
	return text
}

// failsAt sends the requests to another process of the server, and returns the number of the one
// that is not served, or 0. If the server does not start, that is the last, as before.
func (r *replay) failsAt(ctx context.Context, requests []recorded) int {
	r.end(false /* politely */)
	r.observe("trying again to find the cause")
	again := &replay{Driver: r.Driver, t: r.record(), evidence: &results.ReplayEvidence{}}
	for i := range requests {
		served, err := again.send(ctx, &requests[i], false /* last */)
		if err != nil {
			return requests[len(requests)-1].number
		}
		if !served {
			return requests[i].number
		}
	}
	return 0
}

// send sends a message again, compares the answer, and reports whether the message was served.
// After the last message, the server must also be able to go on.
func (r *replay) send(ctx context.Context, m *recorded, last bool) (served bool, err error) {
	request, was := r.requestAgain(m)
	request.Least = patienceFactor * m.took
	request.AtEnd = true
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
		r.sent = r.frameSizes(append(slices.Clone(request.Lead), request.Number(0)))
		out, err = r.trip(ctx, request, int64(m.number))
	}
	if err == nil && out.Verdict == target.OK && last {
		r.sent = nil // what checkAlive sends is no message of the recording
		err = r.checkAlive(ctx, &out)
	}
	return out, err
}

// frameSizes returns how many bytes each message takes on the pipe. A message that cannot be sent
// counts as 0 bytes: the error comes when it is sent.
func (r *replay) frameSizes(messages [][]byte) []int64 {
	var sizes []int64
	for _, msg := range messages {
		var frame bytes.Buffer
		_ = r.protocol.Framing.NewWriter(&frame, framers.WithMaxMessage(-1 /* no limit */),
			framers.WithVerbatim()).WriteMessage(msg)
		sizes = append(sizes, int64(frame.Len()))
	}
	return sizes
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
	if m.answer == nil || m.answer.Body == nil {
		return request, nil
	}
	return request, m.answer
}

// difference says where an answer differs from the recorded one. The result is "" if they do not
// differ.
func (r *replay) difference(recorded *payload.Message, answer []byte) string {
	var was, is map[string]any
	err := errors.Join(json.Unmarshal(recorded.Body, &was), json.Unmarshal(answer, &is))
	if err != nil {
		return err.Error()
	}
	delete(was, "id")
	delete(is, "id")
	o := outline{ignore: r.ignore, redacted: recorded.Redacted}
	then := map[string]string{} // descriptions of values, by path
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

// An outline describes the values in an answer by their types and lengths. Only an error code is
// described by its value.
type outline struct {
	ignore   []string // names of members that are not compared
	redacted bool     // values were overwritten, so only types and members are compared
}

// add describes a decoded JSON value, and all values in it, by their paths.
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
