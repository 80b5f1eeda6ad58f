package failures

import (
	"cmp"
	"context"
	"os"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/check"
)

// A program is a command of pipebench with one fault, and the situation in which package check
// shows this fault.
type program struct {
	part      string
	side      catalogue.Side
	words     string // arguments of pipebench
	situation string
	class     string // how the program fails
}

// startTime is how long one run of a program may take, unless [Options] say otherwise. Programs
// that end by themselves need far less.
const startTime = 3 * time.Second

// check tries the program in its situation, and records the finding.
func (r *recorder) check(ctx context.Context, p *program) error {
	ours, err := os.Executable()
	if err != nil {
		return err
	}
	r.observe(p.part)
	o := check.Options{
		Command: append([]string{ours}, strings.Fields(p.words)...),
		Only:    []string{p.situation},
		Timeout: cmp.Or(r.Timeout, startTime),
	}
	found := results.Finding{Verdict: results.CannotTell}
	keep := func(l results.Line) error {
		if f, ok := l.(results.Finding); ok {
			found = f
		}
		return nil
	}
	checkSide := check.Program
	if p.side == catalogue.Server {
		checkSide = check.Server
	}
	if err := checkSide(ctx, o, keep); err != nil {
		if ctx.Err() != nil {
			return err
		}
		found.Found, _, _ = strings.Cut(err.Error(), "\n")
	}
	return r.record(p.part, p.finding(found))
}

// finding turns f, a finding of package check, into a finding about the failure.
func (p program) finding(f results.Finding) results.Finding {
	f.About = append([]string{"pipebench"}, strings.Fields(p.words)...)
	f.Reproduce = "pipebench check"
	if p.side == catalogue.Server {
		f.Reproduce += " --server"
	}
	f.Reproduce += " --only " + p.situation + " -- pipebench " + p.words
	switch f.Verdict {
	case results.OK:
		f.Class = Sound
	case results.CannotTell, results.Unsupported:
		f.Class = ""
		f.Verdict = results.CannotTell
	default:
		f.Class = p.class
		f.Verdict = results.Fails
	}
	return f
}
