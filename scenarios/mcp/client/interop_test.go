package client

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// texts are what is echoed through everybody: small, large, and what one side or the other might
// mangle.
var texts = map[string]string{
	"small":     "hi",
	"empty":     "",
	"two bytes": "é€𝄞 \u2028 <&>",
	"escapes":   "a\nb\r\n\t\"\\ \x00 \x7f",
	"large":     strings.Repeat("0123456789", 50_000),
}

func echoes(t *testing.T, echo func(text string) string) {
	t.Helper()
	for name, text := range texts {
		if got := echo(text); got != text {
			t.Errorf("%s: %d bytes came back as %d: %.60q", name, len(text), len(got), got)
		}
	}
}

func TestOurClientWithTheGoSDKsServer(t *testing.T) { ourClient(t, childCommand("go-sdk")) }

func TestOurClientWithMCPGosServer(t *testing.T) { ourClient(t, childCommand("mcp-go")) }

func ourClient(t *testing.T, command Command) {
	c := openChild(t, command, Options{})
	tools, err := ListTools(context.Background(), c)
	if err != nil || len(tools) != 1 || tools[0].Name != "echo" {
		t.Fatalf("got %v, %v, want the tool echo", tools, err)
	}
	echoes(t, func(text string) string { return ask(t, c, "echo", map[string]string{"message": text}) })
	if _, err := tryAsk(c, "nope", nil); err == nil {
		t.Error("an unknown tool: want an error")
	}
	c.Close()
	if code, forced := c.Exit(); code != 0 || forced {
		t.Errorf("exit %d, forced %v, want it to leave by itself", code, forced)
	}
}

func TestTheGoSDKsClientWithOurServer(t *testing.T) {
	leaktest.Check(t)
	command := childCommand("serve ndjson")
	cmd := exec.Command(command.Path)
	cmd.Env = command.Env
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "c", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if tools, err := session.ListTools(ctx, nil); err != nil || len(tools.Tools) < 8 {
		t.Fatalf("got %v, %v", tools, err)
	}
	echoes(t, func(text string) string {
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "echo", Arguments: map[string]string{"message": text}})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*sdk.TextContent).Text
	})
	if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "nope"}); err == nil {
		t.Error("an unknown tool: want an error")
	}
}

func TestMCPGosClientWithOurServer(t *testing.T) {
	leaktest.Check(t)
	command := childCommand("serve ndjson")
	c, err := mcpgo.NewStdioMCPClient(command.Path, command.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = "2025-06-18"
	hello.Params.ClientInfo = mcp.Implementation{Name: "c", Version: "1"}
	if res, err := c.Initialize(ctx, hello); err != nil || res.ServerInfo.Name != "pipebench" {
		t.Fatalf("got %v, %v", res, err)
	}
	if tools, err := c.ListTools(ctx, mcp.ListToolsRequest{}); err != nil || len(tools.Tools) < 8 {
		t.Fatalf("got %v, %v", tools, err)
	}
	echoes(t, func(text string) string {
		var call mcp.CallToolRequest
		call.Params.Name = "echo"
		call.Params.Arguments = map[string]any{"message": text}
		res, err := c.CallTool(ctx, call)
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(mcp.TextContent).Text
	})
}

// program returns where a program of an npm package is, or skips the test.
func program(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s in PATH: npm install --global %s", name, pkg)
	}
	return path
}

func TestOurClientWithServerEverything(t *testing.T) {
	path := program(t, "mcp-server-everything", "@modelcontextprotocol/server-everything")
	c := openChild(t, Command{Path: path, Args: []string{"stdio"}}, Options{})
	tools, err := ListTools(context.Background(), c)
	if err != nil || len(tools) == 0 {
		t.Fatalf("got %v, %v", tools, err)
	}
	echoes(t, func(text string) string {
		return strings.TrimPrefix(ask(t, c, "echo", map[string]string{"message": text}), "Echo: ")
	})
}

func TestTheInspectorWithOurServer(t *testing.T) {
	path := program(t, "mcp-inspector", "@modelcontextprotocol/inspector")
	leaktest.Check(t)
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	inspect := func(args ...string) string {
		t.Helper()
		args = append([]string{"--cli", "-e", childEnv + "=serve ndjson", os.Args[0]}, args...)
		out, err := exec.CommandContext(ctx, path, args...).Output()
		if err != nil {
			t.Fatalf("mcp-inspector: %v: %s", err, out)
		}
		return string(out)
	}
	if out := inspect("--method", "tools/list"); !strings.Contains(out, `"get-forecast"`) {
		t.Errorf("got %s, want our tools", out)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi"); !strings.Contains(out, `"text": "hi"`) {
		t.Errorf("got %s, want hi", out)
	}
}
