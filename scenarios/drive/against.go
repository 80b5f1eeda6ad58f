package drive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// AgainstSizes are the messages that two servers are compared in where nothing else is asked for.
var AgainstSizes = []int{1 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

// A contest is one size, of both servers.
type contest struct {
	sides [2]*Driver
	t     [2]*requestTemplate
	out   [2]outcome
	trips [2]int64
	sent  [2]int64
	rows  [2][]results.Sample
}

// Against drives two servers in turns, so that what moves the machine moves both: a round has a
// sample of each size of each server, the order of the two alternates. It keeps a record of each size
// of each server, of the other one first, whose samples know their round; [stat.PairServers] makes
// pairs of them. A size that one of them does not serve is not sent again. Where limits are asked for,
// or a size was not served, both are searched for their limits. There are as many rounds as it takes
// to establish a change of each size, and some to spare, or as fit before ctx ends.
func Against(ctx context.Context, other, own *Driver, p Plan, sink Sink) error {
	sides := [2]*Driver{other, own}
	if slices.Equal(other.o.Command, own.o.Command) {
		return errors.New("drive: the two commands are the same")
	}
	if len(p.Sizes) == 0 {
		p.Sizes = AgainstSizes
	}
	var contests []*contest
	for _, size := range p.Sizes {
		contests = append(contests, newContest(sides, size))
	}
	rounds := max(20, 2*stat.EnoughPairs(len(contests), 0))
	var failed error
	for round := 0; round <= rounds && failed == nil; round++ { // the first warms up
		for _, c := range contests {
			for i := range sides {
				if failed == nil {
					failed = c.sample(ctx, (i+round)%len(sides), round)
				}
			}
		}
	}
	for i, d := range sides {
		for _, c := range contests {
			r := d.sizeRecord(c.t[i], &results.SizeEvidence{PayloadBytes: c.t[i].to - c.t[i].from}, c.rows[i], c.sent[i], c.out[i])
			if len(c.rows[i]) > 0 || c.out[i].verdict != OK {
				failed = errors.Join(failed, sink(*r))
			}
			p.Limits = p.Limits || c.out[i].verdict != OK
		}
	}
	for _, d := range sides {
		if failed == nil && p.Limits {
			_, failed = d.FindLimits(ctx, p.withDefaults().LimitTo, sink)
		}
	}
	return failed
}

func newContest(sides [2]*Driver, size int) *contest {
	c := &contest{sides: sides, out: [2]outcome{fine, fine}, trips: [2]int64{1, 1}}
	for i, d := range sides {
		c.t[i] = d.request(toolRequest, size)
	}
	return c
}

// sample makes some round trips with one of the servers.
func (c *contest) sample(ctx context.Context, i, round int) error {
	if c.out[0].verdict != OK || c.out[1].verdict != OK {
		return nil
	}
	s, out, err := c.sides[i].sample(ctx, c.t[i], c.trips[i], c.sent[i])
	if err != nil {
		return fmt.Errorf("%s: %w", c.sides[i].o.Command[0], err)
	}
	c.out[i] = out
	c.sent[i] += s.Messages
	if s.Round = round; round > 0 && out.verdict == OK {
		c.rows[i] = append(c.rows[i], s)
	}
	c.trips[i] = min(max(int64(sampleTime/max(out.took, 1)), 1), mostTrips)
	return nil
}
