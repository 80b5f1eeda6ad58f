package drive

import (
	"context"
	"time"
)

// Starts returns how often the server was started.
func (d *Driver) Starts() int { return d.starts }

// AwaitLate makes a request, and asks for its answer when both that and the end of its time have come.
func (d *Driver) AwaitLate(ctx context.Context) (found Verdict, err error) {
	c, err := d.live(ctx)
	if err != nil {
		return "", err
	}
	t, out := d.smallest(transportRequest), outcome{}
	before, got, again := c.counters(), c.expect(t), make(chan outcome, 1)
	if err := c.send(t.number(1)); err != nil {
		return "", err
	}
	again <- <-got
	c.await(ctx, again, time.Now(), before, 1, &out)
	return out.verdict, nil
}
