package drive

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

const (
	adviceOnCause = "with message %d there is no answer to message %d, and without it there is " +
		"one: what it holds matters, or how many messages come before; pipebench inspect PID " +
		"tells more while your client hangs"
	adviceOnChance = "no message alone is the cause: run drive several times to see how often it " +
		"fails; pipebench inspect PID tells more while your client hangs"
)

// longReplay is how long the messages up to a failure may take if they are to be sent again.
const longReplay = 30 * time.Second

// tries is how often the messages must fail, and be answered with a change, until the change
// counts as the cause. A server that hangs in half of its starts would do both once in 64 replays.
const tries = 3

// explain notes in the record that the last of the requests failed, and what was sent right before
// it. Unless a cause is known, or there is no time, it sends the requests again: all of them, then
// in ASCII, and then without the largest message that was sent with the last.
func (r *replay) explain(ctx context.Context, requests []recorded, took time.Duration) {
	last := len(requests) - 1
	failed := &requests[last]
	why := &r.t.Evidence.Why
	*why = failed.what() + ": " + *why
	if n := r.evidence.NotJSON; n > 0 {
		r.t.Evidence.Advice = fmt.Sprintf("message %d is not JSON: the fault of the recorded "+
			"client, not of the server", n)
		if r.Framing() == "content-length" {
			r.t.Evidence.Advice += "; " + target.WrongLength.Advice()
		}
		return
	}
	named := []target.Verdict{target.WrongLength, target.Mixed, target.Buffered}
	if failed.silent || slices.Contains(named, target.Verdict(r.t.Verdict)) {
		return
	}
	observed := *why
	largest := largestBefore(requests)
	if largest < last {
		*why += fmt.Sprintf("; right after %s, which expects no answer", &requests[largest])
	}
	if r.smallFailed || max(took, r.options.Patience) >= longReplay {
		return
	}
	step := observed + ": trying the same messages again"
	if r.count(ctx, requests, failed.number, tries-1, step) < tries-1 {
		r.blameChance()
		return
	}
	plain, changed := inASCII(requests)
	if changed > 0 {
		says := fmt.Sprintf("; message %d has characters of several bytes: with ASCII in their "+
			"place, as many bytes, it is answered", changed)
		if r.try(ctx, plain, "trying them in ASCII", says, target.AdviceOnCharacters) {
			return
		}
	}
	if largest == last {
		return
	}
	number := requests[largest].number
	without := slices.Concat(requests[:largest], requests[largest+1:])
	advice := r.t.Evidence.Advice
	if r.t.Verdict == string(target.Unanswered) && !r.t.Evidence.Failure.Computed {
		advice = fmt.Sprintf(adviceOnCause, number, failed.number)
	}
	r.try(ctx, without, fmt.Sprintf("trying without message %d", number),
		fmt.Sprintf("; without message %d it is answered", number), advice)
}

// try sends changed requests, and reports whether any try was answered. It notes the given cause
// and advice in the record if all were, and chance if some were. The parameter step says what is
// done.
func (r *replay) try(
	ctx context.Context, requests []recorded, step, cause, advice string,
) bool {
	switch r.count(ctx, requests, 0, tries, step) {
	case 0:
		return false
	case tries:
		r.t.Evidence.Why += cause
		r.t.Evidence.Advice = advice
	default:
		r.blameChance()
	}
	return true
}

// blameChance notes in the record that no message is the cause.
func (r *replay) blameChance() {
	r.t.Evidence.Why += "; sent again, the same messages fail there in some tries and not in " +
		"others: it comes now and then"
	r.t.Evidence.Advice = adviceOnChance
}

// largestBefore returns the index of the largest message that was sent in one write with the last
// request. It returns the index of the last request if that was sent alone.
func largestBefore(requests []recorded) int {
	last := len(requests) - 1
	largest := last
	for i := last - 1; i >= 0 && requests[i].silent; i-- {
		if largest == last || requests[i].Size > requests[largest].Size {
			largest = i
		}
	}
	return largest
}

// inASCII returns the requests with an x for each byte that is not ASCII, and the number of the
// last message that has such bytes, or 0.
func inASCII(requests []recorded) (plain []recorded, changed int) {
	plain = slices.Clone(requests)
	for i := range plain {
		body := slices.Clone(plain[i].Body)
		for k := range body {
			if body[k] >= utf8.RuneSelf {
				body[k] = 'x'
				changed = plain[i].number
			}
		}
		plain[i].Body = body
	}
	return plain, changed
}

// count sends the requests up to most times, and returns how many times in a row failsAt returned
// the given number.
func (r *replay) count(
	ctx context.Context, requests []recorded, number, most int, step string,
) int {
	for n := range most {
		if r.failsAt(ctx, requests, step) != number {
			return n
		}
	}
	return most
}

// failsAt sends the requests to another process of the server, and returns the number of the one
// that is not served, or 0. If the server does not start, that is the last, as before. It does not
// wait long for the answer to the last. The parameter step says what is done.
func (r *replay) failsAt(ctx context.Context, requests []recorded, step string) int {
	r.end(false /* politely */)
	r.observe(step)
	again := &replay{Driver: r.Driver, t: r.record(), evidence: &results.ReplayEvidence{}}
	for i := range requests {
		again.brief = i == len(requests)-1
		served, err := again.send(ctx, &requests[i], false /* last */)
		if err != nil {
			return requests[len(requests)-1].number
		}
		if !served {
			return requests[i].number
		}
	}
	return 0
}
