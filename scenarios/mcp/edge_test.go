package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

const ping = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
const pong = `{"jsonrpc":"2.0","id":"p","result":{}}`

// Seed 004, "Stdio Edge Cases", row by row, and its list of edge case tests.

func TestEdgePartialReads(t *testing.T) { // row 1, and "send data in small chunks"
	for _, piece := range []int{1, 7, 4096} {
		r := serve(t, mcp.Options{})
		line := call("1", "echo", `{"message":"`+strings.Repeat("é€𝄞", 3000)+`"}`) + "\n"
		go func() {
			for len(line) > 0 {
				n := min(piece, len(line))
				io.WriteString(r.in, line[:n])
				line = line[n:]
			}
		}()
		r.want(result("1", strings.Repeat("é€𝄞", 3000)))
	}
}

func TestEdgeLines(t *testing.T) {
	tests := []struct{ name, input string }{
		{"empty lines between requests", "\n\n" + ping + "\n\n\n"},           // row 2
		{"lines of white space", " \t \n\r\n" + ping + "\n"},                 // row 2
		{"trailing white space", ping + "  \t \n"},                           // row 3
		{"leading white space", "  \t" + ping + "\n"},                        // row 3
		{"CRLF", ping + "\r\n"},                                              // row 3
		{"white space inside", strings.ReplaceAll(ping, ":", " :\t") + "\n"}, // row 3
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := serve(t, mcp.Options{})
			io.WriteString(r.in, test.input)
			r.want(pong)
			r.send(ping) // and nothing was answered beside
			r.want(pong)
		})
	}
}

func TestEdgeLastLineWithoutNewline(t *testing.T) {
	r := serve(t, mcp.Options{})
	io.WriteString(r.in, ping)
	r.in.Close()
	r.want(pong)
}

func TestEdgeMalformed(t *testing.T) { // row 4, and "missing quotes, truncated"
	tests := []struct {
		name, line, code string
		id               string // "" for that of parse errors
	}{
		{"text", `hello`, "-32700", ""},
		{"missing quotes", `{jsonrpc:"2.0",id:1,method:"ping"}`, "-32700", ""},
		{"truncated", `{"jsonrpc":"2.0","id":1,"method":"pi`, "-32700", ""},
		{"two on a line", ping + ping, "-32700", ""},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "-32700", ""},
		{"NUL", "\x00", "-32700", ""},
		{"number", `17`, "-32600", ""},
		{"empty object", `{}`, "-32600", ""},
		{"batch", `[` + ping + `]`, "-32600", ""},
		{"version", `{"jsonrpc":"1.0","id":4,"method":"ping"}`, "-32600", "4"},
		{"no version", `{"id":"x","method":"ping"}`, "-32600", `"x"`},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "-32600", ""},
	}
	for _, strategy := range []jsonrpc.ID{jsonrpc.Empty, jsonrpc.Null} { // "Parse Error ID Strategy": one a run
		t.Run("id "+string(strategy), func(t *testing.T) {
			r := serve(t, mcp.Options{NullParseErrorID: strategy == jsonrpc.Null})
			for _, test := range tests {
				r.send(test.line)
				var got struct {
					ID    json.RawMessage
					Error struct{ Code json.Number }
				}
				line := r.recv()
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatal(err)
				}
				id := test.id
				if id == "" {
					id = string(strategy)
				}
				if string(got.ID) != id || got.Error.Code.String() != test.code {
					t.Errorf("%s: got %s, want code %s for id %s", test.name, line, test.code, id)
				}
			}
			r.send(ping)
			r.want(pong)
		})
	}
}

func TestEdgeNewlinesInStrings(t *testing.T) { // "Multiple newlines in JSON strings"
	r := serve(t, mcp.Options{})
	r.send(call("1", "echo", `{"message":"a\n\nb\r\n"}`))
	r.want(result("1", "a\n\nb\r\n"))
}

