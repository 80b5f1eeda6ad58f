package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Model answers a conversation, or asks for tools to be called. One that is reached over a network is not part of this
// package.
type Model interface {
	Chat(ctx context.Context, conversation []Turn, tools []*mcp.Tool) (Turn, error)
}

// A Turn is one entry of a conversation.
type Turn struct {
	Role  string // "user", "assistant" or "tool"
	Text  string
	Calls []ToolCall // what an assistant asks for
}

// A ToolCall is a tool that a model wants called.
type ToolCall struct {
	Name      string
	Arguments map[string]any
}

// MaxRounds is how often in a row a model may ask for tools before Converse gives up.
const MaxRounds = 16

// ToolLoop asks a model, calls the tools it wants until it wants none, and returns its last words. What a tool or the server
// fails with is told to the model; only a lost connection and an error of the model end the conversation.
func ToolLoop(ctx context.Context, c *Conn, model Model, query string) (string, error) {
	tools, err := c.ListTools(ctx)
	if err != nil {
		return "", err
	}
	talk := []Turn{{Role: "user", Text: query}}
	for range MaxRounds {
		reply, err := model.Chat(ctx, talk, tools)
		if err != nil {
			return "", fmt.Errorf("ask the model: %w", err)
		}
		if len(reply.Calls) == 0 {
			return reply.Text, nil
		}
		talk = append(talk, reply)
		for _, call := range reply.Calls {
			text, err := c.callForModel(ctx, call)
			if err != nil {
				return "", err
			}
			talk = append(talk, Turn{Role: "tool", Text: text})
		}
	}
	return "", fmt.Errorf("the model asked for tools %d times in a row", MaxRounds)
}

// callForModel calls a tool and returns what it says.
func (c *Conn) callForModel(ctx context.Context, call ToolCall) (string, error) {
	res, err := c.CallTool(ctx, call.Name, call.Arguments)
	if failed := new(remote); errors.As(err, &failed) {
		return "error: " + failed.Message, nil
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, content := range res.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	if res.IsError {
		return "error: " + text.String(), nil
	}
	return text.String(), nil
}
