package check

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Server checks how a server that speaks over its standard input and output starts, works and ends,
// and how it deals with bad clients.
func Server(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Server); err != nil {
		return err
	}
	began := time.Now()
	usual := o.target()
	s, err := target.Open(ctx, usual)
	if err != nil {
		return err
	}
	s.Shutdown() // s was only needed to find out the protocol: each test starts a new server
	defer s.Protocol().Close()
	beside := parallel * time.Since(began) // servers that start together slow each other down
	usual.Start = max(usual.Start, beside)
	var watch *schemaWatch // nil if the server does not speak MCP
	if s.Protocol().Speaks() == "mcp" {
		watch, err = newSchemaWatch(s.Protocol().Name)
		if err != nil {
			return err
		}
		usual.Pipes.Watch = watch.begin
	}
	strays := new(atomic.Pointer[string])
	tries := map[string]situation{}
	for name, t := range treatments {
		if strings.HasPrefix(name, "mcp-") && watch == nil {
			continue
		}
		tries[name] = func(ctx context.Context, f *finding) error {
			if s.OtherFraming() {
				failInFrames(f, s.Protocol().Framing.String())
				return nil
			}
			c := &serverCase{
				finding: f, treatment: t, target: usual, protocol: s.Protocol(), beside: beside,
				watch: watch, strays: strays,
			}
			err := treat(ctx, c)
			if err == nil {
				f.Evidence, err = results.NewEvidence(c.seen)
			}
			return err
		}
	}
	return o.try(ctx, catalogue.Server, tries, sink)
}

// target returns how the server is started and how long it may do nothing. A server that is still
// at work gets more time.
func (o Options) target() target.Options {
	return target.Options{
		Command: o.Command, Env: o.Env, Framing: o.Framing,
		Tool:     target.ToolCall{Name: o.Tool, Arg: o.Arg},
		Start:    max(o.Timeout, cmp.Or(o.handshake, leastStart)),
		Patience: cmp.Or(o.patience, time.Second),
		Longest:  cmp.Or(o.longest, max(o.Timeout, leastStart)),
	}
}

// failInFrames judges an MCP server that writes its messages in a form that no client of MCP reads.
// The test "mcp-schema" fails, and all others cannot tell.
func failInFrames(f *finding, framing string) {
	verdict := results.CannotTell
	if f.name == "mcp-schema" {
		verdict = results.Fails
	}
	f.judge(verdict, "speaks MCP in %s framing, and its clients read lines: to check it for a "+
		"client of its own, use --framing %[1]s", framing)
}

// leastStart is the shortest deadline for an answer in the handshake. It is long because wrappers
// such as npx take seconds to start a server.
const leastStart = 10 * time.Second

// A treatment is one test of a server: what a client, or the operating system, does to the server.
type treatment struct {
	do    func(context.Context, *serverCase) error
	pipes child.Options // the pipes that the test needs

	startsItself bool // the function do starts the server; otherwise the function treat does
	asks         bool // the test needs a request that the server answers
	jsonRPC      bool // the test needs a server that speaks JSON-RPC
	processes    bool // the processes that the server started are judged, too
	behind       bool // a shell starts the server in place of a client, and is killed later
}

