package faults

// A Verdict says in a word what happened.
type Verdict string

// Verdicts, from harmless to harmful. The worst are those that no program
// notices: no error, exit code 0.
const (
	Unsupported Verdict = "unsupported" // this system cannot do it
	Sound       Verdict = "sound"       // everything arrived, in reasonable time
	Noticed     Verdict = "noticed"     // something was lost, and the program that lost it was told
	Refused     Verdict = "refused"     // the other side said no, and said so
	Slow        Verdict = "slow"        // everything arrived, at many times the cost
	Grows       Verdict = "grows"       // cost or memory grow out of proportion with size
	Stuck       Verdict = "stuck"       // nothing moves any more, and no error says so
	Orphaned    Verdict = "orphaned"    // a process outlived the one it was for
	Corrupted   Verdict = "corrupted"   // what arrived is not what was sent, and passes for it
	SilentLoss  Verdict = "silent-loss" // something was lost, and nobody was told
)

// Verdicts lists them all, from harmless to harmful.
func Verdicts() []Verdict {
	return []Verdict{Unsupported, Sound, Noticed, Refused, Slow, Grows, Stuck, Orphaned, Corrupted, SilentLoss}
}
