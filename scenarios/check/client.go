package check

import (
	"cmp"
	"context"
	"os"
	"slices"

	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A clientCheck holds what all tests of one client share.
type clientCheck struct {
	good *visit // a run of the client with a server that has no fault
	// For a client that reads lines: whether it printed as many lines in a second run with a good
	// server as in the first.
	alike bool
}

// Client checks a client that starts our test server and then speaks MCP with that server, or reads
// lines from it. If the client does not work even with a server that has no fault, Client reports
// nothing else.
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
	if o.Timeout <= 0 {
		o.Timeout = usualTime
	}
	c := new(clientCheck)
	situations := c.situations
	if o.Protocol == "lines" {
		o.lines = plainLines()
		situations = c.lineSituations
	}
	works, err := c.visitGood(ctx, o, sink)
	if err != nil || !works {
		return err
	}
	return o.try(ctx, catalogue.Client, situations(), sink)
}

// situations returns the tests of a client of MCP, by name.
func (c *clientCheck) situations() map[string]situation {
	tries := map[string]situation{
		"good-server": func(_ context.Context, f *finding) error {
			c.judgeDuty(f, c.good, catalogue.CarryOn, c.good.took)
			return nil
		},
		"large-answer": c.findLimit,
		"mcp-cancel":   cancels,
	}
	for _, fault := range catalogue.Faults() {
		if fault.Due == catalogue.Unjudged {
			continue
		}
		tries[fault.Name] = func(ctx context.Context, f *finding) error {
			v, err := f.visit(ctx, "--fault", cmp.Or(fault.Asked, fault.Name))
			if err != nil {
				return err
			}
			return c.judgeVisit(ctx, f, v, fault.Due)
		}
	}
	for name, rule := range clientRules {
		tries[name] = func(_ context.Context, f *finding) error {
			c.judgeRule(f, rule(c.good))
			return nil
		}
	}
	return tries
}

// visitGood runs the client with a server that has no fault, and reports whether the two work
// together. If they do not, sink gets this result, and no other.
func (c *clientCheck) visitGood(ctx context.Context, o Options, sink Sink) (works bool, err error) {
	about, err := catalogue.Find(catalogue.For(catalogue.Client), "good-server")
	if err != nil {
		return false, err
	}
	f := o.tryOne(ctx, catalogue.Client, about, func(ctx context.Context, f *finding) error {
		c.good, err = f.visit(ctx)
		switch {
		case err != nil:
			return err
		case c.good.ended && c.good.code != 0:
			f.cannotTell("does not work with a good server: it ends with code %d: %s",
				c.good.code, c.good.last())
			return nil
		case o.lines == nil && len(c.good.messages) == 0:
			f.cannotTell("sends a good server nothing within %v: %s", o.Timeout,
				cmp.Or(c.good.last(), "it says nothing"))
			return nil
		}
		works = true
		if o.lines != nil {
			var again *visit
			again, err = f.visit(ctx)
			if err != nil {
				return err
			}
			c.alike = again.printedLines() == c.good.printedLines()
		}
		return nil
	})
	if err != nil || works {
		return works, err
	}
	return false, sink(f.Finding)
}

// judgeRule sets the verdict on the client about one rule of MCP. The parameter broken says how the
// client broke the rule; it is "" if the client kept it.
func (c *clientCheck) judgeRule(f *finding, broken string) {
	switch {
	case broken == "":
		f.ok("keeps the rule")
	case !proc.TellsOfOthers && slices.Contains(c.good.sessionEnds, ""):
		f.cannotTell("%s; or its end came first, which takes the server along here", broken)
	default:
		f.fails("%s", broken)
	}
}

// cancels judges whether the client sends a cancellation when it gives up on a request.
func cancels(ctx context.Context, f *finding) error {
	for range 2 { // a client may end before its cancellation has reached the server
		v, err := f.visit(ctx, "--fault", "deaf@0")
		if err != nil {
			return err
		}
		if v.cancelled > 0 {
			f.ok("cancels what it does not wait for any more")
			return nil
		}
		if v.asked == 0 || !v.ended {
			f.cannotTell("had given up no request after %v", v.took)
			return nil
		}
	}
	f.slow("gives up on its requests and does not cancel them")
	return nil
}
