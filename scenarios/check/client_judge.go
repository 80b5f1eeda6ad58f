package check

import (
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
)

// reasons are the words with which a faulty server explains its error, by fault.
var reasons = map[string]string{"error": "too large", "limit": "exceeds the limit"}

// judge judges whether a client did what it has to do about the fault of its server.
func (c *clientCheck) judge(f *finding, v *visit, due catalogue.Duty) {
	if v.LeftAlive > 0 {
		f.fails("leaves %s of its server behind", results.FormatCount(v.LeftAlive, "process"))
	}
	if due == catalogue.Decide {
		due = catalogue.GiveUp
		if !v.Ended || v.Code == 0 {
			due = catalogue.CarryOn
		}
	}
	switch {
	case !c.good.Ended:
		c.judgeLongLived(f, v, due)
	case c.good.Asked == 0 && due != catalogue.CarryOn && f.name != "odd-version":
		f.cannotTell("asks for nothing after the handshake, which the fault needs: " +
			"have it call a tool")
	case !v.Ended:
		f.fails("is still there after %v, and prints %q in the end%s",
			round(v.TookNS), v.last(), v.story())
	case due == catalogue.GiveUp:
		gaveUp(f, v)
	case due == catalogue.PassOn:
		c.passedOn(f, v)
	default:
		c.carriedOn(f, v)
	}
	if v.LeftFiles > c.good.LeftFiles {
		f.fails("leaves %s for temporary files behind, with a good server %d",
			results.FormatCount(v.LeftFiles, "file"), c.good.LeftFiles)
	}
}

// judgeLongLived judges a client that does not end with a good server either, such as a client with
// a window.
func (c *clientCheck) judgeLongLived(f *finding, v *visit, due catalogue.Duty) {
	if due == catalogue.GiveUp && v.Said == c.good.Said && v.out == c.good.out {
		f.cannotTell("goes on after %v, and prints nothing about it: "+
			"whether its user is told cannot be seen from here", round(v.TookNS))
		return
	}
	f.ok("goes on%s", v.story())
}

// gaveUp judges a client that has to end with an error, and has ended.
func gaveUp(f *finding, v *visit) {
	said := v.Said + v.out
	switch {
	case v.Code == 0:
		f.fails("ends with code 0, as if all were well%s", v.story())
	case strings.TrimSpace(said) == "":
		f.fails("ends with code %d and says nothing%s", v.Code, v.story())
	case !strings.Contains(said, reasons[f.name]):
		f.fails("ends with code %d, and the reason that the server gave is lost: %q%s",
			v.Code, v.last(), v.story())
	case f.name == "odd-version" && v.Asked > 0:
		f.fails("goes on with a version of the protocol that it cannot know")
	default:
		f.ok("ends after %v with code %d: %s%s", round(v.TookNS), v.Code, v.last(), v.story())
	}
}

// passedOn judges a client that got an altered text, and has ended.
func (c *clientCheck) passedOn(f *finding, v *visit) {
	switch {
	case v.Code != 0:
		f.ok("notices it, and ends with code %d: %s", v.Code, v.last())
	case f.name == "corrupt":
		f.ok("passes on what it gets: a byte that was changed on purpose is for its user to see")
	case f.o.Expect == "":
		f.ok("passes on what it gets; --expect TEXT shows whether it was altered")
	default:
		c.carriedOn(f, v)
	}
}

// carriedOn judges a client that has to do as with a good server, and has ended.
func (c *clientCheck) carriedOn(f *finding, v *visit) {
	switch {
	case v.Code != 0:
		f.fails("ends with code %d after %v: %s%s", v.Code, round(v.TookNS), v.last(), v.story())
	case f.o.Expect != "" && !strings.Contains(v.out, f.o.Expect):
		f.fails("ends with code 0, and %q is not in its output", f.o.Expect)
	case c.good.Stdout > 0 && v.Stdout == 0:
		f.fails("ends with code 0 and prints nothing, where it prints %s with a good server",
			size(c.good.Stdout))
	default:
		f.ok("does as with a good server, in %v%s", round(v.TookNS), v.story())
	}
}
