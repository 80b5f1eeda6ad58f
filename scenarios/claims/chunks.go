package claims

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/claims/trials"
)

const (
	performance = "Performance Considerations"
	chunks      = "trial/chunks/"
	memory      = "trial/memory/"
)

// Failures that say what becomes of messages between a peer that chunks and one that does not, and
// of text of which a chunk may end inside a character.
const (
	toLines     = "failure/framing-mismatch/adaptive:4096-to-ndjson"
	fromLines   = "failure/framing-mismatch/ndjson-to-adaptive:4096"
	joinedText  = "failure/split-utf8/bytes"
	decodedText = "failure/split-utf8/strict"
)

// chunkClaims are what document 000 says of chunks: what they cost, and how they are put together.
var chunkClaims = []Claim{
	{
		ID: "000-header-40", Where: "Configuration",
		Says:  "A frame's header takes about 40 bytes",
		Needs: []string{chunks + "header/least", chunks + "header/most"},
		Judge: judgeHeader,
	},
	{
		ID: "000-overhead-bytes", Where: performance,
		Says:  "Chunking adds less than 1 % to the bytes on the wire",
		Needs: []string{needCosts},
		Judge: judgeWire,
	},
	{
		ID: "000-overhead-time", Where: performance,
		Says:  "Chunking adds less than 1 % to the time of a message",
		Needs: []string{needCosts},
		Judge: func(e *Evidence) Judgement { return e.costsAtMost(1.01, "time", 0) },
	},
	{
		ID: "000-overhead-cpu", Where: performance,
		Says:  "Chunking adds less than 1 % to the CPU time of a message",
		Needs: []string{needCosts},
		Judge: func(e *Evidence) Judgement { return e.costsAtMost(1.01, "cpu", 0) },
	},
	{
		ID: "000-latency-small", Where: performance,
		Says:  "Messages below 60 KiB have no additional latency",
		Needs: []string{needTrips},
		Judge: judgeSmall,
	},
	{
		ID: "000-throughput", Where: performance,
		Says:  "Chunking has no significant impact on throughput",
		Needs: []string{needCosts},
		Judge: func(e *Evidence) Judgement { return e.costsAtMost(1+noticeable, "time", 65_000) },
	},
	{
		ID: "000-any-size", Where: "Overview",
		Says:  "Chunking lets messages of any size pass",
		Needs: []string{memory + "chunks-64MiB"},
		Judge: func(e *Evidence) Judgement {
			var got trials.Received
			e.decode(memory+"chunks-64MiB", &got)
			if got.Intact {
				return holds("64 MiB", "it arrived as it was sent; every receiver needs a limit "+
					"all the same, and 16 MiB is the default here")
			}
			return refuted("64 MiB", "it did not arrive as it was sent")
		},
	},
	{
		ID: "000-memory", Where: performance,
		Says:  "The receiver's memory is proportional to the largest message",
		Needs: []string{memory + "chunks-4MiB", memory + "chunks-16MiB", memory + "chunks-64MiB"},
		Judge: judgeMemory,
	},
	{
		ID: "000-cleared", Where: performance,
		Says:  "Buffers are cleared after reassembly",
		Needs: []string{memory + "chunks-16MiB"},
		Judge: judgeCleared,
	},
	{
		ID: "000-streaming", Where: performance,
		Says:  "Chunks can be processed as they arrive",
		Needs: []string{chunks + "early"},
		Judge: func(e *Evidence) Judgement {
			c := e.count(chunks + "early")
			return all(c, ofAll(c, "frames"), "each chunk was at hand before the next was read; "+
				"it is part of a message, so what can be done with it is up to the program",
				"nothing was at hand before the message was complete",
				"some chunks were at hand before the message was complete")
		},
	},
	{
		ID: "000-in-flight", Where: performance,
		Says:  "Several messages can be in flight at once",
		Needs: []string{chunks + "in-turn"},
		Judge: func(e *Evidence) Judgement {
			c := e.count(chunks + "in-turn")
			const lost = "messages whose frames came in turn did not arrive as they were sent: {}"
			return all(c, ofAll(c, "messages"), "the id in each frame tells the messages apart",
				lost, lost)
		},
	},
	{
		ID: "000-missing-chunks", Where: "Error Handling",
		Says:  "A chunk that is lost is detected",
		Needs: []string{chunks + "lost", chunks + "lost-open"},
		Judge: func(e *Evidence) Judgement {
			switch {
			case !e.is(chunks+"lost", true):
				return refuted("", "the message was lost without an error that names the chunk")
			case e.is(chunks+"lost-open", true):
				return holds("", "the receiver names the chunk that is missing")
			}
			return depends("", "only when the stream ends, or after a time without news of the "+
				"message (a minute here): on an open stream a lost chunk looks like one that is "+
				"late")
		},
	},
	{
		ID: "000-out-of-order", Where: "Error Handling",
		Says:  "Chunks that arrive out of order fail",
		Needs: []string{chunks + "swapped"},
		Judge: func(e *Evidence) Judgement {
			if e.is(chunks+"swapped", true) {
				return refuted("frames 1 and 2 swapped", "the index in each frame says where it "+
					"belongs: the receiver here puts them in order")
			}
			return holds("frames 1 and 2 swapped", "the message is refused")
		},
	},
	{
		ID: "000-invalid-frames", Where: "Error Handling",
		Says:  "An invalid frame is detected",
		Needs: []string{chunks + "invalid"},
		Judge: func(e *Evidence) Judgement {
			c := e.count(chunks + "invalid")
			return all(c, ofAll(c, "faults refused"), "every faulty frame was refused",
				"no faulty frame was refused",
				"the header is checked, and nothing checks the rest; passed: {}")
		},
	},
	{
		ID: "000-unchunked-peers", Where: "Compatibility",
		Says:  "Peers that do not chunk still work (backward compatible)",
		Needs: []string{toLines, fromLines},
		Judge: judgePeers,
	},
	{
		ID: "000-protocol-agnostic", Where: "How It Works",
		Says: "Chunking is protocol agnostic: whatever is sent arrives, multi-byte text " +
			"among it",
		Needs: []string{joinedText, decodedText},
		Judge: judgeText,
	},
}

