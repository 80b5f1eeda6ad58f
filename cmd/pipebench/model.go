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

// A lineModel is a program that acts as a language model. It reads conversations, each a line of
// JSON, and answers each with the next turn.
type lineModel struct {
	process *proc.Process
	stdin   io.WriteCloser
	stdout  *bufio.Reader
}

var errModelLeft = errors.New("it has left")

// modelGrace is how long the program of a language model may take to end after its input has ended,
// and once more after a signal.
const modelGrace = 2 * time.Second

// startModel starts the program of a language model. The program is ended when the context of cmd
// ends.
func startModel(cmd *cobra.Command, line string) (*lineModel, error) {
	words, err := commandWords(line)
	if err != nil || len(words) == 0 {
		return nil, usageError(fmt.Errorf("--model %q: no command", line))
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

// Chat asks the language model for the next turn of a conversation. It ignores its context, because
// an interrupt ends the model, and with the model this call.
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
	for len(line) == 0 && err == nil { // skip blank lines
		line, err = m.stdout.ReadBytes('\n')
		line = bytes.TrimSpace(line)
	}
	if len(line) == 0 && err == io.EOF {
		return turn, errModelLeft
	}
	if err != nil && err != io.EOF { // io.EOF is fine: the last line may lack its newline
		return turn, err
	}
	if err := json.Unmarshal(line, &turn); err != nil {
		return turn, fmt.Errorf("its answer is no turn of a conversation: %w", err)
	}
	return turn, nil
}

// A modelAnswer is a line of output: a question with its answer or an error.
type modelAnswer struct {
	Query  string `json:"query"`
	Answer string `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
}

// runModel asks a language model each question in the input, and prints the answers.
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
	// If the servers have left, a question gets an error as its answer.
	err = s.eachLine(ctx, cmd.InOrStdin(), nil, func(l line) error {
		return s.askModel(ctx, m, l)
	})
	if err != nil {
		return err
	}
	return s.failure("question", `{"query":"weather in NYC"}`)
}

// askModel asks the language model the question on a line, and prints its answer.
func (s *callSession) askModel(ctx context.Context, m *lineModel, l line) error {
	if l.err != nil {
		return fmt.Errorf("read questions: %w", l.err)
	}
	s.asked++
	a := modelAnswer{Query: questionOn(l.text)}
	var err error
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
	s.print(reply{line: text, failed: a.Error != ""})
	return wrap("write answers", s.err)
}

// questionOn returns the member "query" if the line is a JSON object that has one, or else the
// whole line.
func questionOn(line []byte) string {
	var q struct{ Query *string }
	err := json.Unmarshal(line, &q)
	if err != nil || q.Query == nil {
		return string(line)
	}
	return *q.Query
}
