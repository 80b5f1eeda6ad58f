package check

import (
	"context"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// reasons has words from two error messages of our server, by the fault for which it sends them. A
// good client shows these words to its user.
var reasons = map[string]string{"error": "too large", "limit": "exceeds the limit"}

// judgeVisit judges v, a run of the client with a faulty server. If the client did not end in time,
// another run with a good server shows whether the machine has become slower.
func (c *clientCheck) judgeVisit(
	ctx context.Context, f *finding, v *visit, due catalogue.Duty,
) error {
	needed := c.good.took
	if !v.ended && c.good.ended && !v.mayBeSlow(needed) {
		if f.options.lines != nil {
			f.options.lines = plainLines()
		}
		now, err := f.visit(ctx)
		if err != nil {
			return err
		}
		needed = max(needed, now.took)
	}
	c.judgeDuty(f, v, due, needed)
	return nil
}

// judgeDuty judges whether a client did what it has to do about its server's fault. The parameter
// goodTime is how long the client takes with a good server.
func (c *clientCheck) judgeDuty(f *finding, v *visit, due catalogue.Duty, goodTime time.Duration) {
	if v.ended && v.leftAlive > 0 { // a client that was killed cannot end its server
		f.fails("leaves %s of its server behind", results.FormatCount(v.leftAlive, "process"))
	}
	if due == catalogue.Decide { // the exit code shows how the client decided
		due = catalogue.GiveUp
		if !v.ended || v.code == 0 {
			due = catalogue.CarryOn
		}
	}
	switch {
	case !c.good.ended:
		c.judgeLongLived(f, v, due)
	// only odd-version is a fault in the handshake
	case c.good.asked == 0 && due != catalogue.CarryOn && f.name != "odd-version":
		f.cannotTell("asks for nothing after the handshake, which the fault needs: " +
			"have it call a tool")
	case v.mayBeSlow(goodTime):
		f.cannotTell("is still there after %v, and takes %v with a good server: "+
			"give it more time by --timeout", v.took, goodTime)
	case !v.ended:
		f.fails("is still there after %v, and prints %q in the end%s",
			v.took, v.last(), v.sideActions())
	case due == catalogue.GiveUp:
		gaveUp(f, v)
	case due == catalogue.PassOn:
		c.passedOn(f, v)
	default:
		c.carriedOn(f, v)
	}
	if v.leftFiles > c.good.leftFiles { // this replaces the verdict "ok" from above
		f.fails("leaves %s for temporary files behind, with a good server %d",
			results.FormatCount(v.leftFiles, "file"), c.good.leftFiles)
	}
}

// judgeLongLived judges a client that does not end even with a good server, such as a program with
// a window.
func (c *clientCheck) judgeLongLived(f *finding, v *visit, due catalogue.Duty) {
	if due == catalogue.GiveUp && v.said == c.good.said && v.out == c.good.out {
		f.cannotTell("goes on after %v, and prints nothing about it: "+
			"whether its user is told cannot be seen from here", v.took)
		return
	}
	f.ok("goes on%s", v.sideActions())
}

// gaveUp judges a client that has to end with an error, and has ended.
func gaveUp(f *finding, v *visit) {
	said := v.said + v.out
	switch {
	case v.code == 0:
		f.fails("ends with code 0, as if all were well%s", v.sideActions())
	case strings.TrimSpace(said) == "":
		f.fails("ends with code %d and says nothing%s", v.code, v.sideActions())
	case !strings.Contains(said, reasons[f.name]):
		f.fails("ends with code %d, and the reason that the server gave is lost: %q%s",
			v.code, v.last(), v.sideActions())
	case f.name == "odd-version" && v.asked > 0:
		f.fails("goes on with a version of the protocol that it cannot know")
	default:
		f.ok("ends after %v with code %d: %s%s", v.took, v.code, v.last(), v.sideActions())
	}
}

// passedOn judges a client that got an altered text from its server, and has ended.
func (c *clientCheck) passedOn(f *finding, v *visit) {
	switch {
	case v.code != 0:
		f.ok("notices it, and ends with code %d: %s", v.code, v.last())
	case f.name == "corrupt":
		f.ok("passes on what it gets: a byte that was changed on purpose is for its user to see")
	case f.options.Expect == "":
		f.ok("passes on what it gets; --expect TEXT shows whether it was altered")
	default:
		c.carriedOn(f, v)
	}
}

// carriedOn judges a client that has to do the same as with a good server, and has ended.
func (c *clientCheck) carriedOn(f *finding, v *visit) {
	switch {
	case v.code != 0:
		f.fails("ends with code %d after %v: %s%s", v.code, v.took, v.last(), v.sideActions())
	case f.options.Expect != "" && !strings.Contains(v.out, f.options.Expect):
		f.fails("ends with code 0, and %q is not in its output", f.options.Expect)
	case c.good.outBytes > 0 && v.outBytes == 0:
		f.fails("ends with code 0 and prints nothing, where it prints %s with a good server",
			size(c.good.outBytes))
	default:
		f.ok("does as with a good server, in %v%s", v.took, v.sideActions())
	}
}