// judgeHeader takes 15 % for about.
func judgeHeader(e *Evidence) Judgement {
	least := e.number(chunks + "header/least")
	most := e.number(chunks + "header/most")
	figure := fmt.Sprintf("%d to %d B", least, most)
	switch {
	case least >= 34 && most <= 46:
		return holds(figure, "36 of a UUID, two numbers, three colons and the newline")
	case most < 34 || least > 46:
		return refuted(figure, "no frame's header is near 40 bytes")
	}
	return depends(figure, "some are beyond 15 % of 40 B")
}

func judgeMemory(e *Evidence) Judgement {
	var sizes, held []float64
	times := ""
	for _, name := range []string{"chunks-4MiB", "chunks-16MiB", "chunks-64MiB"} {
		var got trials.Received
		e.decode(memory+name, &got)
		sizes = append(sizes, float64(got.Size))
		held = append(held, float64(max(got.Held, 4<<10))) // a page is the least
		times = fmt.Sprintf("%.1f × at %s", float64(got.Held)/float64(max(got.Size, 1)),
			results.FormatSize(int64(got.Size)))
	}
	growth, err := stat.FitGrowth(sizes, held)
	if err != nil {
		return cannotTell(err.Error())
	}
	figure := fmt.Sprintf("%s; %s", growth, times)
	if growth.Slope >= 0.7 && growth.Slope <= 1.3 {
		return holds(figure, "memory grows as the message does")
	}
	return refuted(figure, "memory does not grow as the message does")
}

func judgeCleared(e *Evidence) Judgement {
	var got trials.Received
	e.decode(memory+"chunks-16MiB", &got)
	figure := fmt.Sprintf("%s left at once, %s of %s left after smaller messages",
		mib(got.AtOnce), mib(got.Later), mib(int64(got.Size)))
	little := int64(got.Size / 10)
	switch {
	case got.AtOnce < little:
		return holds(figure, "the receiver let go of the large message's buffer when it had "+
			"delivered the message")
	case got.Later < little:
		return depends(figure, "the receiver keeps the buffer of the largest message, and lets "+
			"go of it when smaller ones have come for a while")
	}
	return refuted(figure, "the receiver keeps the buffer of the largest message it has seen")
}

// mib writes bytes for people.
func mib(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

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
	switch {
	case !e.isSound(joinedText):
		return refuted(figure, "messages were lost although their bytes were joined before they "+
			"were decoded")
	case !e.isSound(decodedText):
		return depends(figure, "a chunk may end inside a character: a receiver that takes each "+
			"frame for text, as the document's data type suggests, loses the message")
	}
	return holds(figure, "no message was lost")
}
