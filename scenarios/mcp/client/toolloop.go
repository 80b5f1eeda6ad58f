package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A Model answers a conversation, or asks for tools to be called. This package contains no Model.
type Model interface {
	Chat(ctx context.Context, conversation []Turn, tools []mcp.ToolInfo) (Turn, error)
}

// A Turn is one entry of a conversation.
type Turn struct {
	Role  string     `json:"role"` // "user", "assistant" or "tool"
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // what an assistant asks for
}

// A ToolCall is the request of a model to call a tool.
type ToolCall struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
}

// MaxRounds is how many times in a row a model may ask for tools before ToolLoop gives up.
const MaxRounds = 16

// ToolLoop asks a model, calls the tools that the model wants, and returns the model's last text.
// The model is told if a tool fails or the server refuses a call. Any other error ends the
// conversation.
func ToolLoop(ctx context.Context, c Caller, model Model, query string) (string, error) {
	tools, err := ListTools(ctx, c)
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
			text, err := callForModel(ctx, c, call)
			if err != nil {
				return "", err
			}
			conversation = append(conversation, Turn{Role: "tool", Text: text})
		}
	}
	return "", fmt.Errorf("the model asked for tools %d times in a row", MaxRounds)
}

// callForModel calls a tool and returns the text of its answer. An error of the server becomes
// text, too.
func callForModel(ctx context.Context, c Caller, call ToolCall) (string, error) {
	res, err := CallTool(ctx, c, call.Name, call.Arguments)
	if failed, ok := errors.AsType[*jsonrpc.Error](err); ok {
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
		if content.Type == "text" {
			text.WriteString(content.Text)
		}
	}
	return text.String(), nil
}
