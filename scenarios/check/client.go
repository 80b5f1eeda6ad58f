package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A clientCheck is what the situations of a client share.
type clientCheck struct {
	once sync.Once
	good *visit // with a server that has no fault
	err  error
}

// A reaction is what a client has to do about a fault of its server.
type reaction int

const (
	givesUp   reaction = iota // end in its time, with another code than 0, and say why
	carriesOn                 // do as with a good server
	passesOn                  // only who knows the text can see that it was altered
	decides                   // carry on, or give up
)

// serverFaults are the faults of a server as they are asked for here, by what has to come of them.
var serverFaults = map[reaction][]string{
	givesUp: {
		"deaf@0", "exit0@0", "error@0", "limit@0", "never-read", "truncate-at-exit@0", "odd-version",
	},
	carriesOn: {"dirty", "trickle", "stderr-flood=256KiB", "reorder", "quadratic"},
	passesOn:  {"split-utf8=1", "corrupt@0"},
	decides:   {"old-version"},
}

// reasons are what a server gives for its reason, by its fault.
var reasons = map[string]string{"error": "too large", "limit": "exceeds the limit"}

// Client checks a client that starts a server, which is ours, and speaks MCP with it: in the command
// "{}" stands for that of the server.
func Client(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Client); err != nil {
		return err
	}
	if o.Serve == nil {
		path, err := os.Executable()
		if err != nil {
			return err
		}
		o.Serve = []string{path, "serve"}
	}
	o.Timeout = cmp.Or(o.Timeout, usualTime)
	c := new(clientCheck)
	tries := map[string]situation{
		"good-server": func(_ context.Context, f *finding) {
			f.evidence = c.good.ClientEvidence
			c.judge(f, c.good, carriesOn)
		},
		"large-answer":      c.findLimit,
		"mcp-cancel":        c.cancels,
		"mcp-subscriptions": c.listensAgain,
	}
	for due, specs := range serverFaults {
		for _, spec := range specs {
			name, _, _ := catalogue.Cut(spec)
			tries[name] = func(ctx context.Context, f *finding) {
				v := f.visit(ctx, nil, "--fault", spec)
				f.evidence = v.ClientEvidence
				c.judge(f, v, due)
			}
		}
	}
	for name, broken := range clientRules {
		tries[name] = func(_ context.Context, f *finding) {
			f.evidence = c.good.ClientEvidence
			switch what := broken(c.good); {
			case what != "" && !proc.TellsOfOthers && slices.Contains(c.good.Sessions, ""):
				f.cannotTell("%s; or its end came first, which takes the server along here", what)
			case what != "":
				f.fails("%s", what)
			}
			f.ok("keeps the rule")
		}
	}
	for name, do := range tries { // once it has visited a good server: one that fails there cannot be judged by others
		tries[name] = func(ctx context.Context, f *finding) {
			c.once.Do(func() { c.visitGood(ctx, f) })
			script.Check(c.err)
			do(ctx, f)
		}
	}
	tries["failed-starts"] = c.failStarts
	return o.try(ctx, catalogue.Client, tries, sink)
}

// leaveTime is how long a server may be there when its client has ended. One that does not read
// ends when it is killed, or notices after some seconds that its client is gone.
var leaveTime = map[bool]time.Duration{false: 3 * time.Second, true: 500 * time.Millisecond}

// visitGood has the client visit a good server.
func (c *clientCheck) visitGood(ctx context.Context, f *finding) {
	c.good, c.err = script.Of(func() *visit { return f.visit(ctx, nil) })
	switch {
	case c.err != nil:
	case c.good.Ended && c.good.Code != 0:
		c.err = fmt.Errorf("it does not work with a good server: it ends with code %d: %s", c.good.Code, c.good.last())
	case len(c.good.messages) == 0:
		c.err = fmt.Errorf("it sends a good server nothing within %v", f.o.Timeout)
	}
}

func round(ns int64) time.Duration { return time.Duration(ns).Round(10 * time.Millisecond) }

