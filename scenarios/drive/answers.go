package drive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// request makes a request that any server refuses, with that id, a JSON text.
func (r *faultRun) request(id string) []byte {
	t := r.d.smallest(transportRequest)
	return slices.Concat(t.msg[:t.id], []byte(id), t.msg[t.id+idDigits:])
}

// converse sends messages and returns the answers that come, until there are n, the server says no
// more, or one takes longer than a server has for it.
func (r *faultRun) converse(ctx context.Context, n int, msgs ...[]byte) (answers []answer) {
	limit, more := r.d.deadline(transportRequest, 0), r.c.extension(mostExtensions)
	d := r.c.dialogue(limit, func() error {
		for _, msg := range msgs {
			r.send(msg)
		}
		return nil
	})
	defer func() {
		if d.close(); d.sent != nil {
			<-d.sent // it has a deadline
		}
	}()
	for ; len(answers) < n; d.timer.Reset(limit) {
		a, err := d.next(ctx)
		switch {
		case err == nil:
			answers = append(answers, a)
		case !errors.Is(err, errSilent) && !errors.Is(err, errMute), !more.granted():
			return answers
		}
	}
	return answers
}

// answered asks for a sign of life, and judges a server that gives none after what was done to it.
func (r *faultRun) answered(ctx context.Context, after string) bool {
	if len(r.converse(ctx, 1, r.request(`"alive"`))) > 0 {
		return true
	}
	r.lost("after " + after)
	return false
}

// lost judges a server that gave no answer.
func (r *faultRun) lost(when string) {
	if r.c.left() {
		v := r.c.exitVerdict()
		r.judge(v, "it ended %s: %s", when, v)
		r.Evidence.StderrTail = r.c.stderrLines()
		return
	}
	r.judge(Deaf, "it answers nothing any more %s", when)
}

// Ids of requests: by JSON-RPC any string and number. Those that are demanded are what every
// protocol over it has; of the others a server may make what it likes, and live.
var (
	demandedIDs = []string{`7`, `"seven"`, `"7"`, charactersID, `2147483647`}
	// LSP has whole numbers of 32 bits alone
	anyIDs = []string{`0`, `-1`, `""`, `9007199254740993`, `1.5`}
)

// charactersID is an id of characters that take two, three and four bytes.
const charactersID = `"é漢😀"`

// failsOverCharacters reports whether a server does not answer a request that holds the characters
// of charactersID outside its id either: its id is not to blame then.
func (r *faultRun) failsOverCharacters(ctx context.Context) bool {
	fresh := r.d.with(nil)
	defer fresh.end(false)
	c, err := fresh.live(ctx)
	if err != nil {
		return false
	}
	other := &faultRun{d: fresh, c: c}
	request := jsonrpc.AppendRequest(nil, "8", unknownMethod, []byte(`{"pad":`+charactersID+`}`))
	return len(other.converse(ctx, 1, request)) == 0
}

func idsOfEveryType(ctx context.Context, r *faultRun) error {
	var notes []string
	ids := slices.Concat(demandedIDs, anyIDs)
	if r.d.speaks() == "lsp" {
		ids = demandedIDs
	}
	for i, want := range ids {
		demanded := i < len(demandedIDs)
		got := ""
		for _, a := range r.converse(ctx, 1, r.request(want)) {
			got = cmp.Or(a.id, "null")
		}
		if got == "" && want == charactersID && r.failsOverCharacters(ctx) {
			r.judge(Unanswered, "a request that holds %s is not answered, whatever its id: "+
				"characters of several bytes are the cause", charactersID)
			return nil
		}
		switch {
		case sameJSON(got, want):
		case got == "" && !r.answered(ctx, "a request with the id "+want):
			return nil
		case demanded && got == "":
			r.judge(Unanswered, "a request with the id %s is not answered", want)
		case demanded:
			r.judge(Corrupt, "a request with the id %s is answered under %s", want, got)
		case got == "", got == "null":
			notes = append(notes, want+" is not taken")
		default:
			notes = append(notes, want+" came back as "+got)
		}
	}
	if r.Verdict == OK {
		r.Found = fmt.Sprintf(
			"%d ids of %d came back as they were sent",
			len(ids)-len(notes),
			len(ids),
		)
		r.Found = strings.Join(append([]string{r.Found}, notes...), "; ")
	}
	return nil
}

// sameJSON reports whether two texts are the same string, however it is escaped, or the same text.
func sameJSON(a, b string) bool {
	var s, t string
	if json.Unmarshal([]byte(a), &s) == nil && json.Unmarshal([]byte(b), &t) == nil {
		return s == t && a != "null" && b != "null"
	}
	return a == b
}

// batch sends two requests as an array, which JSON-RPC has and most protocols over it have not.
func batch(ctx context.Context, r *faultRun) error {
	if r.d.speaks() == "lsp" {
		return untried("its protocol forbids batches")
	}
	said := r.c.overhear()
	r.send([]byte("[" + string(r.request(`"one"`)) + "," + string(r.request(`"two"`)) + "]"))
	if !r.answered(ctx, "a batch") {
		return nil
	}
	text := said.String()
	one, two := strings.Contains(text, `"one"`), strings.Contains(text, `"two"`)
	switch {
	case one && two:
		r.Found = "answered both requests of a batch"
	case one || two:
		r.judge(Unanswered, "answered one request of a batch and not the other")
	case refusesFrame.MatchString(text):
		r.Found = "refused a batch with an error, and goes on"
	default:
		r.Found = "ignored a batch, and goes on"
	}
	return nil
}

