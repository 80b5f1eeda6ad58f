package claims

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// rowsOfGuide are the lines of the guide on claims about constants, by ID.
func rowsOfGuide(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../cmd/pipebench/docs/claims.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) > 3 {
			rows[strings.TrimSpace(cells[1])] = line
		}
	}
	return rows
}

// The figures in the guide are those that come out here.
func TestTheGuideHasTheFiguresOfArithmetic(t *testing.T) {
	rows := rowsOfGuide(t)
	prose := strings.Repeat("All that is said here is said in letters. ", 250_000)[:10_000_000]
	for id, figures := range map[string][]string{
		"000-header-40": {headersOfFrames(t)},
		"001-10mb-text": {
			mebibytesOf(t, prose), mebibytesOf(t, strings.Repeat(`"`, len(prose))),
		},
		"001-5mb-image": {
			mebibytesOf(t, base64.StdEncoding.EncodeToString(make([]byte, 5_000_000))),
		},
		"001-1000-tools": {mebibytesOf(t, tools(1000))},
		"001-50mb-excluded": {
			mebibytesOf(t, base64.StdEncoding.EncodeToString(make([]byte, 50_000_000))),
		},
		"004-id-in-1k": {fmt.Sprintf("%d of 3 places", placesOfID())},
	} {
		for _, figure := range figures {
			if !strings.Contains(rows[id], figure) {
				t.Errorf("%s: the guide does not say %q: %s", id, figure, rows[id])
			}
		}
	}
}

// mebibytesOf says how large an answer with a content is.
func mebibytesOf(t *testing.T, content any) string {
	t.Helper()
	msg, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "result": map[string]any{"content": content},
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%.1f MiB", float64(len(msg))/(1<<20))
}

// tools is a list of n tools with descriptions.
func tools(n int) []map[string]any {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"query": map[string]any{"type": "string", "description": "What to look for"},
			"limit": map[string]any{"type": "integer", "description": "How many at most"},
		},
		"required": []string{"query"},
	}
	description := strings.Repeat("Says what the tool does and when to use it. ", 10)
	var list []map[string]any
	for i := range n {
		list = append(list, map[string]any{
			"name": fmt.Sprintf("tool_%d", i), "description": description, "inputSchema": schema,
		})
	}
	return list
}

// headersOfFrames says how many bytes header and newline have of frames of 60 KiB, of messages of
// several sizes.
func headersOfFrames(t *testing.T) string {
	t.Helper()
	f, err := framers.Chunked(60 << 10)
	if err != nil {
		t.Fatal(err)
	}
	least := 1 << 20
	most := 0
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20, 16 << 20} {
		for frame := range f.Frames(bytes.Repeat([]byte("x"), size)) {
			n := 0
			for _, piece := range frame {
				n += len(piece) - bytes.Count(piece, []byte("x")) // a header has no such letter
			}
			least = min(least, n)
			most = max(most, n)
		}
	}
	return fmt.Sprintf("%d to %d B", least, most)
}

// placesOfID counts in how many of three places the first KiB of a large request shows its id.
func placesOfID() (found int) {
	params := `"params":{"text":"` + strings.Repeat("x", 64<<10) + `"}`
	for _, request := range []string{
		`{"id":7,"jsonrpc":"2.0","method":"m",` + params + `}`,
		`{"jsonrpc":"2.0","id":7,"method":"m",` + params + `}`,
		`{"jsonrpc":"2.0","method":"m",` + params + `,"id":7}`,
	} {
		id, ok := jsonrpc.FindID([]byte(request[:1<<10]))
		if ok && string(id) == "7" {
			found++
		}
	}
	return found
}
