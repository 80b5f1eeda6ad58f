package trials

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/experiment"
)

// FrameLimit is the limit on messages that is often recommended, in bytes.
const FrameLimit = 16 << 20

// tryLimit sends messages to a reader of lines that takes FrameLimit bytes and closes beyond.
func tryLimit(t *experiment.Trial) {
	var wire bytes.Buffer
	out := framers.NDJSON().NewWriter(&wire)
	for _, size := range []int{FrameLimit, FrameLimit + 1, 100} {
		t.Check(out.WriteMessage(message(size)))
	}
	in := framers.NDJSON().NewReader(&wire, framers.WithMaxMessage(FrameLimit))
	for _, m := range []struct{ name, title string }{
		{"exact", "a message of 16 MiB is delivered"},
		{"one-more", "one of a byte more is delivered"},
		{"after", "a message after that is delivered"},
	} {
		_, err := in.ReadMessage()
		found(t, "trial/limit/"+m.name, m.title, err == nil, "")
	}

	const sentence = "The quick brown fox jumps over the lazy dog, and says so. "
	const textBytes = 10_000_000
	prose := strings.Repeat(sentence, textBytes/len(sentence)+1)[:textBytes]
	tryContents(t, "text", "a text of 10 MB",
		content{"prose", prose}, content{"all quotation marks", strings.Repeat(`"`, textBytes)})
	tryContents(t, "image", "5 MB in base64", content{"base64", base64Of(5_000_000)})
	tryContents(t, "tools", "1,000 tools", content{"tools", tools(1000)})
	tryContents(t, "video", "50 MB in base64", content{"base64", base64Of(50_000_000)})
}

// A content is what a message carries.
type content struct {
	name  string
	value any
}

// A Fit says which messages passed a limit, and how large each was.
type Fit struct {
	Count
	Sizes string `json:"sizes"`
}

// tryContents sends messages of contents to a reader with the limit.
func tryContents(t *experiment.Trial, name, title string, contents ...content) {
	var fit Fit
	var sizes []string
	for _, c := range contents {
		msg, err := json.Marshal(map[string]any{
			"jsonrpc": "2.0", "id": 1, "result": map[string]any{"content": c.value},
		})
		t.Check(err)
		line := bytes.NewReader(append(msg, '\n'))
		_, err = framers.NDJSON().NewReader(line,
			framers.WithMaxMessage(FrameLimit)).ReadMessage()
		fit.Add(c.name, err == nil)
		sizes = append(sizes, fmt.Sprintf("%s: %.1f MiB", c.name, float64(len(msg))/(1<<20)))
	}
	fit.Sizes = strings.Join(sizes, ", ")
	t.Found(results.Finding{
		ID: "trial/limit/" + name, Title: title + ", to a limit of 16 MiB",
		Verdict: results.Noted, Value: fit.Good, Found: fit.Sizes,
		Evidence: results.MustEvidence(fit),
	})
}

func base64Of(n int) string { return base64.StdEncoding.EncodeToString(make([]byte, n)) }

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

// timeJSON times parsing a message of 64 KiB and writing it again beside sending and receiving it
// as a line, several times in turn.
func timeJSON(t *experiment.Trial) {
	const tool = 700 // bytes of a tool, about
	msg, err := json.Marshal(map[string]any{"result": tools(64 << 10 / tool)})
	if !t.Check(err) {
		return
	}
	var shares []float64
	for range stat.LeastSamples {
		began := time.Now()
		for range 20 {
			var m any
			t.Check(json.Unmarshal(msg, &m))
			_, err := json.Marshal(m)
			t.Check(err)
		}
		parsing := float64(time.Since(began)) / 20
		sending := timeLines(t, msg, 500)
		shares = append(shares, parsing/sending)
	}
	share := stat.Median(shares)
	t.Found(results.Finding{
		ID: "trial/json/share", Title: "time of JSON over that of the pipe, 64 KiB",
		Verdict: results.Noted, Value: share.Median, Unit: "times",
		Found:    results.FormatNumber(share.Median, 3) + " times",
		Evidence: results.MustEvidence(share),
	})
}

// timeLines returns how long it takes to send and receive a message as a line, in nanoseconds.
func timeLines(t *experiment.Trial, msg []byte, times int) float64 {
	began := time.Now()
	pass(t, func(w framers.Writer) error {
		for range times {
			if err := w.WriteMessage(msg); err != nil {
				return err
			}
		}
		return nil
	}, func(r framers.Reader) error {
		for range times {
			if _, err := r.ReadMessage(); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(time.Since(began)) / float64(times)
}
