package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// aliveID is the id of requests whose only purpose is to see whether a server still answers.
const aliveID = `"alive"`

// request makes a small request that calls no tool. A server may refuse it, but has to answer. The
// id is JSON text: a string stands in quotes.
func (c *serverCase) request(id string) []byte {
	return c.protocol.Smallest(target.Transport).WithID(id)
}

// converse drops answers to earlier requests, and then calls exchange.
func (c *serverCase) converse(ctx context.Context, n int, msgs ...[]byte) []child.Message {
	c.dropOldAnswers(ctx)
	return c.exchange(ctx, n, msgs...)
}

// exchange sends messages and returns up to n answers. It returns fewer if the server closes its
// output or takes too long.
func (c *serverCase) exchange(ctx context.Context, n int, msgs ...[]byte) []child.Message {
	limit := c.protocol.Paces[target.Transport].Limit(c.target.Patience, 0)
	var answers []child.Message
	for _, msg := range msgs {
		// An error is ignored, since a message that was not sent gets no answer either.
		_ = c.server.SendWithin(ctx, limit, msg)
	}
	for len(answers) < n {
		patient, stop := c.server.Patient(ctx, limit, mostWaits*limit)
		m, err := c.server.Next(patient)
		stop()
		if err != nil {
			break
		}
		answers = append(answers, m)
	}
	return answers
}

// ask sends msg, a request with this id, and returns the answer, or nil if no answer came. The
// result alive says whether the server answers any request.
func (c *serverCase) ask(
	ctx context.Context, id string, msg []byte,
) (answer *child.Message, alive bool) {
	answers := c.converse(ctx, 1, msg)
	if len(answers) > 0 && string(answers[0].Envelope.ID) == aliveID { // late, from an earlier ask
		answers = c.exchange(ctx, 1)
	}
	if len(answers) > 0 {
		return &answers[0], true
	}
	if wrong := c.server.WrongLength(); wrong != "" {
		c.fails("after a request with the id %s, %s", id, wrong)
		c.Advice = target.WrongLength.Advice()
	}
	// on a busy machine, the answer to msg may just be late
	answers = c.exchange(ctx, 2, c.request(aliveID))
	for _, m := range answers {
		if sameJSON(string(m.Envelope.ID), id) {
			return &m, true
		}
	}
	if len(answers) == 2 && string(answers[0].Envelope.ID) != aliveID {
		return &answers[0], true // the answer to msg, but under a wrong id
	}
	return nil, len(answers) > 0
}

// dropOldAnswers drops the answers that have come and have not been taken yet.
func (c *serverCase) dropOldAnswers(ctx context.Context) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	for {
		_, err := c.server.Next(over)
		if err != nil {
			return
		}
	}
}

// judgeLost sets the verdict "fails", because the server answers no request any more. The parameter
// occasion says in words when that happened.
func (c *serverCase) judgeLost(occasion string) {
	if !c.server.Left(target.LeaveAtTerm) {
		c.fails("it answers nothing any more %s", occasion)
		return
	}
	words := ""
	said := c.server.StderrLines()
	if len(said) > 0 {
		words = ": " + lastLine(said[len(said)-1])
	}
	c.fails("it ended %s: %s%s", occasion, c.server.ExitVerdict(), words)
}

// Ids of requests. A server has to answer requests with demandedIDs. It may refuse or ignore
// requests with optionalIDs, but must go on.
var (
	demandedIDs = []string{`7`, `"seven"`, `"7"`, charactersID, `2147483647`}
	optionalIDs = []string{`0`, `-1`, `""`, `9007199254740993`, `1.5`}
)

// charactersID is an id whose characters take two, three and four bytes.
const charactersID = `"é漢😀"`

func asksWithIDs(ctx context.Context, c *serverCase) error {
	ids := demandedIDs
	if c.protocol.Speaks() != "lsp" { // LSP forbids some of optionalIDs
		ids = slices.Concat(demandedIDs, optionalIDs)
	}
	var notes []string
	for i, want := range ids {
		got := ""
		answer, alive := c.ask(ctx, want, c.request(want))
		if answer != nil {
			got = cmp.Or(string(answer.Envelope.ID), "null")
		}
		if sameJSON(got, want) {
			continue
		}
		if want == charactersID {
			c.Advice = cmp.Or(c.Advice, target.AdviceOnCharacters)
		}
		if !alive {
			c.judgeLost("after a request with the id " + want)
			return nil
		}
		demanded := i < len(demandedIDs)
		switch {
		case demanded && got == "":
			c.fails("a request with the id %s is not answered", want)
		case demanded:
			c.fails("a request with the id %s is answered under %s", want, got)
		case got == "", got == "null":
			notes = append(notes, want+" is not taken")
		default:
			notes = append(notes, want+" came back as "+got)
		}
	}
	found := fmt.Sprintf("%d ids of %d came back as they were sent", len(ids)-len(notes), len(ids))
	c.ok("%s", strings.Join(append([]string{found}, notes...), "; "))
	return nil
}

// sameJSON reports whether two JSON texts are equal. Strings may be escaped differently; all other
// values must be the same text.
func sameJSON(a, b string) bool {
	var s, t string
	if json.Unmarshal([]byte(a), &s) == nil && json.Unmarshal([]byte(b), &t) == nil {
		return s == t && a != "null" && b != "null"
	}
	return a == b
}

