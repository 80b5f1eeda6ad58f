package claims

import (
	"fmt"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/claims/trials"
)

const (
	limit     = "trial/limit/"
	oversize  = "trial/oversize/"
	rationale = "Rationale for 16MB"
)

// limitClaims are what document 001 says of its limit.
var limitClaims = []Claim{
	{
		ID: "001-exact", Where: "Implementation Details",
		Says:  "A message of exactly 16 MiB passes, one byte more closes the connection",
		Needs: []string{limit + "exact", limit + "one-more", limit + "after"},
		Judge: func(e *Evidence) Judgement {
			const figure = "limit 16777216 B"
			switch {
			case !e.is(limit+"exact", true):
				return refuted(figure, "a message of exactly the limit was refused")
			case e.is(limit+"one-more", true):
				return refuted(figure, "a message beyond the limit passed")
			case e.is(limit+"after", true):
				return refuted(figure, "the reader went on after a message beyond the limit")
			}
			return holds(figure, "the last byte decides, and nothing is read after it")
		},
	},
	{
		ID: "001-check-free", Where: "Consequences",
		Says: "The check costs nothing: looking at a length is O(1)",
		Judge: func(*Evidence) Judgement {
			return noted("one comparison", "one comparison for a message; what costs is what the "+
				"frame took before it could be checked")
		},
	},
	{
		ID: "001-prevents-allocation", Where: "Consequences",
		Says:  "The limit prevents allocations of 100 MB and more",
		Needs: []string{memory + "limit-late", memory + "limit-early"},
		Judge: func(e *Evidence) Judgement {
			var late, early trials.Received
			e.decode(memory+"limit-late", &late)
			e.decode(memory+"limit-early", &early)
			figure := fmt.Sprintf("%s held; %s where checked while reading",
				mib(late.Held), mib(early.Held))
			switch {
			case late.Held >= int64(late.Size):
				return refuted(figure, "as printed the check sees a frame that is in memory "+
					"already; it prevents the decoding, not the allocation")
			case late.Held > int64(late.Limit):
				return depends(figure, "less than the message was allocated, and more than the "+
					"limit")
			}
			return holds(figure, "the memory stayed within the limit")
		},
	},
	{
		ID: "001-closing-safer", Where: "Why Not Send Error Response?",
		Says: "Closing the connection is simpler and safer than answering with an error",
		Needs: []string{oversize + "close", oversize + "answer", oversize + "unlimited",
			oversize + "negotiate"},
		Judge: judgeClosing,
	},
	{
		ID: "001-10mb-text", Where: rationale,
		Says:  "A text of 10 MB fits",
		Needs: []string{limit + "text"},
		Judge: func(e *Evidence) Judgement { return e.fits("text") },
	},
	{
		ID: "001-5mb-image", Where: rationale,
		Says:  "A PNG image of 5 MB in base64 fits",
		Needs: []string{limit + "image"},
		Judge: func(e *Evidence) Judgement { return e.fits("image") },
	},
	{
		ID: "001-1000-tools", Where: rationale,
		Says:  "A list of 1,000 tools with descriptions fits",
		Needs: []string{limit + "tools"},
		Judge: func(e *Evidence) Judgement { return e.fits("tools") },
	},
	{
		ID: "001-50mb-excluded", Where: rationale,
		Says:  "A video of 50 MB does not fit",
		Needs: []string{limit + "video"},
		Judge: func(e *Evidence) Judgement {
			var fit trials.Fit
			e.decode(limit+"video", &fit)
			if fit.Good > 0 {
				return refuted(fit.Sizes, "delivered")
			}
			return holds(fit.Sizes, "refused")
		},
	},
	{
		ID: "001-http2-1000", Where: "Decision Outcome",
		Says: "16 MB is about 1,000 times HTTP/2's default frame size",
		Judge: func(*Evidence) Judgement { // RFC 9113, 6.5.2: SETTINGS_MAX_FRAME_SIZE
			return noted("×1024", "1,024 times 16,384 B; but an HTTP/2 frame is a part of a "+
				"message, as a chunk is, and limits no message")
		},
	},
	{
		ID: "001-grpc-4mb", Where: rationale,
		Says: "16 MB is in line with common limits of calls: gRPC's default is 4 MB",
		Judge: func(*Evidence) Judgement { // in grpc-go, grpc-java and grpc core
			return noted("×4", "four times as much: what passes here is refused by a gRPC "+
				"service with its default, on the way or behind")
		},
	},
	{
		ID: "001-rarely-1mb", Where: "Consequences",
		Says:  "Real-world JSON-RPC rarely exceeds 1 MB",
		Needs: []string{needServers},
		Judge: judgeLongest,
	},
}

// fits judges whether messages with some content pass the limit.
func (e *Evidence) fits(what string) Judgement {
	var fit trials.Fit
	e.decode(limit+what, &fit)
	return all(fit.Count, fit.Sizes, "delivered", "refused", "JSON escapes some characters with "+
		"one more byte, control characters with five: refused was {}")
}

// judgeClosing compares a client that closes with one that answers first.
func judgeClosing(e *Evidence) Judgement {
	var none, shut, say, ask trials.Oversize
	e.decode(oversize+"unlimited", &none)
	e.decode(oversize+"close", &shut)
	e.decode(oversize+"answer", &say)
	e.decode(oversize+"negotiate", &ask)
	figure := fmt.Sprintf("closing held %s and knew after %s, answering first %s and %s",
		mib(shut.Held), results.FormatDuration(float64(shut.DetectNS)),
		mib(say.Held), results.FormatDuration(float64(say.DetectNS)))
	switch {
	case 2*shut.Held < say.Held || 10*shut.DetectNS < say.DetectNS:
		return holds(figure, "answering takes more memory, or longer to know, than closing")
	case 4*say.Held <= 5*shut.Held && say.ID != "null":
		return refuted(figure, "answering first knows as soon and holds no more, and tells the "+
			"server which answer was too large; one that is cut off sees a broken pipe and no "+
			"reason, and one that knew the limit refuses before the first byte")
	}
	return depends(figure, "answering holds about as much, but did not name the request")
}

func judgeLongest(e *Evidence) Judgement {
	servers := e.asked("longest-line")
	longest := 0.0
	name := ""
	for _, s := range servers {
		n, _ := s.said["longest-line"].Number()
		if n > longest {
			longest = n
			name = s.name
		}
	}
	figure := fmt.Sprintf("longest line of %d servers: %.0f B", len(servers), longest)
	if longest > 1_000_000 {
		return refuted(figure, name+" sends more in a handshake or a short call")
	}
	return cannotTell(figure + ": handshakes and short answers are far below; how often a tool " +
		"returns more is up to what it is asked for: record the traffic with tap")
}
