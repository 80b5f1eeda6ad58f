package results

import "cmp"

// A Reach is what all records about a server say together of the sizes of messages.
type Reach struct {
	Served   int64     // bytes of the largest request that is known to work
	Failed   *Target   // the first size that failed
	Limits   []*Target // the limits that were found, at most one of requests and one of replies
	Stopped  *Target   // the search in which the tool made no larger replies
	CutShort *Target   // the search that met no limit in its time
	NotTried []*Target // sizes, or large replies, that were not tried
}

// ReachOf sums up the records about one server. The result points into targets.
func ReachOf(targets []Target) Reach {
	var r Reach
	for i := range targets {
		r.add(&targets[i])
	}
	return r
}

func (r *Reach) add(t *Target) {
	e := t.Evidence.Limit
	switch {
	case t.Verdict == VerdictNotTried:
		r.NotTried = append(r.NotTried, t)
	case t.Limit() != nil:
		r.Limits = append(r.Limits, t)
	case t.RepliesStopped():
		r.Stopped = t
	case t.SearchedTo != nil:
		isCut := e != nil && e.CutShort
		if isCut {
			r.CutShort = t
		}
		if !isCut || e.Side == "request" {
			r.Served = max(r.Served, *t.SearchedTo)
		}
	case t.Size > 0 && t.Served():
		r.Served = max(r.Served, t.Size)
	case t.Size > 0:
		r.Failed = cmp.Or(r.Failed, t)
	}
}

// Limited returns the record of the smallest limit, or nil if no limit was found.
func (r Reach) Limited() *Target {
	var least *Target
	for _, t := range r.Limits {
		if least == nil || *t.Limit() < *least.Limit() {
			least = t
		}
	}
	return least
}

// FailsAtAnySize reports whether a server failed after some requests, and would have if all had
// been small, or although their size works, as a new process or a search showed.
func (r Reach) FailsAtAnySize() bool {
	if r.Failed == nil {
		return false
	}
	f := r.Failed.Evidence.Failure
	isShown := f.IsOfNoSize() && f.ServedBefore > 0
	isDecided := r.CutShort == nil || *r.CutShort.SearchedTo >= r.Failed.Size
	return isShown || len(r.Limits) == 0 && r.Served >= r.Failed.Size && isDecided
}
