package claims

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/failures"
)

// IDs of findings of package failures about messages that are sent in chunks. The first two are
// only the beginnings of such IDs.
const (
	chunks      = "failure/broken-chunks/"                           // faulty chunks
	memory      = "failure/kept-memory/"                             // the receiver's memory
	toLines     = "failure/framing-mismatch/adaptive:4096-to-ndjson" // to a peer without chunks
	fromLines   = "failure/framing-mismatch/ndjson-to-adaptive:4096" // from a peer without chunks
	joinedText  = "failure/split-utf8/bytes"                         // chunks joined as bytes
	decodedText = "failure/split-utf8/strict"                        // each chunk decoded as text
)

// chunkClaims are the claims of document 000 about chunks.
var chunkClaims = []Claim{
	{
		ID:    "000-overhead-bytes",
		Says:  "Chunking adds less than 1 % to the bytes on the wire",
		Needs: []string{needCosts},
		Judge: judgeWire,
	},
	{
		ID:    "000-overhead-time",
		Says:  "Chunking adds less than 1 % to the time of a message",
		Needs: []string{needCosts},
		Judge: func(e *Evidence) Judgement { return e.costsAtMost(1.01, "time", anySize) },
	},
	{
		ID:    "000-overhead-cpu",
		Says:  "Chunking adds less than 1 % to the CPU time of a message",
		Needs: []string{needCosts},
		Judge: func(e *Evidence) Judgement { return e.costsAtMost(1.01, "cpu", anySize) },
	},
	{
		ID:    "000-latency-small",
		Says:  "Messages below 60 KiB have no additional latency",
		Needs: []string{needTrips},
		Judge: judgeSmall,
	},
	{
		ID:    "000-throughput",
		Says:  "Chunking has no significant impact on throughput",
		Needs: []string{needCosts},
		Judge: func(e *Evidence) Judgement { return e.costsAtMost(1+noticeable, "time", 65_000) },
	},
	{
		ID:    "000-any-size",
		Says:  "Chunking lets messages of any size pass",
		Needs: []string{memory + "64MiB"},
		Judge: func(e *Evidence) Judgement {
			if e.finding(memory+"64MiB").Class != failures.Corrupted {
				return holds("64 MiB", "it arrived as it was sent; every receiver needs a limit "+
					"all the same, and 16 MiB is the default here")
			}
			return refuted("64 MiB", "it did not arrive as it was sent")
		},
	},
	{
		ID:    "000-memory",
		Says:  "The receiver's memory is proportional to the largest message",
		Needs: []string{memory + "4MiB", memory + "16MiB", memory + "64MiB"},
		Judge: judgeMemory,
	},
	{
		ID:    "000-cleared",
		Says:  "Buffers are cleared after reassembly",
		Needs: []string{memory + "16MiB/at-once", memory + "16MiB/later"},
		Judge: judgeCleared,
	},
	{
		ID:    "000-streaming",
		Says:  "Chunks can be processed as they arrive",
		Needs: []string{chunks + "shown-early"},
		Judge: func(e *Evidence) Judgement {
			return e.ifSound(chunks+"shown-early", "each chunk was at hand before the message was "+
				"whole; it is part of a message, so what can be done with it is up to the program",
				"nothing was at hand before the message was whole")
		},
	},
	{
		ID:    "000-in-flight",
		Says:  "Several messages can be in flight at once",
		Needs: []string{chunks + "in-turn"},
		Judge: func(e *Evidence) Judgement {
			return e.ifSound(chunks+"in-turn", "the id in each frame tells the messages apart",
				"messages whose frames were interleaved did not arrive as they were sent")
		},
	},
	{
		ID:    "000-missing-chunks",
		Says:  "A chunk that is lost is detected",
		Needs: []string{chunks + "lost", chunks + "lost-open"},
		Judge: func(e *Evidence) Judgement {
			return inPart(e.finding(chunks+"lost").Class == failures.Refused,
				e.finding(chunks+"lost-open").Class == failures.Refused, "",
				"the receiver names the chunk that is missing",
				"only when the stream ends, or after a time without news of the message (a "+
					"minute here): on an open stream a lost chunk looks like one that is late",
				"the message was lost without an error")
		},
	},
	{
		ID:    "000-out-of-order",
		Says:  "Chunks that arrive out of order fail",
		Needs: []string{chunks + "swapped"},
		Judge: func(e *Evidence) Judgement {
			if e.isSound(chunks + "swapped") {
				return refuted("two frames swapped", "the index in each frame says where it "+
					"belongs: the receiver here puts them in order")
			}
			return holds("two frames swapped", "the message is refused")
		},
	},
	{
		ID:    "000-invalid-frames",
		Says:  "An invalid frame is detected",
		Needs: []string{chunks + "invalid"},
		Judge: func(e *Evidence) Judgement {
			var c count
			for _, id := range slices.Sorted(maps.Keys(e.findings)) {
				if part, ok := strings.CutPrefix(id, chunks+"invalid/"); ok {
					c.add(part, e.finding(id).Class == failures.Refused)
				}
			}
			return inAllCases(c, c.of("faults refused"), "every faulty frame was refused",
				"no faulty frame was refused",
				"the header is checked, and nothing checks the rest; passed: {}")
		},
	},
	{
		ID:    "000-unchunked-peers",
		Says:  "Peers that do not chunk still work (backward compatible)",
		Needs: []string{toLines, fromLines},
		Judge: judgePeers,
	},
	{
		ID:    "000-protocol-agnostic",
		Says:  "Chunking is protocol agnostic: multi-byte text arrives, too",
		Needs: []string{joinedText, decodedText},
		Judge: judgeText,
	},
}