// judge says what was wrong with how a client took its server.
func (c *clientCheck) judge(f *finding, v *visit, due reaction) {
	took := round(v.TookNS)
	said := v.Said + v.out
	if due == decides {
		due = map[bool]reaction{true: carriesOn, false: givesUp}[!v.Ended || v.Code == 0]
	}
	if v.LeftAlive > 0 {
		f.fails("leaves %s of its server behind", results.FormatCount(v.LeftAlive, "process"))
	}
	switch missed := f.o.Expect != "" && !strings.Contains(v.out, f.o.Expect); {
	case !c.good.Ended && due == givesUp && v.Said == c.good.Said && v.out == c.good.out:
		f.cannotTell("goes on after %v, and prints nothing about it: whether its user is told cannot be seen from here", took)
	case !c.good.Ended:
		f.ok("goes on%s", v.story())
	case c.good.Asked == 0 && due != carriesOn && f.Name != "odd-version":
		f.cannotTell("asks for nothing after the handshake, which the fault needs: have it call a tool")
	case !v.Ended:
		f.fails("is still there after %v, and prints %q in the end%s", took, v.last(), v.story())
	case due == givesUp && v.Code == 0:
		f.fails("ends with code 0, as if all were well%s", v.story())
	case due == givesUp && strings.TrimSpace(said) == "":
		f.fails("ends with code %d and says nothing%s", v.Code, v.story())
	case due == givesUp && !strings.Contains(said, reasons[f.Name]):
		f.fails("ends with code %d, and the reason that the server gave is lost: %q%s", v.Code, v.last(), v.story())
	case f.Name == "odd-version" && v.Asked > 0:
		f.fails("goes on with a version of the protocol that it cannot know")
	case due == givesUp:
		f.ok("ends after %v with code %d: %s%s", took, v.Code, v.last(), v.story())
	case due == passesOn && v.Code != 0:
		f.ok("notices it, and ends with code %d: %s", v.Code, v.last())
	case v.Code != 0:
		f.fails("ends with code %d after %v: %s%s", v.Code, took, v.last(), v.story())
	case missed:
		f.fails("ends with code 0, and %q is not in its output", f.o.Expect)
	case due == passesOn && f.o.Expect == "":
		f.ok("passes on what it gets; --expect TEXT shows whether it was altered")
	case c.good.Stdout > 0 && v.Stdout == 0:
		f.fails("ends with code 0 and prints nothing, where it prints %s with a good server", size(c.good.Stdout))
	default:
		f.ok("does as with a good server, in %v%s", took, v.story())
	}
	if v.LeftFiles > c.good.LeftFiles {
		f.fails("leaves %s for temporary files behind, with a good server %d", results.FormatCount(v.LeftFiles, "file"), c.good.LeftFiles)
	}
}

// cancels looks whether a client that gives a request up tells its server. One that ends right after
// may not get to say it: it is asked twice.
func (c *clientCheck) cancels(ctx context.Context, f *finding) {
	for range 2 {
		v := f.visit(ctx, nil, "--fault", "deaf@0")
		switch f.evidence = v.ClientEvidence; {
		case v.Cancelled > 0:
			f.ok("cancels what it does not wait for any more")
			return
		case v.Asked == 0 || !v.Ended:
			f.cannotTell("had given up no request after %v", round(v.TookNS))
			return
		}
	}
	f.slow("gives up on its requests and does not cancel them")
}

// listensAgain looks whether a client that listens to changes does so again when its server has ended and
// it starts it again: a server that starts knows of no subscription.
func (c *clientCheck) listensAgain(ctx context.Context, f *finding) {
	v := f.visit(ctx, nil, "--changing-tools", "--fault", "truncate-at-exit@0")
	f.evidence = v.ClientEvidence
	listened, sessions := 0, stat.GroupBy(v.messages, func(m results.Message) string { return m.Run })
	for _, session := range sessions {
		listens, works := false, false
		for _, m := range session {
			listens = listens || m.Method == mcpstdio.Listen
			works = works || m.Dir == "request" && !slices.Contains(mcpstdio.OpeningMethods, m.Method)
		}
		if listens {
			listened++
		} else if listened > 0 && works {
			f.fails("starts its server again, and does not send %s again", mcpstdio.Listen)
		}
	}
	switch {
	case listened == 0:
		f.ok("listens to no changes")
	case len(sessions) == 1:
		f.ok("listens to changes, and does not start a server again that has ended")
	default:
		f.ok("listened to changes of %d of %s of its server", listened, results.FormatCount(len(sessions), "start"))
	}
}