func TestEdgeVeryLongLines(t *testing.T) { // row 6
	const size = 10_485_761 // one byte beyond the seed's 10 MB
	pad := func(head, tail string) string {
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	tests := []struct{ name, line, want string }{
		{"id is a number", pad(`{"jsonrpc":"2.0","id":42,"method":"ping","params":{"pad":"`, `"}}`),
			failure("42", "-32600", "Request too large")},
		{"id is a string", pad(`{"jsonrpc":"2.0","id":"a\"b","method":"ping","params":{"pad":"`, `"}}`),
			failure(`"a\"b"`, "-32600", "Request too large")},
		{"nested id only", pad(`{"jsonrpc":"2.0","params":{"id":42,"pad":"`, `"},"id":1}`),
			failure(`""`, "-32700", "Request exceeds 10MB limit")},
		{"id later than 1,024 bytes", pad(`{"jsonrpc":"2.0","params":{"pad":"`+strings.Repeat("x", 1024)+`"},"id":42,"x":"`, `"}`),
			failure(`""`, "-32700", "Request exceeds 10MB limit")},
		{"id cut at 1,024 bytes", pad(`{"pad":"`+strings.Repeat("x", 1024-len(`{"pad":"","id":123`))+`","id":123456,"x":"`, `"}`),
			failure(`""`, "-32700", "Request exceeds 10MB limit")},
		{"not even JSON", pad("x", ""), failure(`""`, "-32700", "Request exceeds 10MB limit")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := serve(t, mcp.Options{})
			go io.WriteString(r.in, test.line+"\n"+ping+"\n")
			r.want(test.want, pong) // "Never skip without response", and the next request is served
			if !strings.Contains(r.logs.String(), `"Request exceeded size limit: 10MB"`) {
				t.Errorf("log is %s", r.logs)
			}
		})
	}
}

func TestEdgeLineAtTheLimit(t *testing.T) {
	r := serve(t, mcp.Options{MaxMessage: 5000})
	for _, terminator := range []string{"\n", "\r\n"} {
		line, text := echoOf("1", 5000)
		io.WriteString(r.in, line+terminator)
		r.want(result("1", text))
	}
	line, _ := echoOf("2", 5001)
	r.send(line)
	r.want(failure("2", "-32600", "Request too large"))
	r.send(strings.Repeat("x", 5001))
	r.want(failure(`""`, "-32700", "Request exceeds 5000 byte limit"))
	r.send(strings.Repeat("x", 70_000), ping)
	r.want(failure(`""`, "-32700", "Request exceeds 5000 byte limit"), pong)
	if log := r.logs.String(); !strings.Contains(log, "bytes=70000 limit=5000") || strings.Count(log, "bytes=5001 ") != 2 {
		t.Errorf("log is %s, want how long each line was in all", log)
	}
}

func TestChunkedMessagesAreLogged(t *testing.T) { // seed 000, "Check log output for chunking info"
	f, err := framers.Adaptive(1024)
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, mcp.Options{Framing: f})
	line, text := echoOf("1", 5000)
	if err := r.w.WriteMessage([]byte(line)); err != nil {
		t.Fatal(err)
	}
	if got, err := r.frames.ReadMessage(); err != nil || !sameJSON(string(got), result("1", text)) {
		t.Fatalf("got %s, %v", got, err)
	}
	for end := time.Now().Add(patience); !strings.Contains(r.logs.String(), "message sent") && time.Now().Before(end); {
		runtime.Gosched() // an answer is logged when it has been written, and may have come by then
	}
	for _, want := range []string{`level=DEBUG msg="Chunked message received" bytes=5000 frames=6 took=`, `level=DEBUG msg="Chunked message sent" bytes=`} {
		if !strings.Contains(r.logs.String(), want) {
			t.Errorf("log is %s, want %s", r.logs, want)
		}
	}
}

