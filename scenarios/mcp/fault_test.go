package mcp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/mcp"
)

func ExampleParseFault() {
	f, err := mcp.ParseFault("deaf@2048k")
	fmt.Println(f.Kind, f.Bytes, err)
	// Output: deaf 2097152 <nil>
}

func TestParseFault(t *testing.T) {
	tests := []struct {
		spec  string
		want  mcp.Fault
		fault string
	}{
		{"deaf", mcp.Fault{Kind: "deaf", Bytes: 1 << 20}, ""},
		{"exit0@65537", mcp.Fault{Kind: "exit0", Bytes: 65537}, ""},
		{"trickle=16B", mcp.Fault{Kind: "trickle", Bytes: 16}, ""},
		{"trickle=4KiB", mcp.Fault{Kind: "trickle", Bytes: 4 << 10}, ""},
		{"never-read", mcp.Fault{Kind: "never-read"}, ""},
		{"never-read@1GiB", mcp.Fault{Kind: "never-read", Bytes: 1 << 30}, ""},
		{"reorder", mcp.Fault{Kind: "reorder"}, ""},
		{"reorder@5", mcp.Fault{}, "takes no size"},
		{"trickle@16", mcp.Fault{}, "trickle=SIZE"},
		{"deaf=1", mcp.Fault{}, "deaf@SIZE"},
		{"deaf@", mcp.Fault{}, "size "},
		{"deaf@x", mcp.Fault{}, "size "},
		{"deaf@1TiB", mcp.Fault{}, "size "},
		{"deaf@-1", mcp.Fault{}, "size "},
		{"deaf@9999999999GiB", mcp.Fault{}, "size "},
		{"trickle=0", mcp.Fault{}, "does nothing"},
		{"mute", mcp.Fault{}, "known are deaf, exit0"},
		{"", mcp.Fault{}, "unknown fault"},
	}
	for _, test := range tests {
		t.Run(test.spec, func(t *testing.T) {
			f, err := mcp.ParseFault(test.spec)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("got %v, %v, want an error with %q", f, err, test.fault)
				}
				return
			}
			if err != nil || f != test.want {
				t.Fatalf("got %+v, %v, want %+v", f, err, test.want)
			}
		})
	}
}

func TestUsageOfEachFault(t *testing.T) {
	for _, k := range catalogue.Faults() {
		if f, err := mcp.ParseFault(k.Usage()); err != nil || f.Bytes != k.Default {
			t.Errorf("%s: its usage %s gives %+v, %v", k.Name, k.Usage(), f, err)
		}
	}
}

// faulty starts a server with a fault.
func faulty(t *testing.T, spec string, stderr io.Writer) *rig {
	t.Helper()
	f, err := mcp.ParseFault(spec)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, mcp.Options{Fault: f, Stderr: stderr})
}

// echoOf is a request whose message has exactly size bytes, and the text it wants back.
func echoOf(id string, size int) (line, text string) {
	text = strings.Repeat("x", size-len(call(id, "echo", `{"message":""}`)))
	return call(id, "echo", `{"message":"`+text+`"}`), text
}

const threshold = 2000 // bytes, of the faults that have one

func TestFaultPassesUpToItsThreshold(t *testing.T) {
	for _, kind := range []string{"deaf", "exit0", "error", "limit", "never-read"} {
		t.Run(kind, func(t *testing.T) {
			r := faulty(t, kind+"@2000", nil)
			line, text := echoOf("1", threshold)
			r.send(line)
			r.want(result("1", text))
		})
	}
}

// A threshold of 0 is met by the first request after the handshake, of whatever size.
func TestFaultAfterTheHandshake(t *testing.T) {
	for _, spec := range []string{"deaf@0", "exit0@0", "error@0", "limit@0", "never-read", "corrupt@0", "truncate-at-exit@0"} {
		t.Run(spec, func(t *testing.T) {
			r := faulty(t, spec, nil)
			r.send(initialize)
			if got := r.recv(); !strings.Contains(got, `"serverInfo"`) {
				t.Errorf("got %s, want an answer to initialize", got)
			}
			r.send(call("2", "echo", `{"message":"there?"}`))
			r.out.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if got, _ := r.lines.ReadString('\n'); strings.Contains(got, "there?") {
				t.Errorf("got %s, want the fault", got)
			}
		})
	}
}

