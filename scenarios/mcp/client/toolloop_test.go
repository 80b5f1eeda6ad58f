package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/scenarios/mcp"
)

// A scriptedModel gives its turns one after another, and keeps what it was told.
type scriptedModel struct {
	turns []Turn
	heard [][]Turn
	tools []string
	err   error
}

func (m *scriptedModel) Chat(_ context.Context, talk []Turn, tools []mcp.ToolInfo) (Turn, error) {
	m.heard = append(m.heard, append([]Turn(nil), talk...))
	m.tools = nil
	for _, t := range tools {
		m.tools = append(m.tools, t.Name)
	}
	if len(m.turns) == 0 {
		return Turn{}, m.err
	}
	next := m.turns[0]
	if len(m.turns) > 1 {
		m.turns = m.turns[1:]
	}
	return next, nil
}

func wants(name string, arguments map[string]any) Turn {
	return Turn{Role: "assistant", Calls: []ToolCall{{name, arguments}}}
}

// Seed 002, processQuery: the weather in California, as a model with tools finds it.
func TestToolLoop(t *testing.T) {
	c := openChild(t, childCommand("serve ndjson"), Options{})
	model := &scriptedModel{turns: []Turn{
		wants("get-alerts", map[string]any{"state": "CA"}),
		wants("no-such-tool", nil),
		wants("fail", nil),
		{Role: "assistant", Text: "It is hot in California."},
	}}
	got, err := ToolLoop(context.Background(), c, model, "Any weather alerts in California?")
	if got != "It is hot in California." || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if !strings.Contains(strings.Join(model.tools, " "), "get-alerts") {
		t.Errorf("the model was offered %v", model.tools)
	}
	var heard []string
	for _, turn := range model.heard[len(model.heard)-1] {
		heard = append(heard, fmt.Sprintf("%s: %.40s", turn.Role, turn.Text))
	}
	want := []string{
		"user: Any weather alerts in California?",
		"assistant: ", "tool: Active alerts for CA:\n\nEvent: Heat Advis",
		"assistant: ", `tool: error: unknown tool "no-such-tool"`,
		"assistant: ", "tool: error: failed as asked",
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Error(diff)
	}
}

func TestToolLoopEnds(t *testing.T) {
	c := openChild(t, childCommand("serve ndjson"), Options{Restarts: -1})
	broken := errors.New("model is away")
	if _, err := ToolLoop(context.Background(), c, &scriptedModel{err: broken}, "?"); !errors.Is(err, broken) {
		t.Errorf("a model that fails: got %v", err)
	}
	again := &scriptedModel{turns: []Turn{wants("datetime", nil)}}
	if _, err := ToolLoop(context.Background(), c, again, "?"); err == nil || len(again.heard) != MaxRounds {
		t.Errorf("a model that never ends: got %v after %d rounds", err, len(again.heard))
	}
	_, err := ToolLoop(context.Background(), c, &scriptedModel{turns: []Turn{wants("exit", map[string]any{"n": 1})}}, "?")
	lost(t, err, ReasonGone)
}
