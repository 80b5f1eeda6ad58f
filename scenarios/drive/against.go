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

// A side is one of two servers at one size.
type side struct {
	*Driver
	t           *requestTemplate
	out         outcome
	trips, sent int64
	samples     []results.Sample
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
	var contests [][2]*side // of a size each
	for _, size := range p.Sizes {
		var c [2]*side
		for i, d := range sides {
			c[i] = &side{Driver: d, t: d.request(toolRequest, size), out: fine, trips: 1}
		}
		contests = append(contests, c)
	}
	rounds := max(20, 2*stat.EnoughPairs(len(contests), 0))
	var failed error
	for round := 0; round <= rounds && failed == nil; round++ { // the first warms up
		for _, c := range contests {
			for i := range c {
				if failed == nil && c[0].out.verdict == OK && c[1].out.verdict == OK {
					failed = c[(i+round)%len(c)].sample(ctx, round)
				}
			}
		}
	}
	for i, d := range sides {
		for _, c := range contests {
			s := c[i]
			r := d.sizeRecord(s.t, s.t.sizeEvidence(), s.samples, s.sent, s.out)
			if len(s.samples) > 0 || s.out.verdict != OK {
				failed = errors.Join(failed, sink(*r))
			}
			p.Limits = p.Limits || s.out.verdict != OK
		}
	}
	for _, d := range sides {
		if failed == nil && p.Limits {
			_, failed = d.FindLimits(ctx, p.withDefaults().LimitTo, sink)
		}
	}
	return failed
}

// sample makes some round trips.
func (s *side) sample(ctx context.Context, round int) error {
	sample, out, err := s.Driver.sample(ctx, s.t, s.trips, s.sent)
	if err != nil {
		return fmt.Errorf("%s: %w", s.o.Command[0], err)
	}
	s.out, s.trips = out, tripsOf(out)
	s.sent += sample.Messages
	if sample.Round = round; round > 0 && out.verdict == OK {
		s.samples = append(s.samples, sample)
	}
	return nil
}