// usualLimits are those of readers in use, in bytes.
var usualLimits = []int64{64 << 10, 1 << 20, 4 << 20, 8 << 20, 10 << 20, 16 << 20, 32 << 20}

const (
	largestAnswer = 64 << 20 // bytes
	fairLimit     = 1 << 20  // a lower limit is a fault
	searchTime    = 6        // in times of a visit
)

// findLimit looks for the largest answer that the client takes, first around the usual limits. A
// size is too large that failed twice: on a busy machine an answer may be late once.
func (c *clientCheck) findLimit(ctx context.Context, f *finding) {
	if !c.good.Ended || c.good.Asked == 0 {
		f.cannotTell("calls no tool and ends: its limit is found by whether it does")
		return
	}
	var failed *visit
	takes := func(n int64) bool {
		for range 2 {
			v := f.visit(ctx, nil, "--fault", "large-answer="+strconv.FormatInt(n, 10))
			if v.Ended && v.Code == 0 {
				return true
			}
			failed = v
		}
		return false
	}
	low, high, begun := int64(0), int64(0), time.Now()
	for time.Since(begun) < searchTime*f.o.Timeout && (high == 0 || high-low > 1) {
		at := max(4*low, fairLimit/16)
		if high > 0 {
			at = pivot(low, high)
		}
		switch {
		case !takes(at):
			high = at
		case at >= largestAnswer:
			f.ok("takes answers of %s", size(at))
			return
		default:
			low = at
		}
	}
	if failed == nil || high == 0 {
		f.cannotTell("takes answers of %s; larger ones took too long to be tried", size(low))
		return
	}
	failed.Limit = low
	f.evidence = failed.ClientEvidence
	limit := "takes answers of " + size(low)
	if high-low > 1 {
		limit += ", and none of " + size(high)
	}
	switch {
	case !failed.Ended:
		f.fails("%s; of a larger one it waits for more than %v", limit, round(failed.TookNS))
	case strings.TrimSpace(failed.Said+failed.out) == "":
		f.fails("%s; of a larger one it ends with code %d and says nothing", limit, failed.Code)
	case high <= fairLimit:
		f.fails("%s; a larger one ends it with code %d: %s", limit, failed.Code, failed.last())
	default:
		f.ok("%s; a larger one ends it with code %d: %s", limit, failed.Code, failed.last())
	}
}

// pivot returns a size between two: at a usual limit or beside it, else in the middle.
func pivot(low, high int64) int64 {
	for _, usual := range usualLimits {
		for _, n := range []int64{usual, usual + 1, usual - 1} {
			if low < n && n < high {
				return n
			}
		}
	}
	return (low + high) / 2
}

// manyStarts is the number of failed starts after which a leak of a descriptor each is seen.
const manyStarts = 20

// failStarts has a client that lives on start a server that fails, again and again.
func (c *clientCheck) failStarts(ctx context.Context, f *finding) {
	starts, first, last, firstStart := 0, 0, 0, 0
	v := f.visit(ctx, func(pid int, record string) bool {
		text, _ := os.ReadFile(record) // nothing before the first start
		fds, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
		if starts = bytes.Count(text, []byte(`"kind":"environment"`)); err != nil || starts == 0 {
			return false
		}
		if last = len(fds); firstStart == 0 {
			first, firstStart = last, starts
		}
		return starts > manyStarts+firstStart
	}, "--fault", "limit@1")
	more := last - first
	v.Descriptors = &more
	f.evidence = v.ClientEvidence
	switch since := starts - firstStart; {
	case v.LeftAlive > 0:
		f.fails("leaves %s of its servers behind", results.FormatCount(v.LeftAlive, "process"))
	case since >= manyStarts && 2*more > since:
		f.fails("has %d descriptors more after %d failed starts of its server", more, since)
	case since >= manyStarts:
		f.ok("has %d descriptors more after %d failed starts of its server", more, since)
	case v.Ended && v.Code == 0:
		f.fails("ends with code 0 though its server does not start")
	case v.Ended:
		f.ok("ends with code %d after %s: %s", v.Code, results.FormatCount(len(v.Sessions), "failed start"), v.last())
	default:
		f.cannotTell("tried %s in %v, where %d show a leak", results.FormatCount(len(v.Sessions), "failed start"), round(v.TookNS), manyStarts)
	}
}
