package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// A Model answers a conversation, or asks for tools to be called. One that is reached over a
// network is not part of this package.
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

// MaxRounds bounds how often in a row a model may ask for tools before ToolLoop gives up.
const MaxRounds = 16

// ToolLoop asks a model, calls the tools it wants until it wants none, and returns its last text.
// Failures of tools and errors of the server are told to the model; only a lost connection and an
// error of the model end the conversation.
func ToolLoop(ctx context.Context, c *Conn, model Model, query string) (string, error) {
	tools, err := c.ListTools(ctx)
	if err != nil {
		return "", err
	}
	conversation := []Turn{{Role: "user", Text: query}}
	for range MaxRounds {
		reply, err := model.Chat(ctx, conversation, tools)
		if err != nil {
			return "", fmt.Errorf("ask the model: %w", err)
		}
		if len(reply.Calls) == 0 {
			return reply.Text, nil
		}
		conversation = append(conversation, reply)
		for _, call := range reply.Calls {
			text, err := c.callForModel(ctx, call)
			if err != nil {
				return "", err
			}
			conversation = append(conversation, Turn{Role: "tool", Text: text})
		}
	}
	return "", fmt.Errorf("the model asked for tools %d times in a row", MaxRounds)
}

// callForModel calls a tool and returns the text of its answer.
func (c *Conn) callForModel(ctx context.Context, call ToolCall) (string, error) {
	res, err := c.CallTool(ctx, call.Name, call.Arguments)
	if failed := new(jsonrpc.Error); errors.As(err, &failed) {
		return "error: " + failed.Message, nil
	}
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if res.IsError {
		text.WriteString("error: ")
	}
	for _, content := range res.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String(), nil
}
