package claims

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// pipeClaims are the claims of document 000 about pipes.
var pipeClaims = []Claim{
	{
		ID:   "000-pipe-buf",
		Says: "Only writes of up to 512 bytes (PIPE_BUF) stay whole in a pipe",
		MacOS: "XNU's sys/syslimits.h has 512, and pipe_write splits a longer write only where " +
			"it has to wait for room",
		Needs: []string{pipe("interleave")},
		Judge: judgePipeBuf,
	},
	{
		ID:   "000-capacity",
		Says: "A pipe holds 64 KiB",
		MacOS: "XNU: a new pipe has 512 bytes and grows, at the start of a write that does not " +
			"fit, to at most 64 KiB; once all pipes together hold 16 MiB none grows any more",
		Needs: []string{pipe("capacity/fill/4096")},
		Judge: func(e *Evidence) Judgement {
			n := e.number(pipe("capacity/fill/4096"))
			figure := fmt.Sprintf("%d B accepted", n)
			if n == 64<<10 {
				return holds(figure, "exactly that much was accepted while nobody read; "+
					"by default, and for writes that fill pages")
			}
			return refuted(figure, "a pipe of this system holds something else by default: "+
				"capacity is counted in pages, and may be limited by user")
		},
	},
	{
		ID:    "000-write-blocks",
		Says:  "Writing more than 64 KiB at once may block",
		MacOS: "XNU's pipe_write fills the pipe and sleeps until a reader makes room",
		Needs: []string{pipe("broken/after-0/accepted"), pipe("broken/after-0/error")},
		Judge: func(e *Evidence) Judgement {
			figure := fmt.Sprintf("%d B accepted", e.number(pipe("broken/after-0/accepted")))
			if e.hasValue(pipe("broken/after-0/error"), syspipe.ErrorName(nil)) {
				return refuted(figure, "the write returned although nobody read")
			}
			return holds(figure, "the write waits for a reader as soon as the pipe is full, "+
				"and goes on when one reads")
		},
	},
	{
		ID:   "000-write-eagain",
		Says: "Writing more than 64 KiB at once may fail with EAGAIN",
		MacOS: "XNU returns a short count while anything fits, and EAGAIN, on a non-blocking " +
			"descriptor, only when nothing does: fill level and mode decide, not size",
		Needs: []string{pipe("growth/first-write"), pipe("full/write"),
			pipe("poll/writable-after")},
		Judge: func(e *Evidence) Judgement {
			first := e.number(pipe("growth/first-write"))
			figure := fmt.Sprintf("first %d of 1048576 B, then EAGAIN", first)
			switch {
			case !e.hasValue(pipe("full/write"), "EAGAIN"),
				e.hasValue(pipe("poll/writable-after"), "unsupported"): // no non-blocking mode
				return refuted("", "this system has no EAGAIN for pipes: a write that has no "+
					"room waits, or reports zero bytes")
			case first == 0:
				return holds(figure, "the write was refused although the pipe was empty")
			}
			return depends(figure, "only on a non-blocking descriptor, and only when nothing "+
				"fits: the large write is cut short first, and a write of 1 byte to a full pipe "+
				"gets EAGAIN as well")
		},
	},
	{
		ID:   "000-write-epipe",
		Says: "A pipe fails above 64 KiB: a larger write can lead to EPIPE",
		MacOS: "XNU returns EPIPE when the reading end is closed, and then drops the count of " +
			"what it had taken; size has no part in it",
		Needs: []string{pipe("broken/no-reader")},
		Judge: func(e *Evidence) Judgement {
			if e.hasValue(pipe("broken/no-reader"), "EPIPE") {
				return refuted("EPIPE for 1 B, without a reader", "EPIPE says that nobody holds "+
					"the reading end any more: size has no part in it")
			}
			return depends("", "no write failed with EPIPE here: with the reader gone it said: "+
				e.finding(pipe("broken/no-reader")).Found)
		},
	},
	{
		ID:    "000-chunks-avoid-blocking",
		Says:  "Chunking works around the pipe's limit: the writer does not block",
		Needs: []string{pipe("capacity/fill/61440")},
		Judge: func(e *Evidence) Judgement {
			taken := e.number(pipe("capacity/fill/61440"))
			figure := fmt.Sprintf("%d B of chunks of 60 KiB taken while nobody reads", taken)
			if taken < 1<<20 {
				return refuted(figure, "what keeps a writer from waiting is a reader that reads; "+
					"chunks let other messages in between, and nothing else")
			}
			return depends(figure, "a message of 1 MiB did not have to wait here")
		},
	},
	{
		ID:    "000-60k-leaves-room",
		Says:  "60 KiB of data leave room for the frame's header within 64 KiB",
		Needs: []string{pipe("capacity/fill/61440")},
		Judge: func(e *Evidence) Judgement {
			// The longest header within the limits of the format, and the newline.
			header := len(fmt.Sprintf("%036d:%d:%d:\n", 0, 1<<31-2, 1<<31-1))
			size := 60<<10 + header
			figure := fmt.Sprintf("%d + %d = %d B", 60<<10, header, size)
			if int64(size) <= e.number(pipe("capacity/fill/61440")) {
				return holds(figure, fmt.Sprintf("%d bytes are left even by the longest header; "+
					"an empty pipe takes the frame whole", 64<<10-size))
			}
			return refuted(figure, "the frame does not fit the pipe")
		},
	},
}

// judgePipeBuf judges by the shortest write that was cut, because bytes of another process came
// inside it.
func judgePipeBuf(e *Evidence) Judgement {
	whole := 0    // bytes of the longest write that stayed whole
	shortest := 0 // bytes of the shortest write that was cut
	for id := range e.findings {
		size, isSize := strings.CutPrefix(id, pipe("interleave/"))
		size, _, _ = strings.Cut(size, "/")
		n, err := strconv.Atoi(size)
		switch {
		case !isSize || err != nil:
		case e.hasValue(id, true) && (shortest == 0 || n < shortest):
			shortest = n
		case e.hasValue(id, false):
			whole = max(whole, n)
		}
	}
	// A longer write than the shortest cut write may have stayed whole by luck.
	figure := fmt.Sprintf("%d B whole, %d B cut", min(whole, shortest-1), shortest)
	switch {
	case shortest == 0:
		figure = fmt.Sprintf("%d B whole", whole)
		if whole == 0 {
			figure = "" // no write had the chance to be cut
		}
		return Judgement{Verdict: results.Depends, Figure: figure,
			Unsure: true, Why: "no write was cut in this run, which is no proof that none can be"}
	case shortest <= 512:
		return refuted(figure, "not even 512 bytes stay whole")
	case shortest > 4096 && whole >= 4096:
		return refuted(figure, "writes of 4096 B stay whole; 512 is what POSIX demands at least, "+
			"and what macOS has")
	case shortest > 4096:
		return cannotTell("too little came through to tell from which size on writes are cut: " +
			"close other programs")
	}
	return holds(figure, "longer writes were cut, those of 512 bytes were not")
}