// treatments has the tests of servers, by their names in the catalogue. Each test gets a new
// process of the server.
var treatments = map[string]treatment{
	"dirty-line":         {do: sendsDirt, asks: true},
	"split-utf8":         {do: splitsCharacters, asks: true, pipes: child.Options{WriteChunk: 71}},
	"trickle":            {do: trickles, asks: true, pipes: child.Options{WriteChunk: 1}},
	"slow-reader":        {do: sendsMany, asks: true},
	"unread-stderr":      {do: readsNoStderr, asks: true, pipes: child.Options{Undrained: true}},
	"nonblocking-stdout": {do: sendsMany, asks: true, pipes: child.Options{NonBlock: true}},
	"both-write":         {do: sendsMany, asks: true},
	"wrong-framing":      {do: speaksAnotherFraming, jsonRPC: true},
	"lying-length":       {do: liesAboutLength},
	"stray-output":       {do: looksForStrays, asks: true, jsonRPC: true},
	"large-request":      {do: asksForMore, asks: true},
	"large-reply":        {do: asksForLargeReplies, asks: true},

	"closed-stdout": {do: closesOutput, asks: true},
	"eof-mid-frame": {do: endsInARequest},
	"end-idle":      {do: endsIdle},
	"end-in-flight": {do: endsInFlight, asks: true},
	"end-at-start":  {do: endsAtStart, startsItself: true},
	"sigterm":       {do: sendsSignal},
	"sigint":        {do: sendsSignal},
	"client-killed": {do: killsClient, processes: true, behind: true},
	"held-output":   {do: readsToTheEnd, processes: true},
	"held-streams":  {do: looksForHolders, asks: true, processes: true},

	"cancel":         {do: cancelsRequests, asks: true},
	"ids":            {do: asksWithIDs, asks: true, jsonRPC: true},
	"batch":          {do: asksInABatch, asks: true, jsonRPC: true},
	"unknown-method": {do: asksForTheUnknown, jsonRPC: true},
	"pipelined":      {do: asksAtOnce, asks: true, jsonRPC: true},

	"many-starts":   {do: startsOften, startsItself: true},
	"memory-growth": {do: watchesMemory, asks: true},

	"mcp-opening":       {do: keeps(opensSessions), startsItself: true},
	"mcp-version":       {do: keeps(negotiatesVersion), startsItself: true},
	"mcp-discover":      {do: keeps(answersDiscover), startsItself: true},
	"mcp-stateless":     {do: keeps(answersWithoutSession), startsItself: true},
	"mcp-notifications": {do: keeps(ignoresNotifications), startsItself: true},
	"mcp-tools":         {do: keeps(listsTools), startsItself: true},
	"mcp-schema":        {do: fitsSchemas, startsItself: true},
}

// A ServerEvidence is what the verdict on a server rests on.
type ServerEvidence struct {
	Protocol string `json:"protocol"` // with its revision, such as "mcp 2025-11-25"
	Framing  string `json:"framing"`  // the framing, found out or given by the user
	Answered *int64 `json:"requests_answered,omitempty"`
	// The first message of each kind that does not fit the schema of MCP, in the test "mcp-schema".
	Misfits []Misfit `json:"misfits,omitempty"`
}

// A serverCase is one test of a server while the test runs, with its results so far.
type serverCase struct {
	*finding
	treatment
	target   target.Options // how the server is started
	protocol *target.Protocol
	watch    *schemaWatch   // of all servers; nil if they do not speak MCP
	beside   time.Duration  // how long a start may take while other servers start, too
	server   *target.Server // nil before it is started
	// strays says which lines without a message the servers of other tests wrote; nil for none.
	strays *atomic.Pointer[string]

	// The request that the test is about; nil for none. If the request also fails on a server that
	// nobody treats badly, the test proves nothing.
	asked *target.Request
	seen  ServerEvidence
}

// treat runs one test of a server. It starts the server unless the test does so itself.
func treat(ctx context.Context, c *serverCase) error {
	if c.jsonRPC && !c.protocol.JSONRPC {
		c.notApplicable("JSON-RPC, which the server does not speak")
		return nil
	}
	if c.asks && c.protocol.Silent {
		c.cannotTell("the server ignores methods that it does not know, and no other request is " +
			"known that it answers")
		return nil
	}
	if !proc.TellsOfOthers && c.processes {
		return errors.New("this system does not tell which processes others started")
	}
	if c.behind {
		if _, err := exec.LookPath("sh"); err != nil {
			c.notApplicable("a client that is killed, which takes a shell (sh)")
			return nil
		}
	}
	c.target.New = c.process
	untreated := c.target
	c.target.Pipes = c.pipes
	c.target.Pipes.Watch = untreated.Pipes.Watch
	c.target.Behind = c.behind
	c.seen.Protocol = c.protocol.Name
	c.seen.Framing = c.protocol.Framing.String()
	if !c.startsItself {
		var err error
		c.server, err = target.Start(ctx, c.target, c.protocol)
		if err != nil {
			return err
		}
	}
	defer func() {
		if c.server != nil {
			c.noteStrays()
			c.server.Close()
		}
	}()
	if err := c.do(ctx, c); err != nil {
		return err
	}
	c.judgeReads()
	if c.Found != "" && c.Verdict != results.OK && c.asked != nil {
		return c.tryUntreated(ctx, untreated)
	}
	if c.server != nil && c.server.InChunks() && c.protocol.Speaks() == "mcp" {
		c.cannotTell(inFrames)
	}
	c.ok("answered as it should")
	return nil
}

