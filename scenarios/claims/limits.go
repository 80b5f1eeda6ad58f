package claims

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults/evidence"
)

// frameLimit is the limit of document 001, in bytes.
const frameLimit = 16 << 20

// limitClaims are what document 001 says of its limit.
var limitClaims = []Claim{
	{
		ID: "001-exact", Seed: "001", Where: "Implementation Details",
		Text: "A message of exactly 16 MiB passes, one byte more closes the connection",
		Rule: "Holds if a line of 16777216 bytes is delivered, one of 16777217 is not, and nothing is after it; refuted if not.",
		exam: by(gatherExact, judgeExact),
	},
	{
		ID: "001-check-free", Seed: "001", Where: "Consequences",
		Text: "The check costs nothing: looking at a length is O(1)",
		Rule: "Time of the comparison over the time of receiving a message of 64 KiB. Holds below 0.1 %; refuted above 1 %; else depends.",
		exam: by(gatherCheck, judgeCheck),
	},
	{
		ID: "001-prevents-allocation", Seed: "001", Where: "Consequences",
		Text: "The limit prevents allocations of 100 MB and more",
		Rule: "100 MiB in one line, to a process that checks the size of a frame it has whole (as printed), and to one that checks while it reads. Refuted if the former got 100 MiB of memory for it; depends if only its share did; holds if it got less.",
		exam: by(gatherPrevent, judgePrevent),
	},
	{
		ID: "001-closing-safer", Seed: "001", Where: "Why Not Send Error Response?",
		Text: "Closing the connection is simpler and safer than answering with an error",
		Rule: "A line of 64 MiB to clients with the four options. Holds if the one that closes held less than half the memory of the one that answers; refuted if that one held no more than a quarter more, found the request's id, and went on with the next message; else depends.",
		exam: by(gatherOptions, judgeOptions),
	},
	fits("001-10mb-text", "A text of 10 MB fits", proseOf(10_000_000), quotesOf(10_000_000)),
	fits("001-5mb-image", "A PNG image of 5 MB in base64 fits", imageOf(5_000_000)),
	fits("001-1000-tools", "A list of 1,000 tools with descriptions fits", toolsOf(1000)),
	{
		ID: "001-50mb-excluded", Seed: "001", Where: "Rationale for 16MB",
		Text: "A video of 50 MB does not fit",
		Rule: "Holds if base64 of 50,000,000 bytes in a message is refused by a reader with the limit; refuted if it passes.",
		exam: by(gatherFits(videoOf(50_000_000)), judgeExcluded),
	},
	{
		ID: "001-http2-1000", Seed: "001", Where: "Decision Outcome",
		Text: "16 MB is about 1,000 times HTTP/2's default frame size",
		Rule: "Holds if the limit over HTTP/2's initial SETTINGS_MAX_FRAME_SIZE (RFC 9113, section 6.5.2: 16,384) lies between 950 and 1050.",
		exam: by(gatherFrame, judgeFrame),
	},
}

// Exact is the evidence of 001-exact.
type Exact struct {
	Limit     int    `json:"limit"`
	AtLimit   bool   `json:"at_limit"` // a message of that size was delivered
	Over      bool   `json:"over"`     // one of a byte more was delivered
	Error     string `json:"error,omitempty"`
	NextAfter bool   `json:"next_after"` // a message after it was delivered
}

func gatherExact(context.Context, *lab) (Exact, error) {
	e := Exact{Limit: frameLimit}
	messages := [][]byte{message(frameLimit), message(frameLimit + 1), message(100)}
	err := exchange(framers.NDJSON(), messages, func(r framers.Reader) error {
		got, err := r.ReadMessage()
		e.AtLimit = err == nil && len(got) == frameLimit
		got, err = r.ReadMessage()
		e.Over = err == nil && len(got) > frameLimit
		if err != nil {
			e.Error = err.Error()
		}
		_, err = r.ReadMessage()
		e.NextAfter = err == nil
		return nil
	}, framers.WithMaxMessage(frameLimit))
	return e, err
}

func judgeExact(e Exact) Judgement {
	figure := fmt.Sprintf("limit %d B", e.Limit)
	switch {
	case e.AtLimit && !e.Over && !e.NextAfter:
		return holds(figure, "the last byte decides, and nothing is read after it")
	case !e.AtLimit:
		return refuted(figure, "a message of exactly the limit was refused")
	case e.Over:
		return refuted(figure, "a message beyond the limit passed")
	}
	return refuted(figure, "the reader went on after a message beyond the limit")
}

