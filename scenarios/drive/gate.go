package drive

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// Undecided returns an error if nothing failed in a search for which there was no time to the end,
// if a size that was asked for was not tried, or if no answer in a replay of recorded messages
// could be compared.
func Undecided(set *results.Set) error {
	reach := results.ReachOf(set.Targets)
	for _, t := range set.Targets {
		e := t.Evidence.Limit
		r := t.Evidence.Replay
		switch {
		case t.Verdict == results.VerdictNotTried && e == nil:
			return fmt.Errorf("%s was asked for and not tried: %s",
				results.FormatSize(t.Size), t.Evidence.Why)
		case r != nil && r.Undecided > 0 && r.Undecided == r.Compared:
			return errors.New(t.Evidence.Why)
		case e == nil || len(reach.Limits) > 0:
		case t.Verdict == results.VerdictNotTried:
			return fmt.Errorf("large replies were not tried: %s", t.Evidence.Why)
		case e.CutShort && set.Targets[0].Evidence.Limit != nil: // no sweep came before the search
			return fmt.Errorf("no %s above %s was tried: the time was over", e.Side,
				results.FormatSize(*t.SearchedTo))
		}
	}
	return nil
}

// Failed returns an error if
//   - every size that was tried failed,
//   - a size failed although the search for the limit found that it is not too large,
//   - a size failed under a load, or the load did not reach its rate, or
//   - a replay failed, or got answers that differ from the recording.
func Failed(set *results.Set) error {
	for _, t := range set.Targets {
		if err := failureOfReplay(t); err != nil {
			return err
		}
	}
	reach := results.ReachOf(set.Targets)
	largest := reach.Served // of the messages that are known to work
	failed := cmp.Or(reach.Failed, reach.Limited())
	for _, t := range reach.Limits {
		largest = max(largest, *t.Limit())
	}
	switch {
	case failed == nil:
		return nil
	case failed.Evidence.Load != nil && failed.Verdict != results.VerdictErrorReply:
		return fmt.Errorf("the server fails under a load: %s: %s",
			view.FailureText(*failed), failed.Evidence.Why)
	case reach.FailsAtAnySize() && failed.FailsOnCharacters():
		return errors.New("the server fails on characters other than ASCII letters and digits")
	case reach.FailsAtAnySize():
		return errors.New("the server " + view.AnySizeText(*failed))
	case failed.Verdict == string(target.Ignored):
		return errors.New("the server " + view.FailureText(*failed))
	case largest == 0:
		return errors.New("the server fails at the smallest size that was tried")
	}
	return nil
}

// failureOfReplay returns an error if t is about a replay that failed.
func failureOfReplay(t results.Target) error {
	r := t.Evidence.Replay
	switch {
	case r == nil:
		return nil
	case r.FailedAtMessage > 0:
		return fmt.Errorf("the replay ended at message %d to the server: %s",
			r.FailedAtMessage, view.FailureText(t))
	case r.Different > 0:
		return fmt.Errorf("%d of %d answers are not as recorded: %s",
			r.Different, r.Compared, t.Evidence.Why)
	case t.Verdict == string(target.Differs):
		return errors.New(t.Evidence.Why)
	}
	return nil
}
