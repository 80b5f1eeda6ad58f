package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/mcp/client"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A lineModel is a program that plays the part of a language model. It gets a conversation and the
// available tools on one line. It answers on one line, with a text or with the tools to call. When
// the context of its start ends, so does the program, and nobody waits for its answer any more.
type lineModel struct {
	process *proc.Process
	stdin   io.WriteCloser
	stdout  *bufio.Reader
}

var errModelLeft = errors.New("it has left")

// modelGrace is how long a model may take to end after its last question.
const modelGrace = 2 * time.Second

// startModel starts the command of a model.
func startModel(cmd *cobra.Command, line string) (*lineModel, error) {
	words, err := commandWords(line)
	if err != nil || len(words) == 0 {
		return nil, usage(fmt.Errorf("--model %q: no command", line))
	}
	process := proc.Command(words[0], words[1:]...)
	process.Cmd.Stderr = cmd.ErrOrStderr()
	stdin, err := process.Pipe(0)
	if err != nil {
		return nil, err
	}
	stdout, err := process.Pipe(1)
	if err != nil {
		return nil, err
	}
	if err := process.Start(cmd.Context()); err != nil {
		return nil, err
	}
	return &lineModel{process, stdin, bufio.NewReader(stdout)}, nil
}

func (m *lineModel) close() {
	_ = m.stdin.Close()
	m.process.Stop(modelGrace, modelGrace)
}

// Chat asks for the next turn of a conversation.
func (m *lineModel) Chat(
	_ context.Context, conversation []client.Turn, tools []mcp.ToolInfo,
) (client.Turn, error) {
	turn := client.Turn{Role: "assistant"}
	question := map[string]any{"conversation": conversation, "tools": tools}
	err := json.NewEncoder(m.stdin).Encode(question)
	if syspipe.ReaderLeft(err) {
		return turn, errModelLeft
	}
	if err != nil {
		return turn, err
	}
	var line []byte
	for len(bytes.TrimSpace(line)) == 0 && err == nil { // blank lines say nothing
		line, err = m.stdout.ReadBytes('\n')
	}
	if len(bytes.TrimSpace(line)) == 0 && err == io.EOF {
		return turn, errModelLeft
	}
	if err != nil && err != io.EOF { // the last line may lack its newline
		return turn, err
	}
	if err := json.Unmarshal(line, &turn); err != nil {
		return turn, fmt.Errorf("its answer is no turn of a conversation: %w", err)
	}
	return turn, nil
}

// A modelAnswer is what a question led to, as it is printed.
type modelAnswer struct {
	Query  string `json:"query"`
	Answer string `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
}

// runModel puts each line of the input as a question to a model, which calls the server's tools,
// and prints the answers.
func (s *callSession) runModel(cmd *cobra.Command, command string) error {
	ctx := cmd.Context()
	m, err := startModel(cmd, command)
	if err != nil {
		return err
	}
	defer m.close()
	err = s.pool.Wait(ctx)
	if err != nil {
		return err
	}
	over := make(chan struct{})
	defer close(over)
	for l := range readLines(cmd.InOrStdin(), over) {
		if l.err != nil {
			return fmt.Errorf("read questions: %w", l.err)
		}
		a := modelAnswer{Query: queryOf(l.text)}
		s.asked++
		a.Answer, err = client.ToolLoop(ctx, s.pool, m, a.Query)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.Error = err.Error()
		}
		text, err := json.Marshal(a)
		if err != nil {
			return err
		}
		s.print(reply{text, a.Error != ""})
		if s.err != nil {
			return fmt.Errorf("write answers: %w", s.err)
		}
	}
	if s.asked == 0 {
		return errors.New("no question on stdin: write one a line, " +
			`such as {"query":"weather in NYC"}`)
	}
	if s.failed > 0 {
		return fmt.Errorf("%d of %d questions failed", s.failed, s.asked)
	}
	return nil
}

// queryOf returns the question on a line: the member query of an object, or all of it.
func queryOf(line []byte) string {
	var q struct{ Query *string }
	err := json.Unmarshal(line, &q)
	if err != nil || q.Query == nil {
		return string(line)
	}
	return *q.Query
}
