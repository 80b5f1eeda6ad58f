package claims

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/failures"
)

const (
	oversized = "failure/oversized-line/"
	rationale = "Rationale for 16MB"

	checksLate  = "failure/no-newline/checks-late"
	checksEarly = "failure/no-newline/closes"
)

// limitClaims are what document 001 says of its limit.
var limitClaims = []Claim{
	{
		ID: "001-exact", Where: "Implementation Details",
		Says:  "A message of exactly 16 MiB passes, one byte more closes the connection",
		Needs: []string{oversized + "exact", oversized + "closes"},
		Judge: func(e *Evidence) Judgement {
			const figure = "limit 16777216 B"
			switch {
			case !e.isSound(oversized + "exact"):
				return refuted(figure, "a message of exactly the limit was refused")
			case e.finding(oversized+"closes").Class != failures.Refused:
				return refuted(figure, "the reader went on beyond the limit")
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
		Needs: []string{checksLate, checksEarly},
		Judge: func(e *Evidence) Judgement {
			figure := fmt.Sprintf("checked late: %s; checked while reading: %s",
				e.finding(checksLate).Found, e.finding(checksEarly).Found)
			switch {
			case e.isSound(checksLate):
				return holds(figure, "the memory stayed within the limit")
			case e.isSound(checksEarly):
				return refuted(figure, "as printed the check sees a frame that is in memory "+
					"already; it prevents the decoding, not the allocation")
			}
			return depends(figure, "no check kept the memory within the limit here")
		},
	},
	{
		ID: "001-closing-safer", Where: "Why Not Send Error Response?",
		Says: "Closing the connection is simpler and safer than answering with an error",
		Judge: func(*Evidence) Judgement {
			return noted("call --oversize close, error, negotiate", "a client knows of an "+
				"oversized answer at the same byte, and holds as much, whether it closes or "+
				"answers first; only an answer tells the server which request was too large, "+
				"and a limit that both know keeps it from being sent")
		},
	},
	{
		ID: "001-10mb-text", Where: rationale,
		Says: "A text of 10 MB fits",
		Judge: func(*Evidence) Judgement {
			const sentence = "The quick brown fox jumps over the lazy dog, and says so. "
			prose := strings.Repeat(sentence, 10_000_000/len(sentence)+1)[:10_000_000]
			return judgeFit(content{"prose", prose},
				content{"all quotation marks", strings.Repeat(`"`, 10_000_000)})
		},
	},
	{
		ID: "001-5mb-image", Where: rationale,
		Says:  "A PNG image of 5 MB in base64 fits",
		Judge: func(*Evidence) Judgement { return judgeFit(base64Of(5_000_000)) },
	},
	{
		ID: "001-1000-tools", Where: rationale,
		Says:  "A list of 1,000 tools with descriptions fits",
		Judge: func(*Evidence) Judgement { return judgeFit(content{"tools", tools(1000)}) },
	},
	{
		ID: "001-50mb-excluded", Where: rationale,
		Says: "A video of 50 MB does not fit",
		Judge: func(*Evidence) Judgement {
			j := judgeFit(base64Of(50_000_000))
			if j.Verdict == results.Refuted {
				return holds(j.Figure, "beyond the limit")
			}
			return refuted(j.Figure, "within the limit")
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
		Says: "Real-world JSON-RPC rarely exceeds 1 MB",
		Judge: func(*Evidence) Judgement {
			return cannotTell("handshakes and short answers are far below; how often a tool " +
				"returns more is up to what it is asked for: record the traffic with tap")
		},
	},
}

// frameLimit is the limit on messages that is often recommended, in bytes.
const frameLimit = 16 << 20

// A content is what a message carries.
type content struct {
	name  string
	value any
}

func base64Of(n int) content {
	return content{"base64", base64.StdEncoding.EncodeToString(make([]byte, n))}
}

// tools is a list of n tools with descriptions.
func tools(n int) []map[string]any {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"query": map[string]any{"type": "string", "description": "What to look for"},
			"limit": map[string]any{"type": "integer", "description": "How many at most"},
		},
		"required": []string{"query"},
	}
	description := strings.Repeat("Says what the tool does and when to use it. ", 10)
	var list []map[string]any
	for i := range n {
		list = append(list, map[string]any{
			"name": fmt.Sprintf("tool_%d", i), "description": description, "inputSchema": schema,
		})
	}
	return list
}

// judgeFit judges whether messages with some contents keep to the limit: that is arithmetic.
func judgeFit(contents ...content) Judgement {
	var c count
	var sizes []string
	for _, part := range contents {
		msg, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": 1, "result": map[string]any{"content": part.value},
		})
		if err != nil {
			return cannotTell(err.Error())
		}
		c.add(part.name, len(msg) <= frameLimit)
		sizes = append(sizes, fmt.Sprintf("%s: %.1f MiB", part.name, float64(len(msg))/(1<<20)))
	}
	return all(c, strings.Join(sizes, ", "), "within the limit of 16 MiB", "beyond the limit",
		"JSON escapes some characters with one more byte, control characters with five: beyond "+
			"the limit is {}")
}
