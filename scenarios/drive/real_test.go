package drive_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/target"
)

// Real servers, driven where they are installed on PATH:
//
//	mcp-server-everything     npm install -g @modelcontextprotocol/server-everything@2026.8.31
//	gopls                     go install golang.org/x/tools/gopls@v0.23.0
//	hello                     go install github.com/modelcontextprotocol/go-sdk/examples/\
//	                          server/hello@v1.8.0
//	mcpgo-everything          go install github.com/mark3labs/mcp-go/examples/everything@v1.2.1,
//	                          renamed
//	vscode-*-language-server  npm install -g vscode-langservers-extracted@4.10.0
var realServers = []struct {
	command  []string
	protocol string
	limit    int // of requests, 0 where none was found by hand either
	above    target.Verdict
	to       int
	fast     bool // grows faster than linear in 4 KiB pipes
	tool     string
}{
	{[]string{"mcp-server-everything", "stdio"}, "mcp 2025-11-25", 10_485_759, target.Deaf,
		16 << 20, true, ""},
	{[]string{"hello"}, "mcp 2026-07-28", 16_777_216, "exit 0", 32 << 20, false, "greet"},
	{[]string{"mcpgo-everything"}, "mcp 2026-07-28", 0, "", 256 << 10, false, ""},
	{[]string{"gopls", "serve"}, "lsp", 0, "", 1 << 20, false, ""},
	{[]string{"vscode-json-language-server", "--stdio"}, "lsp", 0, "", 4 << 20, false, ""},
}

func TestRealServersHaveTheLimitsThatWereFoundByHand(t *testing.T) {
	for _, row := range realServers {
		t.Run(row.command[0], func(t *testing.T) {
			d := open(t, real(t, row.command, row.tool))
			if d.Protocol() != row.protocol {
				t.Errorf("speaks %s, not %s", d.Protocol(), row.protocol)
			}
			limits, err := d.FindLimits(t.Context(), row.to, discard)
			if err != nil {
				t.Fatal(err)
			}
			if l := limitOf(limits[0]); l.bytes != row.limit || l.above != row.above {
				t.Errorf("found %+v; want %d, then %q", l, row.limit, row.above)
			}
		})
	}
}

// How wide the interval of a slope is depends on what else the machine does: it may leave open
// whether a fast one is by chance, and must not make a slow one fast.
func TestRealServersGrowAsWasFoundByHand(t *testing.T) {
	for _, row := range realServers {
		t.Run(row.command[0], func(t *testing.T) {
			o := real(t, row.command, row.tool)
			o.Capacity = 4 << 10
			d := open(t, o)
			sweep, err := d.Sweep(t.Context(), drive.Doubling(64<<10, min(8<<20, row.to)),
				func(results.Line) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%v", sweep.Growth)
			if g := sweep.Growth; g == nil || row.fast && g.Slope <= stat.FastGrowth ||
				!row.fast && g.Fast() {
				t.Errorf("%v", g)
			}
		})
	}
}

func real(t *testing.T, command []string, tool string) drive.Options {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skipf("%s is not installed", command[0])
	}
	return drive.Options{Command: append([]string{path}, command[1:]...), Tool: tool,
		Budget: 50 * time.Millisecond, Run: "test"}
}

func TestRealLanguageServersAreAskedAboutDocumentsOfTheirLanguage(t *testing.T) {
	for _, row := range []struct {
		command  []string
		language string
	}{
		{[]string{"gopls", "serve"}, "go"},
		{[]string{"vscode-json-language-server", "--stdio"}, "json"},
		{[]string{"vscode-css-language-server", "--stdio"}, "css"},
		{[]string{"vscode-html-language-server", "--stdio"}, "html"},
	} {
		t.Run(row.command[0], func(t *testing.T) {
			o := real(t, row.command, "")
			o.Protocol, o.Request, o.Language = "lsp", drive.RequestDocument, row.language
			d := open(t, o)
			want := "documents of language " + row.language + ","
			if !strings.HasPrefix(d.Request(), want) {
				t.Errorf("sends %s, want %s", d.Request(), want)
			}
			sweep, err := d.Sweep(t.Context(), []int{1 << 10, 64 << 10, 256 << 10}, discard)
			if err != nil {
				t.Fatal(err)
			}
			if failed := failures(sweep); len(failed) > 0 || d.Starts() != 1 {
				t.Errorf("%d starts, failures %+v", d.Starts(), failed)
			}
		})
	}
}
