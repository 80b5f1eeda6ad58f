package turns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Start is what was counted and timed in one start of a command.
type Start struct {
	CPU  float64 // ns; of a server, ns per message; 0 if the system does not tell
	Wall float64 // ns; of a server, ns per message

	Counted bool // the system has filled Counts
	Counts  proc.Counts
	Exit    int    // exit code
	Output  string // a digest of what it printed; "" for a server
	Said    string // its last words on standard error, if it failed
	Idle    bool   // it printed and wrote nothing, and read nothing of its input

	Instructions int64 // 0 if they were not counted
}

// said returns in parentheses what a command said on failing, or "" if it said nothing.
func (s Start) said() string {
	if s.Said == "" {
		return ""
	}
	return " (" + s.Said + ")"
}

// A Starter starts a command once and returns what was counted and timed.
type Starter func(context.Context) (Start, error)

// Programs are two commands that are compared by starting them: first to count their calls, then in
// pairs, to time them.
type Programs struct {
	OldName, NewName string
	Old, New         Starter
	Input            string // the name of the file that both read; "" if there is none

	CountOnly  bool // count, but do not time
	AreServers bool // only compare times
	MayDiffer  bool // their outputs and exit codes may differ

	oldInstructions, newInstructions Starter // nil unless CountInstructions was called

	counted, underValgrind, timed starts
}

// starts are what was measured at the starts of both commands. old[i] and new[i] ran one after the
// other.
type starts struct {
	old, new []Start
	hasWoken bool // leaveOutWakeUps left some out
}

const (
	countStarts   = 2 // starts of each side for the counts
	moreStarts    = 6 // further starts of each side if the counts of any two differ
	moreValgrinds = 2 // the same under valgrind, which is slow

	// While wake-ups are unclear, the counts are taken so often, if that begins within this time.
	mostCounts = 3
	countTime  = 10 * time.Second

	closeEnough = 0.01 // pairs are run until a change of this share can be excluded
)

// Run first counts the calls of both commands, and then times pairs of starts as the plan says,
// unless the commands turn out to do different things. Together with an error, Run returns the
// comparison so far, if any.
func (p *Programs) Run(ctx context.Context, plan Plan) (*stat.Comparison, error) {
	ctx, cancel := plan.limited(ctx)
	defer cancel()
	if !p.AreServers {
		if err := p.count(ctx); err != nil {
			if len(p.counted.old) < countStarts {
				return nil, err
			}
			found, _ := p.Compare(plan.Options) // the error of count says more than this one
			return found, err
		}
		pointless := p.whyDifferent() != "" && !p.MayDiffer || plan.Gated && p.whyNotJudged() != ""
		if p.CountOnly || pointless {
			return p.Compare(plan.Options)
		}
	}
	usual := plan.Options
	plan.Options.Tolerance = min(closeEnough, cmp.Or(usual.Tolerance, closeEnough))
	_, stopped := plan.run(ctx, p)
	found, err := p.Compare(usual)
	return found, cmp.Or(stopped, err)
}

// count counts calls, and instructions if they were asked for.
func (p *Programs) count(ctx context.Context) error {
	isClear := false
	began := time.Now()
	for try := 0; try < mostCounts && !isClear && time.Since(began) < countTime; try++ {
		if err := p.counted.addForCounts(ctx, p.Old, p.New, moreStarts); err != nil {
			return err
		}
		areReadsClear := p.counted.leaveOutWakeUps(readsOf)
		isClear = p.counted.leaveOutWakeUps(writesOf) && areReadsClear
	}
	if p.oldInstructions == nil || p.whyDifferent() != "" && !p.MayDiffer {
		return nil
	}
	err := p.underValgrind.addForCounts(ctx, p.oldInstructions, p.newInstructions, moreValgrinds)
	if err != nil || p.MayDiffer {
		return err
	}
	err = p.sameAsCounted(p.underValgrind.old[0], p.underValgrind.new[0])
	if err != nil {
		p.underValgrind = starts{}
		return fmt.Errorf("under valgrind %w", err)
	}
	return nil
}

// addForCounts starts both sides countStarts times, and more times if the counts differ.
func (s *starts) addForCounts(ctx context.Context, old, new Starter, more int) error {
	const oldFirst = true
	for n := range countStarts + more {
		if n == countStarts && !s.countsDiffer() {
			return nil
		}
		if err := s.add(ctx, old, new, oldFirst); err != nil {
			return fmt.Errorf("start %d for the counts: %w", n+1, err)
		}
	}
	return nil
}

func readsOf(s *Start) (calls, bytes *int64)  { return &s.Counts.Reads, &s.Counts.ReadBytes }
func writesOf(s *Start) (calls, bytes *int64) { return &s.Counts.Writes, &s.Counts.WrittenBytes }

const wakeUp = 8 // bytes that a runtime, such as Go's, writes to an eventfd to wake itself

// leaveOutWakeUps takes the wake-ups, which chance makes more or fewer, off the counts of one kind
// of call. It returns false if nobody can tell wake-ups at every start of one side from what the
// program itself does.
func (s *starts) leaveOutWakeUps(of func(*Start) (calls, bytes *int64)) bool {
	without := starts{slices.Clone(s.old), slices.Clone(s.new), true}
	oldBytes, oldWakes := dropWakeUps(without.old, of)
	newBytes, newWakes := dropWakeUps(without.new, of)
	if !oldWakes && !newWakes {
		return true
	}
	if newBytes != oldBytes && (newBytes-oldBytes)%wakeUp == 0 {
		return false
	}
	*s = without
	return true
}