// asksInABatch sends two requests in one JSON array. JSON-RPC allows that, but most protocols that
// build on JSON-RPC do not.
func asksInABatch(ctx context.Context, c *serverCase) error {
	if c.protocol.Speaks() == "lsp" {
		c.notApplicable("batches, which its protocol forbids")
		return nil
	}
	said := c.server.Out.Overhear()
	c.send(ctx, fmt.Appendf(nil, "[%s,%s]", c.request(`"one"`), c.request(`"two"`)))
	if len(c.converse(ctx, 1, c.request(aliveID))) == 0 {
		c.judgeLost("after a batch")
		return nil
	}
	one := strings.Contains(said.String(), `"one"`)
	two := strings.Contains(said.String(), `"two"`)
	switch {
	case one && two:
		c.ok("answered both requests of a batch")
	case one || two:
		c.fails("answered one request of a batch and not the other")
	default:
		c.ok("refused or ignored a batch, and goes on")
	}
	return nil
}

func asksForTheUnknown(ctx context.Context, c *serverCase) error {
	answer, _ := c.ask(ctx, `"unknown"`, c.protocol.Unknown().WithID(`"unknown"`))
	if answer == nil && child.Within(c.server.Closed(), 0) {
		c.judgeLost("over a method that it does not know")
		return nil
	}
	if answer == nil {
		c.fails("a method that it does not know is not answered")
		return nil
	}
	var refusal struct{ Error json.RawMessage }
	err := json.Unmarshal(answer.Raw, &refusal)
	if err != nil || refusal.Error == nil || string(refusal.Error) == "null" {
		c.fails("a method that it cannot know is answered with a result")
		return nil
	}
	code := jsonrpc.ParseError(refusal.Error).Code
	if code != jsonrpc.CodeMethodNotFound {
		c.fails("a method that it does not know is refused with %d, not %d",
			code, jsonrpc.CodeMethodNotFound)
	}
	c.ok("refused with %d", code)
	return nil
}

// atOnce is how many requests are sent without waiting for answers.
const atOnce = 32

// asksAtOnce sends small requests, which all fit into any pipe together. If they are answered, it
// sends as many again, some of which have answers that are larger than a pipe.
func asksAtOnce(ctx context.Context, c *serverCase) error {
	c.askAtOnce(ctx, nil)
	large, err := c.requestForReply(fairReply)
	if err == nil && c.Verdict == results.OK {
		c.clear()
		c.asked = large
		c.askAtOnce(ctx, large)
	}
	return nil
}

// askAtOnce sends requests without waiting for answers, and judges the answers. If large is not
// nil, it takes the place of every eighth request.
func (c *serverCase) askAtOnce(ctx context.Context, large *target.Request) {
	var msgs [][]byte
	what := "small requests"
	for i := range atOnce {
		id := strconv.Itoa(i + 1)
		msg := c.request(id)
		if large != nil && i%8 == 0 {
			msg = large.WithID(id)
			what = "requests, some of them for 256 KiB,"
		}
		msgs = append(msgs, msg)
	}
	answers := c.converse(ctx, atOnce, msgs...)
	counts := map[int]int{} // how many answers came, by id; the id of a request is a number above 0
	for _, m := range answers {
		id, _ := strconv.Atoi(string(m.Envelope.ID)) // 0 if it is no number
		counts[id]++
	}
	again := len(answers) - len(counts)
	answered := len(counts)
	if counts[0] > 0 {
		answered--
		c.Advice = target.AdviceReads
	}
	c.seen.Answered = new(int64(len(answers)))
	switch {
	case again > 0:
		c.fails("%d answers or more came to no request, or were the second to one", again)
	case len(answers) < atOnce && child.Within(c.server.Closed(), 0):
		c.judgeLost(fmt.Sprintf("with %d requests in flight", atOnce))
	case answered < atOnce:
		c.fails("%d of %d requests sent at once were answered, each by its id", answered, atOnce)
		if lines, _ := c.server.Strays.Lines(); lines > 0 && large != nil {
			c.adviseOn(target.Outcome{Verdict: target.Mixed})
		}
	default:
		c.ok("all %d %s were answered, each by its id", atOnce, what)
	}
}

// cancelsRequests cancels three requests: one never sent, one under way, and one already answered.
func cancelsRequests(ctx context.Context, c *serverCase) error {
	lsp := c.protocol.Speaks() == "lsp"
	if !lsp && c.protocol.Speaks() != "mcp" {
		return errors.New("its protocol has no word for it")
	}
	cancel := func(id string) []byte {
		if lsp {
			return jsonrpc.AppendRequest(nil, "", "$/cancelRequest", []byte(`{"id":`+id+`}`))
		}
		params := `{"requestId":` + id + `,"reason":"check"}`
		return jsonrpc.AppendRequest(nil, "", "notifications/cancelled", []byte(params))
	}
	answers := c.converse(ctx, 2,
		cancel(`"never"`), c.request(`"under way"`), cancel(`"under way"`), c.request(`"after"`))
	answers = append(answers,
		c.converse(ctx, 1, cancel(`"after"`), c.request(`"last"`))...)
	counts := map[string]int{} // how many answers came, by id
	for _, m := range answers {
		counts[string(m.Envelope.ID)]++
	}
	cancelled := counts[`"under way"`]
	switch {
	case counts[`"after"`] == 0 || counts[`"last"`] == 0:
		if _, alive := c.ask(ctx, `"more"`, c.request(`"more"`)); alive {
			c.fails("a request beside one that was cancelled is answered late, or not at all")
			c.Advice = target.Late.Advice()
			break
		}
		c.judgeLost("after a request was cancelled")
	case cancelled > 1:
		c.fails("a request that was cancelled is answered %d times", cancelled)
	case cancelled == 0 && lsp:
		c.fails("a request that was cancelled is not answered, as this protocol demands")
	case cancelled == 0:
		c.ok("goes on, and is silent about a request that was cancelled while it was under way")
	default:
		c.ok("goes on; a request was answered before it could be cancelled")
	}
	return nil
}
