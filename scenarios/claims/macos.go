package claims

import (
	"context"
	"runtime"
)

// macClaims are what document 000 says of macOS by name. On macOS they are
// judged by the same experiments as everywhere; elsewhere they cannot be
// tested, and the reason is what the kernel's source says (XNU, bsd/kern/
// sys_pipe.c and sys_generic.c).
var macClaims = []Claim{
	onMac("000-macos-pipe-buf", "On macOS, PIPE_BUF is 512 bytes",
		"XNU's sys/syslimits.h has 512, and pipe_write splits a longer write only where it has to wait for room",
		gatherAtomicity, judgeAtomicity),
	onMac("000-macos-capacity", "On macOS, a pipe holds 64 KiB",
		"XNU: a new pipe has 512 bytes and grows, at the start of a write that does not fit, to at most 64 KiB; once all pipes together hold 16 MiB none grows any more",
		gatherLargeWrite, judgeCapacity),
	onMac("000-macos-write-blocks", "On macOS, writing more than 64 KiB at once may block",
		"XNU's pipe_write fills the pipe and sleeps until a reader makes room, as other kernels do",
		gatherLargeWrite, judgeBlocks),
	onMac("000-macos-write-eagain", "On macOS, writing more than 64 KiB at once may fail with EAGAIN",
		"XNU returns a short count while anything fits, and EAGAIN, on a non-blocking descriptor, only when nothing does: fill level and mode decide, not size",
		gatherLargeWrite, judgeAgain),
	onMac("000-macos-write-epipe", "On macOS, writing more than 64 KiB at once can lead to EPIPE",
		"XNU returns EPIPE when the reading end is closed, and then drops the count of what it had taken; size has no part in it",
		gatherLargeWrite, judgeBroken),
}

// A MacEvidence is that of a claim about macOS.
type MacEvidence[E any] struct {
	OS    string `json:"os"`
	Here  E      `json:"here,omitzero"`
	Says  string `json:"source_says"`
	About string `json:"about"`
}

func onMac[E any](id, text, source string, gather func(context.Context, *lab) (E, error), rule func(E) Judgement) Claim {
	return Claim{
		ID: id, Seed: "000", Where: "The Problem", Text: text,
		Rule: "On macOS as " + id[:4] + id[len("000-macos-"):] + "; elsewhere not testable, with what the kernel's source says.",
		exam: by(func(ctx context.Context, l *lab) (MacEvidence[E], error) {
			e := MacEvidence[E]{OS: runtime.GOOS, Says: source, About: "darwin"}
			if e.OS != e.About {
				return e, nil
			}
			var err error
			e.Here, err = gather(ctx, l)
			return e, err
		}, func(e MacEvidence[E]) Judgement { return judgeMac(e, rule) }),
	}
}

// judgeMac applies the rule where the evidence comes from macOS.
func judgeMac[E any](e MacEvidence[E], rule func(E) Judgement) Judgement {
	if e.OS == e.About {
		return rule(e.Here)
	}
	return Judgement{Verdict: NotTestable, Why: e.Says}
}