// dropWakeUps gives every start of one command the fewest calls of any, if it has but wake-ups
// more. It returns the bytes of the fewest calls, and whether there were wake-ups.
func dropWakeUps(side []Start, of func(*Start) (calls, bytes *int64)) (least int64, wakes bool) {
	byCalls := func(a, b Start) int {
		aCalls, _ := of(&a)
		bCalls, _ := of(&b)
		return cmp.Compare(*aCalls, *bCalls)
	}
	first := slices.MinFunc(side, byCalls)
	fewest, bytesOfFewest := of(&first)
	for i := range side {
		calls, bytes := of(&side[i])
		more := *calls - *fewest
		if more > 0 && *bytes-*bytesOfFewest == wakeUp*more {
			*calls = *fewest
			*bytes = *bytesOfFewest
			wakes = true
		}
	}
	return *bytesOfFewest, wakes
}

// add starts both commands once and keeps what was counted and timed.
func (s *starts) add(ctx context.Context, startOld, startNew Starter, oldFirst bool) error {
	old, new, err := inOrder(ctx, oldFirst, startOld, startNew)
	if err != nil {
		return err
	}
	s.old = append(s.old, old)
	s.new = append(s.new, new)
	return nil
}

// Pair starts both commands once, to time them. Unless MayDiffer is set, another output or exit
// code than before is an error.
func (p *Programs) Pair(ctx context.Context, oldFirst bool) error {
	if err := p.timed.add(ctx, p.Old, p.New, oldFirst); err != nil {
		return err
	}
	if p.MayDiffer || len(p.counted.old) == 0 {
		return nil
	}
	last := len(p.timed.old) - 1
	err := p.sameAsCounted(p.timed.old[last], p.timed.new[last])
	if err != nil { // the time of such a pair tells nothing
		p.timed.old = p.timed.old[:last]
		p.timed.new = p.timed.new[:last]
	}
	return err
}

// sameAsCounted returns an error if a command has another output or exit code than when it was
// first counted.
func (p *Programs) sameAsCounted(old, new Start) error {
	const otherExit = "%s exited with %d, and with %d before"
	firstOld, firstNew := p.counted.old[0], p.counted.new[0]
	switch {
	case old.Exit != firstOld.Exit:
		return fmt.Errorf(otherExit, "the old one", old.Exit, firstOld.Exit)
	case new.Exit != firstNew.Exit:
		return fmt.Errorf(otherExit, "the new one", new.Exit, firstNew.Exit)
	case old.Output != firstOld.Output:
		return errors.New("the old one printed something else than before")
	case new.Output != firstNew.Output:
		return errors.New("the new one printed something else than before")
	}
	return nil
}

// countsDiffer reports whether the calls or the instructions of any two starts differ.
func (s *starts) countsDiffer() bool {
	first := s.old[0]
	for _, one := range slices.Concat(s.old, s.new) {
		if one.Counts != first.Counts || one.Instructions != first.Instructions {
			return true
		}
	}
	return false
}

// whyNotJudged says why the commands cannot be judged, or "" if they did their work.
func (p *Programs) whyNotJudged() string {
	counted := slices.Concat(p.counted.old, p.counted.new)
	if len(counted) == 0 {
		return ""
	}
	isBusy := func(s Start) bool { return !s.Idle }
	switch {
	case p.bothFail():
		how := p.differentExits()
		if how == "" {
			how = fmt.Sprintf("they exit with %d%s", counted[0].Exit, counted[0].said())
		}
		return "both fail: " + how + ": a gate says nothing of commands that fail; " +
			"if they should, write sh -c 'COMMAND || true'"
	case slices.ContainsFunc(counted, isBusy):
		return ""
	}
	return "neither printed anything nor read of " + p.Input
}

func isFailure(s Start) bool { return s.Exit != 0 }
func isSuccess(s Start) bool { return s.Exit == 0 }

// bothFail reports whether both commands failed at every start.
func (p *Programs) bothFail() bool {
	counted := slices.Concat(p.counted.old, p.counted.new)
	return len(counted) > 0 && !slices.ContainsFunc(counted, isSuccess)
}

// newFails reports whether the new command failed at a start, and the old one never.
func (p *Programs) newFails() bool {
	return slices.ContainsFunc(p.counted.new, isFailure) &&
		!slices.ContainsFunc(p.counted.old, isFailure)
}

// whyDifferent says how the two commands differ in what they do, or "" if they do the same.
func (p *Programs) whyDifferent() string {
	old, new := p.counted.old, p.counted.new
	exits := p.differentExits()
	switch {
	case exits != "" && p.bothFail():
		return "their exit codes differ" // whyNotJudged gives them
	case exits != "":
		return exits
	}
	for i := range old {
		if old[i].Output != old[0].Output || new[i].Output != new[0].Output {
			return "a command prints something else at each start, so nobody can tell whether " +
				"both do the same"
		}
	}
	if len(old) > 0 && old[0].Output != new[0].Output {
		return "the two do not print the same"
	}
	return ""
}

// differentExits says how the exit codes of both commands differ, or "" if they are the same.
func (p *Programs) differentExits() string {
	old, new := p.counted.old, p.counted.new
	for i := range old {
		if old[i].Exit != new[i].Exit {
			return fmt.Sprintf("the old one exits with %d%s, the new one with %d%s",
				old[i].Exit, old[i].said(), new[i].Exit, new[i].said())
		}
	}
	return ""
}