func TestFaultLargeAnswer(t *testing.T) {
	r := faulty(t, "large-answer=5000", nil)
	r.send(call("1", "echo", `{"message":"m"}`))
	if got := r.recv(); len(got) != 5000 || !json.Valid([]byte(got)) {
		t.Errorf("got %d bytes: %.80s", len(got), got)
	}
}

func TestFaultOddVersion(t *testing.T) {
	r := faulty(t, "odd-version", nil)
	r.send(initialize)
	if got := r.recv(); !strings.Contains(got, `"protocolVersion":"1999-12-31"`) {
		t.Errorf("got %s", got)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func TestFaultDeaf(t *testing.T) {
	r := faulty(t, "deaf@2000", nil)
	line, _ := echoOf("1", threshold+1)
	r.send(line, call("2", "echo", `{"message":"there?"}`))
	r.in.Close()
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.farOut.Close()
	if rest, err := io.ReadAll(r.lines); len(rest) > 0 || err != nil {
		t.Errorf("got %q, %v, want silence", rest, err)
	}
}

func TestFaultExits(t *testing.T) {
	for _, test := range []struct{ spec, want string }{
		{"exit0@2000", ""},
		{"limit@2000", "read request: message of 2001 bytes exceeds the limit of 2000"},
	} {
		t.Run(test.spec, func(t *testing.T) {
			r := faulty(t, test.spec, nil)
			line, _ := echoOf("1", threshold+1)
			r.send(line)
			if got := fmt.Sprint(r.over()); got != test.want && !(got == "<nil>" && test.want == "") {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if r.s.State() != mcp.Stopped || r.logs.String() != "" {
				t.Errorf("state %v, log %q: want it gone without a word", r.s.State(), r.logs)
			}
		})
	}
}

func TestFaultError(t *testing.T) {
	r := faulty(t, "error@2000", nil)
	line, _ := echoOf(`"a"`, threshold+1)
	r.send(line, call("2", "echo", `{"message":"on"}`))
	r.want(failure(`"a"`, "-32600", "Request too large"), result("2", "on"))
}

func TestFaultNeverRead(t *testing.T) {
	for _, spec := range []string{"never-read", "never-read@2000"} {
		t.Run(spec, func(t *testing.T) {
			r := faulty(t, spec, nil)
			r.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			r.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
			r.in.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			line, _ := echoOf("2", 4<<20)
			if _, err := io.WriteString(r.in, line); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("write 4 MiB: got %v, want it to block", err)
			}
		})
	}
}

func TestFaultDirty(t *testing.T) {
	r := faulty(t, "dirty", nil)
	const asked = 6
	for i := range asked {
		r.send(call(fmt.Sprint(i), "echo", `{"message":"m"}`))
		for {
			if line := r.recv(); sameJSON(line, result(fmt.Sprint(i), "m")) {
				break
			} else if strings.Contains(line, "jsonrpc") {
				t.Fatalf("got %s, want dirt", line)
			}
		}
	}
}

func TestFaultSplitUTF8(t *testing.T) {
	r := faulty(t, "split-utf8=100", nil)
	text := strings.Repeat("€", 200)
	r.send(call("1", "echo", `{"message":"`+text+`"}`))
	var answer struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(r.recv()), &answer); err != nil {
		t.Fatal(err)
	}
	got := answer.Result.Content[0].Text
	if got == text || !strings.Contains(got, "\uFFFD") || !strings.Contains(got, "€€€") {
		t.Errorf("got %.60q..., want some characters lost", got)
	}
	r.send(call("2", "echo", `{"message":"plain"}`))
	r.want(result("2", "plain"))
}

func TestFaultTrickle(t *testing.T) {
	r := faulty(t, "trickle=16B", nil)
	buf := make([]byte, 4096)
	line, text := echoOf("1", threshold)
	r.send(line)
	var got bytes.Buffer
	for !bytes.HasSuffix(got.Bytes(), []byte("\n")) {
		n, err := r.out.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(buf[:n])
	}
	if !sameJSON(got.String(), result("1", text)) {
		t.Errorf("got %s", got.String())
	}
}

func TestFaultStderrFlood(t *testing.T) {
	var stderr logBook
	r := faulty(t, "stderr-flood=70000", &stderr)
	r.send(call("1", "echo", `{"message":"m"}`), call("2", "echo", `{"message":"m"}`))
	r.recv()
	r.recv()
	if got := len(stderr.String()); got != 2*70000 {
		t.Errorf("got %d bytes on stderr, want 140000", got)
	}
}

func TestFaultReorder(t *testing.T) {
	r := faulty(t, "reorder", nil)
	const asked = 8
	var lines []string
	for i := range asked {
		lines = append(lines, call(fmt.Sprint(i), "echo", `{"message":"m"}`))
	}
	r.send(strings.Join(lines, "\n"))
	order := make([]float64, asked)
	inverted := 0
	for i := range order {
		var a struct{ ID float64 }
		if err := json.Unmarshal([]byte(r.recv()), &a); err != nil {
			t.Fatal(err)
		}
		if order[i] = a.ID; i > 0 && order[i] < order[i-1] {
			inverted++
		}
	}
	if inverted == 0 {
		t.Errorf("got order %v, want some inverted", order)
	}
}

func TestFaultCorrupt(t *testing.T) {
	r := faulty(t, "corrupt@1KiB", nil)
	small, kept := echoOf("0", 1<<10-100)
	r.send(small)
	r.want(result("0", kept))
	line, text := echoOf("1", threshold)
	r.send(line)
	got := r.recv()
	if !json.Valid([]byte(got)) || len(got) != len(result("1", text)) || strings.Contains(got, text) {
		t.Errorf("got %s, want JSON of the same length with one letter changed", got)
	}
	if strings.Count(got, "x") != strings.Count(result("1", text), "x")-1 {
		t.Errorf("got %s, want one x fewer", got)
	}
}

func TestFaultTruncateAtExit(t *testing.T) {
	r := faulty(t, "truncate-at-exit@2000", nil)
	r.send(call("1", "get_large_data", `{"bytes":100}`))
	r.want(result("1", strings.Repeat("X", 100)))
	r.send(call("2", "get_large_data", `{"bytes":5000}`))
	if err := r.over(); err != nil {
		t.Error(err)
	}
	r.farOut.Close()
	if rest, err := io.ReadAll(r.lines); len(rest) != 2000 || err != nil {
		t.Errorf("got %d bytes, %v, want 2000 and the end", len(rest), err)
	}
}

// TestFaultQuadratic counts the bytes that reading one message copies, which says what the time
// only hints at.
func TestFaultQuadratic(t *testing.T) {
	copied := func(spec string, size int) uint64 {
		r := faulty(t, spec, nil)
		line, text := echoOf("1", size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sent := make(chan struct{})
		go func() { r.send(line); close(sent) }()
		r.want(result("1", text))
		<-sent
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	const size = 1 << 20 // twice as much takes four times as long, with the race detector longer than a test waits
	well, ill := copied("error@1GiB", size), copied("quadratic", size)
	if least := uint64(size) * size / quadraticChunk / 4; ill < well+least {
		t.Errorf("a message of %d bytes copies %d bytes, and %d without the fault: want %d more", size, ill, well, least)
	}
}

// quadraticChunk is what the fault reads at once.
const quadraticChunk = 4096

// A fault that stands in the catalogue alone could be asked for, and nothing would happen.
func TestEachFaultOfTheCatalogueIsBuilt(t *testing.T) {
	source, err := os.ReadFile("fault.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range catalogue.Faults() {
		if !strings.Contains(string(source), `"`+fault.Name+`"`) {
			t.Errorf("fault %s: scenarios/mcp/fault.go lacks it", fault.Name)
		}
	}
}
