package claims

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pipebench/pipebench/framers"
)

// headerClaims are what document 003 says.
var headerClaims = []Claim{
	{
		ID: "003-exact-sizes", Seed: "003", Where: "Transport",
		Text: "With Content-Length both sides read exactly the bytes of a message",
		Rule: "Messages with newlines, blank lines, header-like text, multi-byte characters and zero bytes. Holds if each arrives as it was sent; refuted if one does not.",
		exam: by(gatherHeaded, judgeHeaded),
	},
	{
		ID: "003-mcp-content-length", Seed: "003", Where: "Transport",
		Text: "MCP servers on stdio speak Content-Length framing",
		Rule: "Handshakes with real servers, as a line and with a header. Holds if all answer the header; refuted if none does while all answer the line; else depends.",
		exam: by(interviews, judgeHeadedMCP),
	},
}

// Headed is the evidence of 003-exact-sizes.
type Headed struct {
	Messages int      `json:"messages"`
	Altered  []string `json:"altered"` // those that did not arrive as they were sent
}

// awkward are messages that a line framing could not carry, or would cut.
var awkward = []struct{ name, text string }{
	{"newline", "{\n}"},
	{"blank line", "a\r\n\r\nb"},
	{"header inside", "Content-Length: 5\r\n\r\nhello"},
	{"multi-byte text", "é€😀"},
	{"zero bytes", "\x00\x00\x00"},
	{"last", "{}"},
}

func gatherHeaded(context.Context, *lab) (Headed, error) {
	e := Headed{Messages: len(awkward)}
	var messages [][]byte
	for _, a := range awkward {
		messages = append(messages, []byte(a.text))
	}
	err := exchange(framers.ContentLength(), messages, func(r framers.Reader) error {
		for i, want := range messages {
			got, err := r.ReadMessage()
			if err != nil || !bytes.Equal(got, want) {
				e.Altered = append(e.Altered, awkward[i].name)
			}
		}
		return nil
	})
	return e, err
}

func judgeHeaded(e Headed) Judgement {
	figure := fmt.Sprintf("%d of %d", e.Messages-len(e.Altered), e.Messages)
	if len(e.Altered) == 0 {
		return holds(figure, "the length is in bytes, so no content can be taken for the end")
	}
	return refuted(figure, "did not arrive as they were sent: "+list(e.Altered))
}

func judgeHeadedMCP(e Interviews) Judgement {
	header := e.tallyOf(func(s Server) bool { return s.ContentLength })
	line := 0
	for _, s := range e.Servers {
		if s.Newline {
			line++
		}
	}
	figure := fmt.Sprintf("header answered by %d, line by %d of %d servers", len(header.yes), line, len(e.Servers))
	switch {
	case len(header.no) == 0 && len(header.yes) > 0:
		return holds(figure, "every server answers a handshake sent with a header")
	case len(header.yes) == 0 && line == len(e.Servers) && line > 0:
		return refuted(figure, "MCP on stdio is a message a line; the header belongs to the Language Server Protocol")
	}
	return depends(figure, "answers to a header: "+list(header.yes))
}
