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
	hasLimit := false
	for _, t := range set.Targets {
		hasLimit = hasLimit || t.RequestLimit != nil || t.ReplyLimit != nil
	}
	for _, t := range set.Targets {
		e := t.Evidence.Limit
		switch {
		case e == nil || hasLimit:
		case t.Verdict == results.VerdictNotTried:
			return fmt.Errorf("large replies were not tried: %s", t.Evidence.Why)
		case e.CutShort && set.Targets[0].Evidence.Limit != nil: // no sweep came before the search
			return fmt.Errorf("no %s above %s was tried: the time was over", e.Side,
				results.FormatSize(*t.SearchedTo))
		}
		if t.Verdict == results.VerdictNotTried && e == nil {
			return fmt.Errorf("%s was asked for and not tried: %s",
				results.FormatSize(t.Size), t.Evidence.Why)
		}
		r := t.Evidence.Replay
		if r != nil && r.Undecided > 0 && r.Undecided == r.Compared {
			return errors.New(t.Evidence.Why)
		}
	}
	return nil
}

// Failed returns an error if
//   - every size that was tried failed,
//   - a size failed although the search for the limit found that it is not too large,
//   - the load did not reach its rate, or
//   - a replay failed, or got answers that differ from the recording.
func Failed(set *results.Set) error {
	var failed *results.Target
	works := false   // the server works at one size at least
	limited := false // a search met a limit
	for _, t := range set.Targets {
		if err := failureOfNoSize(t); err != nil {
			return err
		}
		if t.Verdict == results.VerdictNotTried {
			continue
		}
		isSize := t.Size > 0 // t is about messages of one size, not about a search
		metLimit := t.Evidence.Limit != nil && t.SearchedTo == nil
		// The largest size that worked in a search; nil if t is not about a search.
		largest := cmp.Or(t.SearchedTo, t.RequestLimit, t.ReplyLimit)
		works = works || isSize && t.Served() || largest != nil && *largest > 0
		if isSize && !t.Served() || failed == nil && metLimit {
			failed = &t
		}
		limited = limited || metLimit
	}
	switch {
	case failed == nil:
		return nil
	case !works:
		return errors.New("the server fails at the smallest size that was tried")
	case !limited && searchedUpTo(set, failed.Size):
		return fmt.Errorf("the server fails, and not over a size: %s", afterRequests(*failed))
	}
	return nil
}

// searchedUpTo reports whether a search for a limit found that this size is not too large. The
// result is false if any search was cut short below this size.
func searchedUpTo(set *results.Set, size int64) bool {
	found := false
	for _, t := range set.Targets {
		if t.SearchedTo == nil {
			continue
		}
		cutShort := t.Evidence.Limit != nil && t.Evidence.Limit.CutShort
		if cutShort && *t.SearchedTo < size {
			return false
		}
		found = found || *t.SearchedTo > 0 && *t.SearchedTo >= size
	}
	return found
}

// failureOfNoSize returns an error if t is about a failure whose cause was not the size of a
// message.
func failureOfNoSize(t results.Target) error {
	failure := t.Evidence.Failure
	r := t.Evidence.Replay
	switch {
	case t.Verdict == string(target.Overloaded):
		return errors.New(t.Evidence.Why)
	case failure != nil && failure.AnySize && failure.ServedBefore > 0:
		return fmt.Errorf("the server fails, and not over a size: %s", afterRequests(t))
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

// afterRequests says how a server failed, and after how many requests if it had served any.
func afterRequests(t results.Target) string {
	verdict := view.FailureText(t)
	if t.FailsOnCharacters() {
		return verdict + " with characters of several bytes, not with ASCII"
	}
	if f := t.Evidence.Failure; f != nil && f.ServedBefore > 0 {
		return fmt.Sprintf("%s after %d requests", verdict, f.ServedBefore)
	}
	return verdict
}
