package payload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is what passed between a server and a client of the official Go SDK in a short
// conversation: every message of both, in an order in which the client saw them. "go test
// ./bench/payload -run Session -record" has it anew.
var (
	session = filepath.Join("testdata", "mcp-session.ndjson")
	record  = flag.Bool("record", false, "record "+session+" again")
)

// serverEnv makes this test binary the server of the conversation.
const serverEnv = "PAYLOAD_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTheRecordedSessionIsWhatTheSDKSays(t *testing.T) {
	said := converse(t)
	if *record {
		err := os.WriteFile(session, bytes.Join(append(said, nil), []byte("\n")), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}
	kept, err := ReadRecording(session)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range kept.Messages {
		if !json.Valid(m) {
			t.Errorf("message %d of the recording is no JSON: %.100s", i, m)
		}
	}
	if diff := cmp.Diff(lengths(said), lengths(kept.Messages)); diff != "" {
		t.Errorf("lengths said (-) and recorded (+):\n%s", diff)
	}
}

// lengths are sorted: what one end says and what the other says at the same time has no order.
func lengths(messages [][]byte) []int {
	var n []int
	for _, m := range messages {
		n = append(n, len(m))
	}
	slices.Sort(n)
	return n
}

type message struct {
	Message string `json:"message"`
}

type amount struct {
	Bytes int `json:"bytes"`
}

func serve() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "recorded", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Says again what it is told"},
		func(
			_ context.Context, _ *mcp.CallToolRequest, in message,
		) (*mcp.CallToolResult, any, error) {
			return text(in.Message), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "get_large_data", Description: "Gives that many bytes"},
		func(
			_ context.Context, _ *mcp.CallToolRequest, in amount,
		) (*mcp.CallToolResult, any, error) {
			return text(strings.Repeat("X", in.Bytes)), nil, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// converse has the conversation, and returns every message of it.
func converse(t *testing.T) [][]byte {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	var log bytes.Buffer
	client := mcp.NewClient(&mcp.Implementation{Name: "recorder", Version: "1.0.0"}, nil)
	s, err := client.Connect(
		t.Context(),
		&mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: &log}, nil,
	)
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("what emulates this program does not emulate those it starts:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
	for _, call := range []*mcp.CallToolParams{
		{Name: "echo", Arguments: message{"hello"}},
		{Name: "echo", Arguments: message{"größer als ein Byte: 漢字 😀"}},
		{Name: "get_large_data", Arguments: amount{4096}},
		{Name: "get_large_data", Arguments: amount{20_000}},
		{Name: "echo", Arguments: message{strings.Repeat("a longer request, ", 150)}},
	} {
		if _, err := s.CallTool(t.Context(), call); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return messages(log.String())
}

// messages takes those of both directions from the transport's log.
func messages(log string) [][]byte {
	var out [][]byte
	for line := range strings.Lines(log) {
		for _, mark := range []string{"write: ", "read: "} {
			if m, ok := strings.CutPrefix(line, mark); ok {
				out = append(out, []byte(strings.TrimSpace(m)))
			}
		}
	}
	return out
}