// Check is the evidence of 001-check-free.
type Check struct {
	Size      int           `json:"size"`       // bytes of a message
	CheckNS   stat.Estimate `json:"check_ns"`   // of one comparison
	MessageNS stat.Estimate `json:"message_ns"` // of receiving a message
	Share     stat.Estimate `json:"share"`      // the former over the latter, round by round
}

func gatherCheck(context.Context, *lab) (Check, error) {
	e := Check{Size: 64 << 10}
	msg := message(e.Size)
	var checks, messages, shares []float64
	for range stat.LeastSamples {
		check := timeChecks()
		each, err := timeMessages(msg)
		if err != nil {
			return e, err
		}
		checks, messages, shares = append(checks, check), append(messages, each), append(shares, check/each)
	}
	e.CheckNS, e.MessageNS, e.Share = stat.Median(checks), stat.Median(messages), stat.Median(shares)
	return e, nil
}

// timeChecks is what one comparison takes, in nanoseconds. Lengths come from
// memory, so that the compiler cannot know them.
func timeChecks() float64 {
	const checks = 4 << 20
	var lengths [256]int
	for i := range lengths {
		lengths[i] = i << 20
	}
	over := 0
	began := time.Now()
	for i := range checks {
		if lengths[i%len(lengths)] > frameLimit {
			over++
		}
	}
	elapsed := time.Since(began)
	runtime.KeepAlive(over)
	return float64(elapsed) / checks
}

// timeMessages is what receiving a message takes, in nanoseconds.
func timeMessages(msg []byte) (float64, error) {
	messages := slices.Repeat([][]byte{msg}, 500)
	began := time.Now()
	err := exchange(framers.NDJSON(), messages, func(r framers.Reader) error {
		for range messages {
			if _, err := r.ReadMessage(); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(time.Since(began)) / float64(len(messages)), err
}

func judgeCheck(e Check) Judgement {
	figure := fmt.Sprintf("%.2g ns of %.3g µs, %.2g %%, n = %d", e.CheckNS.Median, e.MessageNS.Median/1000, 100*e.Share.Median, e.Share.N)
	switch {
	case e.Share.Below(0.001):
		return holds(figure, "one comparison for a message; what costs is what the frame took before it could be checked")
	case e.Share.Above(0.01):
		return refuted(figure, "the check takes a noticeable share of receiving a message")
	}
	return depends(figure, "the check takes a small share of receiving a message")
}

// Prevent is the evidence of 001-prevents-allocation.
type Prevent struct {
	Sent  int64 `json:"sent"`
	Limit int   `json:"limit"`
	Late  Kept  `json:"late"`  // checks a frame that it has whole
	Early Kept  `json:"early"` // checks while it reads
}

func gatherPrevent(ctx context.Context, _ *lab) (Prevent, error) {
	e := Prevent{Sent: 100 << 20, Limit: frameLimit}
	msg := message(int(e.Sent))
	send := func(w io.Writer) error { return framers.NDJSON().NewWriter(w).WriteMessage(msg) }
	var err error
	if e.Late, err = keep(ctx, keeperArgs{Limit: frameLimit, Late: true}, e.Sent, send); err != nil {
		return e, err
	}
	e.Early, err = keep(ctx, keeperArgs{Framing: "ndjson", Limit: frameLimit}, e.Sent, send)
	return e, err
}

func judgePrevent(e Prevent) Judgement {
	figure := fmt.Sprintf("%s held; %s where checked while reading", evidence.Size(e.Late.Held), evidence.Size(e.Early.Held))
	switch {
	case e.Late.Held >= e.Sent:
		return refuted(figure, "as printed the check sees a frame that is in memory already; it prevents the decoding, not the allocation")
	case e.Late.Held > int64(e.Limit):
		return depends(figure, "less than the message was allocated, and more than the limit")
	}
	return holds(figure, "the memory stayed within the limit")
}

// Frame is the evidence of 001-http2-1000.
type Frame struct {
	Limit int `json:"limit"` // bytes
	HTTP2 int `json:"http2"` // bytes
}

func gatherFrame(context.Context, *lab) (Frame, error) { return Frame{frameLimit, 1 << 14}, nil }

func judgeFrame(e Frame) Judgement {
	ratio := float64(e.Limit) / float64(e.HTTP2)
	figure := fmt.Sprintf("×%.5g", ratio)
	if ratio >= 950 && ratio <= 1050 {
		return holds(figure, "1,024 times; but an HTTP/2 frame is a part of a message, as a chunk is, and limits no message")
	}
	return refuted(figure, "the ratio is another one")
}
