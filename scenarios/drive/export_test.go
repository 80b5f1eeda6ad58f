package drive

import (
	"context"
	"time"

	"github.com/pipebench/pipebench/syspipe/script"
)

// Starts returns how often the server was started.
func (d *Driver) Starts() int { return d.starts }

// AwaitLate makes a request, and asks for its answer when both that and the end of its time have come.
func (d *Driver) AwaitLate(ctx context.Context) (found Verdict, err error) {
	return found, script.Run(func() {
		c, t, out := d.live(ctx), d.smallest(transportRequest), outcome{}
		before, got, again := c.counters(), c.expect(t), make(chan outcome, 1)
		script.Check(c.send(t.number(1)))
		again <- <-got
		c.await(ctx, again, time.Now(), before, 1, &out)
		found = out.verdict
	})
}