func judgeMemory(e *Evidence) Judgement {
	var sizes, held []float64
	for _, mib := range []int{4, 16, 64} {
		n := e.number(fmt.Sprintf("%s%dMiB", memory, mib))
		sizes = append(sizes, float64(mib<<20))
		held = append(held, float64(max(n, 4<<10))) // less than a page counts as a page
	}
	growth, err := stat.FitGrowth(sizes, held)
	if err != nil {
		return cannotTell(err.Error())
	}
	times := float64(e.number(memory+"64MiB")) / (64 << 20)
	figure := fmt.Sprintf("%s; %.1f × at 64 MiB", growth, times)
	if growth.Slope >= 0.7 && growth.Slope <= 1.3 {
		return holds(figure, "memory grows as the message does")
	}
	return refuted(figure, "memory does not grow as the message does")
}

// judgeCleared compares how much memory the receiver held directly after a large message and how
// much it held some small messages later.
func judgeCleared(e *Evidence) Judgement {
	atOnce := e.finding(memory + "16MiB/at-once")
	later := e.finding(memory + "16MiB/later")
	isFreed := atOnce.Class == failures.Sound
	return inPart(isFreed || later.Class == failures.Sound, isFreed,
		atOnce.Found+", "+later.Found,
		"the receiver let go of the large message's buffer when it had delivered the message",
		"the receiver keeps the buffer of the largest message, and lets go of it when smaller "+
			"ones have come for a while",
		"the receiver keeps the buffer of the largest message it has seen")
}

func judgePeers(e *Evidence) Judgement {
	to := e.isSound(toLines)
	from := e.isSound(fromLines)
	figure := fmt.Sprintf("to lines: %s; from lines: %s",
		e.finding(toLines).Found, e.finding(fromLines).Found)
	switch {
	case to && from:
		return holds(figure, "messages pass both ways")
	case from:
		return depends(figure, "what a line peer sends is understood; what it gets in chunks is "+
			"no message to it, and it drops or refuses that")
	case to:
		return depends(figure, "a line peer understands, and is not understood")
	}
	return refuted(figure, "messages pass neither way")
}

func judgeText(e *Evidence) Judgement {
	figure := fmt.Sprintf("joined as bytes: %s; decoded frame by frame: %s",
		e.finding(joinedText).Found, e.finding(decodedText).Found)
	return inPart(e.isSound(joinedText), e.isSound(decodedText), figure,
		"no message was lost",
		"a chunk may end inside a character: a receiver that takes each frame for text, as the "+
			"document's data type suggests, loses the message",
		"messages were lost although their bytes were joined before they were decoded")
}
