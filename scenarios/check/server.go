package check

import (
	"cmp"
	"context"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/drive"
)

// Server checks a server that speaks over its standard input and output: how it starts, lives and
// ends, and what it makes of bad clients. Most of it is done by [drive.Driver.Treat].
func Server(ctx context.Context, o Options, sink Sink) error {
	if err := o.Validate(catalogue.Server); err != nil {
		return err
	}
	began, patience := time.Now(), max(o.Timeout, cmp.Or(o.start, leastStart))
	d, err := drive.Open(ctx, drive.Options{
		Command: o.Command, Env: o.Env, Run: o.Run, Start: patience, Framing: o.Framing,
		Starts: o.starts, Requests: o.requests, Patience: o.patience,
	})
	if err != nil {
		return err
	}
	patience = max(patience, parallel*time.Since(began)) // others start beside it then
	// what it speaks is known: each situation starts its own
	d.Close()
	tries := map[string]situation{}
	for _, m := range catalogue.For(catalogue.Server) {
		tries[m.Name] = func(ctx context.Context, f *finding) error {
			found, err := d.Treat(ctx, m, f.mark)
			if err != nil {
				return err
			}
			f.evidence = found.Evidence
			verdict := results.Fails
			switch {
			case found.Fine:
				verdict = results.OK
			case found.Verdict == drive.NotTried:
				verdict = results.CannotTell
			case found.Verdict == drive.Slow, found.Mild:
				verdict = results.Slow
			}
			f.judge(verdict, "%s", found.Found)
			return nil
		}
	}
	addRules(tries, d, patience)
	return o.try(ctx, catalogue.Server, tries, sink)
}

// leastStart is how long a server has to answer the handshake at least: wrappers take seconds.
const leastStart = 10 * time.Second