// judgeReads fails the tests in which a message and a read differ, if the server is known to take
// each read for a message: it may have been lucky this time.
func (c *serverCase) judgeReads() {
	tests := []string{"trickle", "pipelined", "large-request"}
	if c.protocol.OneRead.Load() && slices.Contains(tests, c.name) {
		c.asked = nil // the cause is known
		c.fails("%s", target.AdviceOneRead)
		c.Advice = target.AdviceOneRead
	}
}

// tryUntreated sends c.asked, a request that failed in a test, to a new server to which nothing
// else is done. If the request fails there, too, the verdict becomes "cannot-tell".
func (c *serverCase) tryUntreated(ctx context.Context, untreated target.Options) error {
	s, err := target.Start(ctx, untreated, c.protocol)
	if err != nil {
		return err
	}
	defer s.Close()
	out, err := s.Trip(ctx, c.asked, 1)
	if err == nil && out.Verdict != target.OK {
		size := results.FormatSize(int64(c.asked.Size()))
		c.clear()
		c.cannotTell("a request of %s fails without this, too: %s", size, out.Verdict.Text())
	}
	return err
}

// process prepares a process of the server. If c.target.Behind is set, a shell starts the server,
// as a client would.
func (c *serverCase) process() *proc.Process {
	command := c.options.Command
	if c.target.Behind {
		command = append([]string{"sh", "-c", `"$@"; exit`, "sh"}, command...)
	}
	return c.finding.command(command)
}

// A server that is busy gets up to mostWaits times as long to answer as an idle one.
const mostWaits = 5

// leaveTime is how long a server may take to exit: 5 s by default, since known clients wait that
// long.
func (c *serverCase) leaveTime() time.Duration { return 5 * c.target.Patience }

// judgeOutcome sets the verdict "fails" if a request did not get the right answer.
func (c *serverCase) judgeOutcome(out target.Outcome) {
	if out.Verdict == target.OK {
		return
	}
	text := out.Verdict.Text()
	if out.Why != "" {
		text += ": " + out.Why
	}
	c.fails("%s", text)
	c.certain = out.Verdict == target.Mixed
	c.adviseOn(out)
}

// adviseOn sets the advice if the outcome says more of the fault than the test does: an answer came
// late, mixed with another one, or only its beginning came, or the cause is known.
func (c *serverCase) adviseOn(out target.Outcome) {
	c.Advice = cmp.Or(c.Advice, out.Remedy)
	switch out.Verdict {
	case target.Late, target.Mixed, target.Truncated:
		c.Advice = cmp.Or(c.Advice, out.Advice(""))
	}
}

// roundTrip sends a request, waits for its answer, and judges the outcome.
func (c *serverCase) roundTrip(ctx context.Context, r *target.Request) error {
	out, err := c.server.Trip(ctx, r, 1)
	if err == nil {
		c.judgeOutcome(out)
	}
	return err
}

// send sends a message, even if the server reads it slowly. It ignores errors: after an error, the
// answer will be missing, and that is judged.
func (c *serverCase) send(ctx context.Context, msg []byte) {
	_ = c.server.SendWithin(ctx, c.target.Patience, msg)
}

// sendRaw sends bytes as they are, and does not mark where a message ends. Like send, it ignores
// errors.
func (c *serverCase) sendRaw(ctx context.Context, p []byte) {
	patient, stop := c.server.Patient(ctx, c.target.Patience, mostWaits*c.target.Patience)
	defer stop()
	_ = c.server.SendRaw(patient, p)
}

// filesIn counts the files in a folder and in its readable subfolders.
func filesIn(folder string) (n int) {
	filepath.WalkDir(folder, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return nil
	})
	return n
}