func TestEdgeInEveryFraming(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "chunked:1024", "adaptive:1024"} {
		t.Run(spec, func(t *testing.T) {
			f, err := framers.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			r := serve(t, mcp.Options{Framing: f, MaxMessage: 5000})
			large, _ := echoOf("2", 5001)
			fits, text := echoOf("3", 5000)
			for _, exchange := range [][2]string{
				{ping, pong},
				{"junk", failure(`""`, "-32700", "Parse error")},
				{large, failure("2", "-32600", "Request too large")},
				{fits, result("3", text)},
			} {
				if err := r.w.WriteMessage([]byte(exchange[0])); err != nil {
					t.Fatal(err)
				}
				got, err := r.frames.ReadMessage()
				if err != nil || !sameJSON(string(got), exchange[1]) {
					t.Errorf("got %.200s, %v, want %.200s", got, err, exchange[1])
				}
			}
		})
	}
}

func TestEdgeFrameThatIsNone(t *testing.T) {
	for spec, frame := range map[string]string{"content-length": "hunter2 is no header\r\n\r\n", "chunked": "hunter2 is no frame\n"} {
		t.Run(spec, func(t *testing.T) {
			f, err := framers.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			r := serve(t, mcp.Options{Framing: f})
			io.WriteString(r.in, frame)
			got, err := r.frames.ReadMessage()
			if err != nil || !strings.Contains(string(got), "-32700") || strings.Contains(string(got)+r.logs.String(), "hunter2") {
				t.Errorf("got %s, %v, log %s, want a parse error that repeats nothing", got, err, r.logs)
			}
			if err := r.w.WriteMessage([]byte(ping)); err != nil {
				t.Fatal(err)
			}
			for !sameJSON(string(got), pong) {
				if got, err = r.frames.ReadMessage(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestEdgeInputEndsInsideAFrame(t *testing.T) {
	r := serve(t, mcp.Options{Framing: framers.ContentLength()})
	io.WriteString(r.in, "Content-Length: 100\r\n\r\n{}")
	r.in.Close()
	got, err := r.frames.ReadMessage()
	if err != nil || !strings.Contains(string(got), "-32700") {
		t.Errorf("got %s, %v, want a parse error", got, err)
	}
	if err := r.over(); err != nil {
		t.Error(err)
	}
}

func TestIDsKeepTheirText(t *testing.T) {
	r := serve(t, mcp.Options{})
	for _, id := range []string{`0`, `-7`, `9007199254740993`, `1.5`, `1e3`, `""`, `"1"`, `"a\u0062"`} {
		r.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		if got := r.recv(); !strings.Contains(got, `"id":`+id+`,`) {
			t.Errorf("got %s, want id %s", got, id)
		}
	}
}

func TestIDInFlightIsRefused(t *testing.T) {
	r := serve(t, mcp.Options{})
	r.send(call("1", "sleep", `{"seconds":3600}`), call("1", "echo", `{"message":"m"}`))
	if got := r.recv(); !strings.Contains(got, "-32600") {
		t.Errorf("got %s, want an invalid request", got)
	}
	r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	r.send(call("1", "echo", `{"message":"again"}`))
	r.want(result("1", "again"))
}

func TestAnswersDoNotInterleave(t *testing.T) { // seed 004, "Concurrent requests"
	for _, spec := range []string{"ndjson", "content-length", "chunked:512", "adaptive:512"} {
		t.Run(spec, func(t *testing.T) {
			f, err := framers.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			r := serve(t, mcp.Options{Framing: f, MaxInFlight: 16})
			const asked = 200
			go func() {
				for i := range asked {
					size := 1 + i*i*7%20_000
					_ = r.w.WriteMessage([]byte(call(fmt.Sprint(i), "get_large_data", fmt.Sprintf(`{"bytes":%d}`, size))))
				}
			}()
			seen := make(map[int]bool)
			for range asked {
				msg, err := r.frames.ReadMessage()
				if err != nil {
					t.Fatal(err)
				}
				var a struct {
					ID     int
					Result struct{ Content []struct{ Text string } }
				}
				if err := json.Unmarshal(msg, &a); err != nil {
					t.Fatalf("%v in %.100s", err, msg)
				}
				if text := a.Result.Content[0].Text; text != strings.Repeat("X", 1+a.ID*a.ID*7%20_000) || seen[a.ID] {
					t.Fatalf("answer %d has %d bytes", a.ID, len(text))
				}
				seen[a.ID] = true
			}
		})
	}
}
