package claims

import (
	"bytes"
	"context"
	"fmt"

	"github.com/pipebench/pipebench/framers"
)

// headerClaims are what document 003 says.
var headerClaims = []Claim{
	claim("003-exact-sizes", gatherHeaded, judgeHeaded),
	claimOnServers("003-mcp-content-length", judgeContentLength),
}

// Headed is the evidence of 003-exact-sizes.
type Headed struct {
	Messages int      `json:"messages"`
	Altered  []string `json:"altered"` // those that did not arrive as they were sent
}

type awkwardMessage struct{ name, text string }

// awkward are messages that a line framing could not carry, or would cut.
var awkward = []awkwardMessage{
	{"newline", "{\n}"},
	{"blank line", "a\r\n\r\nb"},
	{"header inside", "Content-Length: 5\r\n\r\nhello"},
	{"multi-byte text", "é€😀"},
	{"zero bytes", "\x00\x00\x00"},
	{"last", "{}"},
}

func gatherHeaded(context.Context, *session) (Headed, error) {
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

func judgeHeaded(e Headed) finding {
	return finding{
		outcome: holdsIf(len(e.Altered) == 0),
		figure:  fmt.Sprintf("%d of %d", e.Messages-len(e.Altered), e.Messages),
		names:   list(e.Altered),
	}
}

func judgeContentLength(e Interviews) finding {
	header := e.tallyOf(func(s Server) bool { return s.ContentLength })
	byHeader := len(header.yes)
	byLine := len(header.yes) + len(header.no)
	f := finding{
		figure: fmt.Sprintf("header answered by %d, line by %d of %d servers",
			byHeader, byLine, len(e.Servers)),
		names: list(header.yes),
	}
	switch {
	case byHeader > 0 && byHeader == byLine:
		f.verdict = Holds
	case byHeader == 0 && byLine > 0 && byLine == len(e.Servers):
		f.verdict = Refuted
	default:
		f.verdict = Depends
	}
	return f
}
