// Package drivetest tests, in a Go test, a server that speaks over stdin and stdout. [Check] finds
// out whether it speaks MCP, LSP, bare JSON-RPC, or lines that it sends back, like cat.
//
//	func TestServer(t *testing.T) {
//		cmd := exec.Command("./my-server")
//		drivetest.Check(t, cmd, drivetest.Limit(16<<20), drivetest.Slope(1.5))
//	}
package drivetest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/stat/assert"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Want is one demand of [Check] on a server: an assertion such as "p99<50ms@64KiB".
type Want string

// Limit demands that requests of this many bytes work. Replies of as many bytes must work, too, if
// the server can be asked for them.
func Limit(bytes int) Want { return Want("limit>=" + results.SizeArgument(int64(bytes))) }

// Slope demands that the server's CPU time grows with a power of the message size that is smaller
// than bound. Time that the server waits does not count. Power 1 is linear growth, and power 2 is
// quadratic growth. The bound 1.5 leaves room for noise. On a busy machine, it may be undecided
// whether a good server meets it, which fails the test, too.
func Slope(bound float64) Want { return Want(fmt.Sprintf("slope<%g", bound)) }

// Assert demands what an assertion in text form says, such as "p99<50ms@64KiB".
func Assert(text string) Want { return Want(text) }

const checkTime = 5 * time.Minute // at most, for one Check

// Check sends requests, one at a time, to the server that cmd would start, and fails the test if a
// want is not met, or after 5 minutes. Several at once are what drive --inflight and check --server
// try. A program that never answers fails after half a minute, and a limit that is not met after
// two minutes, as the server is given time for each answer. Without wants, messages of each size
// from 1 KiB to 1 MiB must work. Check never starts cmd itself; it uses cmd's Path, Args, Env and
// Dir.
//
// Check calls a tool of an MCP server only if the tool's name is "echo". Other servers only have to
// refuse a method that they do not know. The log of the test (go test -v) says what was sent, and
// warns of what the server wrote besides its answers, which fails no test. [CheckWith] can name a
// tool.
func Check(t testing.TB, cmd *exec.Cmd, wants ...Want) {
	t.Helper()
	command := []string{cmd.Path} // exec has looked Args[0] up to get this Path
	command = append(command, cmd.Args[min(1, len(cmd.Args)):]...)
	CheckWith(t, drive.Options{Command: command, Env: cmd.Env, Dir: cmd.Dir}, wants...)
}

// CheckWith is [Check] with options: which tool to call, or what the server speaks. Flags that the
// log or a failure names are fields of the options: --tool is Tool.
func CheckWith(t testing.TB, o drive.Options, wants ...Want) {
	t.Helper()
	command := proc.ShellLine(o.Command)
	p, asserts, err := plan(wants)
	if err != nil {
		t.Errorf("drive %s: %v", command, err)
		return
	}
	set, err := run(t, o, p)
	if err != nil {
		t.Error(err)
		return
	}
	failed := len(wants) == 0 || slices.ContainsFunc(set.Targets, fails)
	for _, a := range asserts {
		j := a.Evaluate(set)
		if j.Outcome != assert.Holds {
			failed = true
			t.Errorf("%s: %s: %s: %s", command, a.Text, j.Outcome, j.Why)
		}
	}
	if err := drive.Failed(set); err != nil {
		failed = true
		t.Errorf("%s: %v", command, err)
	}
	if failed { // a failed want alone does not say how the server breaks
		for _, text := range failures(set.Targets) {
			t.Errorf("%s: %s", command, text)
		}
	}
}

// fails reports whether a size did not work. Every size that is sent is one that a want is about.
func fails(r results.Target) bool {
	return r.Evidence.Limit == nil && !r.Served() && r.Verdict != results.VerdictSuperlinear
}

// failures says how a server breaks: by its limits if they are known, or else by the size that
// failed.
func failures(targets []results.Target) []string {
	var sizes, limits []string
	for _, r := range targets {
		text := view.TargetLine(r)
		if e := r.Evidence.Failure; e != nil && len(e.StderrTail) > 0 {
			text += "\nits last words: " + strings.Join(e.StderrTail, "\n")
		}
		text += "\n" + r.Evidence.Advice
		switch {
		case fails(r):
			sizes = append(sizes, text)
		case !r.Served() && r.Evidence.Limit != nil:
			limits = append(limits, text)
		}
	}
	if len(limits) > 0 {
		return limits
	}
	return sizes
}

// plan returns what to find out about the server, and the wants as conditions on the results.
func plan(wants []Want) (drive.Plan, []assert.Condition, error) {
	p := drive.Plan{SmallPipe: -1} // growth in small pipes is not measured: no want asks for it
	var asserts []assert.Condition
	for _, w := range wants {
		a, err := assert.Parse(string(w))
		if err != nil {
			return p, nil, err
		}
		asserts = append(asserts, a)
		switch {
		case a.Metric == "limit":
			p.Limits = true
			p.Sizes = append(p.Sizes, int(a.Value))
		case a.Metric == "slope":
			p.Sizes = append(p.Sizes, drive.Doubling(stat.LinearFrom, 1<<20)...)
		case a.Size > 0:
			p.Sizes = append(p.Sizes, int(a.Size))
		}
		p.Demand(int(a.Size), a.Observations()) // a percentile needs many round trips
	}
	if len(p.Sizes) == 0 {
		p.Sizes = drive.Doubling(1<<10, 1<<20)
	}
	slices.Sort(p.Sizes)
	p.Sizes = slices.Compact(p.Sizes)
	return p, asserts, nil
}

// run drives the server. It logs what is sent, what works, and the warnings.
func run(t testing.TB, o drive.Options, p drive.Plan) (*results.Set, error) {
	t.Helper()
	command := proc.ShellLine(o.Command)
	late := fmt.Errorf("drive %s: not done after %s", command, checkTime)
	ctx, cancel := context.WithTimeoutCause(t.Context(), checkTime, late)
	defer cancel()
	o.Run = "check"
	d, err := drive.Open(ctx, o)
	if handshake, ok := errors.AsType[*drive.HandshakeError](err); ok {
		err = fmt.Errorf("%w\n%s", err, handshake.Advice())
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	t.Logf("%s speaks %s in %s; sending %s, one at a time",
		command, d.Protocol(), d.Framing(), d.Request())
	if text := (check.Options{Command: o.Command, Env: o.Env}).FlushWarning(); text != "" {
		t.Log(text)
	}
	set := new(results.Set)
	err = d.Drive(ctx, p, func(l results.Line) error {
		set.Add(l)
		return nil
	})
	for _, r := range set.Targets {
		if r.Served() {
			t.Log(view.TargetLine(r))
		}
		for _, text := range r.Warnings {
			t.Log(text)
		}
		// Limit is about replies only where they come
		r.Evidence.Server.SmallReplies = false
		r.Evidence.Server.Uncompared = false
	}
	return set, err
}
