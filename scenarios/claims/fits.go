package claims

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/framers"
)

// A Content is a message of a kind that document 001 names.
type Content struct {
	Name   string `json:"name"`
	Raw    int    `json:"raw"`    // bytes of what it carries
	JSON   int    `json:"json"`   // bytes of the message
	Passed bool   `json:"passed"` // a reader with the limit delivered it
}

// Fits is the evidence of the claims on what fits.
type Fits struct {
	Limit    int       `json:"limit"`
	Messages []Content `json:"messages"`
}

// A maker makes what a sample carries.
type maker struct {
	name string
	raw  int
	make func() any
}

func proseOf(n int) maker {
	return maker{"prose", n, func() any {
		return strings.Repeat("The quick brown fox jumps over the lazy dog, and says so. ", n/58+1)[:n]
	}}
}

func quotesOf(n int) maker {
	return maker{"all quotation marks", n, func() any { return strings.Repeat(`"`, n) }}
}

func imageOf(n int) maker {
	return maker{"base64", n, func() any { return base64.StdEncoding.EncodeToString(make([]byte, n)) }}
}

func videoOf(n int) maker { return imageOf(n) }

func toolsOf(n int) maker {
	return maker{"tools", n, func() any {
		tools := make([]map[string]any, n)
		for i := range tools {
			tools[i] = map[string]any{
				"name":        fmt.Sprintf("tool_%d", i),
				"description": strings.Repeat("Says what the tool does and when to use it. ", 10),
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{
					"query": map[string]any{"type": "string", "description": "What to look for"},
					"limit": map[string]any{"type": "integer", "description": "How many at most"},
				}, "required": []string{"query"}},
			}
		}
		return tools
	}}
}

func fits(id, text string, makers ...maker) Claim {
	return Claim{
		ID: id, Seed: "001", Where: "Rationale for 16MB", Text: text,
		Rule: "A message with that content is sent to a reader with a limit of 16 MiB. Holds if it is delivered whatever the content; depends if that decides; refuted if it never is.",
		exam: by(gatherFits(makers...), judgeFits),
	}
}

func gatherFits(makers ...maker) func(context.Context, *lab) (Fits, error) {
	return func(context.Context, *lab) (Fits, error) {
		e := Fits{Limit: frameLimit}
		for _, m := range makers {
			msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "result": map[string]any{"content": m.make()}})
			if err != nil {
				return e, err
			}
			s := Content{Name: m.name, Raw: m.raw, JSON: len(msg)}
			err = exchange(framers.NDJSON(), [][]byte{msg}, func(r framers.Reader) error {
				got, err := r.ReadMessage()
				s.Passed = err == nil && bytes.Equal(got, msg)
				return nil
			}, framers.WithMaxMessage(frameLimit))
			if err != nil {
				return e, err
			}
			e.Messages = append(e.Messages, s)
		}
		return e, nil
	}
}

func (e Fits) figure() string {
	var all []string
	for _, s := range e.Messages {
		all = append(all, fmt.Sprintf("%s: %.1f MiB", s.Name, float64(s.JSON)/(1<<20)))
	}
	return strings.Join(all, ", ")
}

func judgeFits(e Fits) Judgement {
	var t tally
	for _, s := range e.Messages {
		t.add(s.Name, s.Passed)
	}
	switch t.verdict() {
	case Holds:
		return holds(e.figure(), "delivered")
	case Refuted:
		return refuted(e.figure(), "refused")
	}
	return depends(e.figure(), "JSON escapes some characters with one more byte, control characters with five: refused was "+list(t.no))
}

func judgeExcluded(e Fits) Judgement {
	for _, s := range e.Messages {
		if s.Passed {
			return refuted(e.figure(), "delivered")
		}
	}
	return holds(e.figure(), "refused")
}