func unknownMethodRefused(ctx context.Context, r *faultRun) error {
	answers := r.converse(ctx, 1, r.request(`"unknown"`))
	switch {
	case len(answers) == 0 && r.c.isClosed():
		r.lost("over a method that it does not know")
	case len(answers) == 0:
		r.judge(Unanswered, "a method that it does not know is not answered")
	case answers[0].failure == nil:
		r.judge("accepts all", "a method that it cannot know is answered with a result")
	case answers[0].failure.Code != jsonrpc.CodeMethodNotFound:
		r.judge("wrong code", "a method that it does not know is refused with %d, not %d",
			answers[0].failure.Code, jsonrpc.CodeMethodNotFound)
	default:
		r.Found = fmt.Sprintf("refused with %d", jsonrpc.CodeMethodNotFound)
	}
	return nil
}

// atOnce is how many requests are sent without waiting: few enough for any pipe.
const atOnce = 32

func pipelined(ctx context.Context, r *faultRun) error {
	var msgs [][]byte
	for i := range atOnce {
		msgs = append(msgs, r.request(strconv.Itoa(i+1)))
	}
	answers := r.converse(ctx, atOnce, msgs...)
	counts, again, last, ordered := map[int]int{}, r.c.strays.unasked.Load(), 0, true
	for _, a := range answers {
		id, _ := strconv.Atoi(a.id) // another's is 0
		if counts[id]++; counts[id] > 1 {
			again++
		}
		last, ordered = id, ordered && id > last
	}
	r.Evidence.Answered = new(int64(len(answers)))
	switch {
	case again > 0:
		r.judge(
			"answers twice",
			"%d answers or more came to no request, or as the second to one",
			again,
		)
	case len(answers) < atOnce && r.c.isClosed():
		r.lost(fmt.Sprintf("with %d requests in flight", atOnce))
	case len(counts) < atOnce || counts[0] > 0:
		r.judge(
			Unanswered,
			"of %d requests sent at once %d were answered, each by its id",
			atOnce,
			len(counts)-min(counts[0], 1),
		)
	case !ordered:
		r.Found = fmt.Sprintf("all of %d requests were answered, in another order", atOnce)
	default:
		r.Found = fmt.Sprintf("all of %d requests were answered in their order", atOnce)
	}
	return nil
}

// cancels are what takes a request back, by protocol: a method, and its parameters around the id.
var cancels = map[string][3]string{
	"mcp": {"notifications/cancelled", `{"requestId":`, `,"reason":"check"}`},
	"lsp": {"$/cancelRequest", `{"id":`, `}`},
}

// cancelRequests takes back requests that are not known, under way, and answered.
func cancelRequests(ctx context.Context, r *faultRun) error {
	words, ok := cancels[r.d.speaks()]
	if !ok {
		return untried("its protocol has no word for it")
	}
	cancel := func(id string) []byte {
		params := words[1] + id + words[2]
		return jsonrpc.AppendRequest(nil, "", words[0], []byte(params))
	}
	ids := func(answers []answer) string {
		return strings.Join(stat.Map(answers, func(a answer) string { return a.id }), " ")
	}
	first := r.converse(ctx, 2,
		cancel(`"never"`), r.request(`"under way"`), cancel(`"under way"`), r.request(`"after"`))
	got := ids(first)
	got += " " + ids(r.converse(ctx, 1, cancel(`"after"`), r.request(`"last"`)))
	switch under := strings.Count(got, `"under way"`); {
	case !strings.Contains(got, `"after"`) || !strings.Contains(got, `"last"`):
		r.lost("after a request was cancelled")
	case under > 1:
		r.judge("answers twice", "a request that was cancelled is answered %d times", under)
	case under == 0 && r.d.speaks() == "lsp":
		r.judge(
			Unanswered,
			"a request that was cancelled is not answered, as this protocol demands",
		)
	case under == 0:
		r.Found = "goes on, and is silent about a request that was cancelled while it was under way"
	default:
		r.Found = "goes on; a request was answered before it could be cancelled"
	}
	return nil
}

// strayOutput looks at all that a server says from its start to its end.
func strayOutput(ctx context.Context, r *faultRun) error {
	err := r.meet(ctx, r.d.smallest(toolRequest))
	if err != nil || r.Verdict != OK {
		return err
	}
	r.c.stdin.Close()
	r.c.Stop(r.d.o.gone(), leaveAtTerm)
	closedWithin(r.c.closed, r.d.o.Patience)
	r.Found = "nothing but messages on standard output, from start to end"
	if lines, first, _ := r.c.strays.nonMessages(); lines > 0 {
		r.judge(
			"stray output",
			"%d lines on standard output are no messages, the first: %q",
			lines,
			first,
		)
	}
	return nil
}
