package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// childEnv makes this test binary a server: its value is which one.
const childEnv = "PIPEBENCH_TEST_SERVER"

func TestMain(m *testing.M) {
	if kind, ok := os.LookupEnv(childEnv); ok {
		os.Exit(runServer(kind))
	}
	os.Exit(m.Run())
}

// runServer is a server of some kind, on the process's own stdin and stdout.
func runServer(kind string) int {
	name, argument, _ := strings.Cut(kind, " ")
	switch name {
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fallthrough
	case "waits-for-term":
		serveChild(framers.NDJSON(), 0)
		for {
			time.Sleep(time.Hour) // until a signal
		}
	case "go-sdk":
		return goSDKServer()
	case "mcp-go":
		return mcpGoServer()
	}
	f, err := framers.Parse(argument)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	limit := 0
	if name == "serve8" {
		limit = 8 << 20
	}
	if serveChild(f, limit) != nil {
		return 1
	}
	return 0
}

// serveChild serves the samples and what these tests need beside.
func serveChild(f framers.Framing, limit int) error {
	type in struct{ N int }
	number := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	tools := append(mcp.Samples(),
		mcp.NewTool("pid", "", nil, func(context.Context, struct{}) (string, error) { return strconv.Itoa(os.Getpid()), nil }),
		mcp.NewTool("exit", "", number, func(_ context.Context, a in) (string, error) { os.Exit(a.N); return "", nil }),
		mcp.NewTool("hoard", "", number, func(_ context.Context, a in) (string, error) { return hoard(a.N), nil }),
		mcp.NewTool("open", "", number, func(_ context.Context, a in) (string, error) { return openMany(a.N) }),
		mcp.NewTool("burn", "", nil, func(context.Context, struct{}) (string, error) {
			for {
				runtime.Gosched()
			}
		}),
		mcp.NewTool("bear", "", nil, func(context.Context, struct{}) (string, error) { return bear() }),
		mcp.NewTool("usage", "", nil, func(context.Context, struct{}) (string, error) { return usage(), nil }),
	)
	options := mcp.Options{Framing: f, MaxMessage: limit, Tools: tools}
	s, err := mcp.Start(context.Background(), os.Stdin, os.Stdout, options)
	if err != nil {
		return err
	}
	return s.Wait()
}

// hoard asks for n MiB, which it does not touch: it is the address space that is limited.
func hoard(n int) string {
	held := make([][]byte, n)
	for i := range held {
		held[i] = make([]byte, 1<<20)
	}
	runtime.KeepAlive(held)
	return "had it"
}

func openMany(n int) (string, error) {
	for range n {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return "", err
		}
		defer f.Close()
	}
	return "had them", nil
}

// bear starts a child that outlives this one, unless somebody sees to it.
func bear() (string, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=stubborn")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	return strconv.Itoa(cmd.Process.Pid), nil
}

func usage() string {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return fmt.Sprintf("%d %d %d", runtime.NumGoroutine(), m.HeapAlloc, descriptors())
}

// descriptors counts what this process has open; 0 where that cannot be known.
func descriptors() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

func goSDKServer() int {
	s := sdk.NewServer(&sdk.Implementation{Name: "go-sdk", Version: "1"}, nil)
	type in struct {
		Message string `json:"message"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo", Description: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Message}}}, nil, nil
	})
	if s.Run(context.Background(), &sdk.StdioTransport{}) != nil {
		return 1
	}
	return 0
}

func mcpGoServer() int {
	s := server.NewMCPServer("mcp-go", "1")
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithString("message", mcpgo.Required())), func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText(r.GetString("message", "")), nil
	})
	if server.ServeStdio(s) != nil {
		return 1
	}
	return 0
}

// childCommand starts this test binary as a server of some kind.
func childCommand(kind string) Command {
	return Command{Path: os.Args[0], Env: append(os.Environ(), childEnv+"="+kind, "GORACE=atexit_sleep_ms=0")}
}

// openChild connects to a real child.
func openChild(t *testing.T, command Command, opts Options) *Conn {
	t.Helper()
	leaktest.Check(t)
	if opts.Logger == nil {
		opts.Logger = slog.New(newLogBook())
	}
	c := Open(command, opts)
	t.Cleanup(c.Close)
	return c
}

// ask calls a tool and returns its text.
func ask(t *testing.T, c *Conn, tool string, arguments any) string {
	t.Helper()
	text, err := tryAsk(c, tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func tryAsk(c *Conn, tool string, arguments any) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := CallTool(ctx, c, tool, arguments)
	if err != nil {
		return "", err
	}
	text := res.Content[0].Text
	if res.IsError {
		return "", errors.New(text)
	}
	return text, nil
}

func TestNewCommand(t *testing.T) { // seed 002, determine_runtime
	tests := []struct {
		path string
		want []string
	}{
		{"build/server.js", []string{"node", "build/server.js", "--x"}},
		{"SERVER.MJS", []string{"node", "SERVER.MJS", "--x"}},
		{"/path/to/server.py", []string{"python3", "/path/to/server.py", "--x"}},
		{"./server", []string{"./server", "--x"}},
		{"my.jsserver", []string{"my.jsserver", "--x"}},
	}
	for _, test := range tests {
		c := NewCommand(test.path, "--x")
		if diff := cmp.Diff(test.want, append([]string{c.Path}, c.Args...)); diff != "" {
			t.Errorf("%s: %s", test.path, diff)
		}
	}
}

func TestChildServesInEveryFraming(t *testing.T) {
	for _, spec := range []string{"ndjson", "content-length", "chunked", "adaptive"} {
		t.Run(spec, func(t *testing.T) {
			f, err := framers.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			c := openChild(t, childCommand("serve "+spec), Options{Framing: f})
			tools, err := ListTools(context.Background(), c)
			if err != nil || len(tools) < len(mcp.Samples()) {
				t.Errorf("got %d tools, %v", len(tools), err)
			}
			for _, size := range []int{0, 1, 61_439, 61_440, 65_536, 1 << 20} {
				text := strings.Repeat("€", size/3)
				if got := ask(t, c, "echo", map[string]string{"message": text}); got != text {
					t.Errorf("%d bytes came back as %d", len(text), len(got))
				}
			}
			if got := ask(t, c, "get_large_data", nil); got != strings.Repeat("X", 100_000) { // seed 000, end to end
				t.Errorf("got %d bytes, want 100000", len(got))
			}
			c.Close()
			if code, forced := c.Exit(); code != 0 || forced {
				t.Errorf("exit %d, forced %v: want it to leave by itself", code, forced)
			}
		})
	}
}

// The tolerant end speaks lines and takes frames: a client that never chunks is served, and takes
// large answers in frames.
func TestLinesToAServerThatChunks(t *testing.T) { // seed 000, "Gracefully handles non-chunked messages"
	var chunks atomic.Int64
	log := newLogBook()
	c := openChild(t, childCommand("serve adaptive"), Options{
		OnChunk: func(c framers.Chunk) { chunks.Store(int64(c.Received)) },
		Logger:  slog.New(log),
	})
	for _, size := range []int{1, 60_000, 300_000} {
		chunks.Store(0)
		text := strings.Repeat("x", size)
		if got := ask(t, c, "echo", map[string]string{"message": text}); got != text {
			t.Errorf("%d bytes came back as %d", size, len(got))
		}
		if n := chunks.Load(); n != int64(map[int]int{300_000: 5}[size]) {
			t.Errorf("%d bytes came in %d chunks", size, n)
		}
	}
	if want := `msg="Chunked message received" bytes=300`; !strings.Contains(log.String(), want) {
		t.Errorf("log is %s, want %s", log, want)
	}
}

// Both ends keep to the smaller limit, in the example of the document: 16 MiB here, 8 MiB there.
func TestNegotiatedLimitOfOurServer(t *testing.T) { // seed 001, "Negotiated frame size limit"
	c := openChild(t, childCommand("serve8 ndjson"), Options{Policy: Negotiate, BackoffFirst: time.Millisecond})
	ping := func(size int) error { // by a request of so many bytes
		params := map[string]string{"pad": ""}
		text, _ := json.Marshal(params)
		params["pad"] = strings.Repeat("x", size-len(jsonrpc.AppendRequest(nil, jsonrpc.Number(2), "ping", text)))
		_, err := c.Call(t.Context(), "ping", params)
		return err
	}
	if err := ping(8 << 20); err != nil {
		t.Errorf("a request of 8 MiB: %v", err)
	}
	var size *FrameError
	if err := ping(8<<20 + 1); !errors.As(err, &size) || *size != (FrameError{Size: 8<<20 + 1, Limit: 8 << 20}) {
		t.Errorf("a byte more: got %v, want it refused here", err)
	}
	_, err := tryAsk(c, "get_large_data", map[string]int{"bytes": 8 << 20})
	if lost(t, err, ReasonOversized); !errors.As(err, &size) || size.Limit != 8<<20 || size.Size > 9<<20 {
		t.Errorf("an answer beyond 8 MiB: got %v", err)
	}
	if err := ping(100); err != nil {
		t.Errorf("after it: %v", err)
	}
	if s := c.snapshot(); s.violations != 1 || s.starts != 2 {
		t.Errorf("counts are %+v, want one violation and a second start", s)
	}
}

// Requests go to whichever of the processes is free, and what one of them fails at, the others do
// not.
func TestPoolOfProcesses(t *testing.T) { // seed 002, "Connection pooling for multiple servers"
	conns := make([]*Conn, 3)
	for i := range conns {
		conns[i] = openChild(t, childCommand("serve ndjson"), Options{BackoffFirst: time.Millisecond})
		if err := conns[i].Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pool := NewPool(conns...)
	pids := func() map[string]bool {
		var wg sync.WaitGroup
		defer wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		found := map[string]bool{}
		for range conns { // each keeps its server busy, so the next request goes to another
			c := pool.leastLoaded()
			wg.Go(func() { CallTool(ctx, c, "sleep", map[string]int{"seconds": 3600}) })
			for c.snapshot().inFlight == 0 {
				runtime.Gosched()
			}
			found[ask(t, c, "pid", nil)] = true
		}
		return found
	}
	before := pids()
	if len(before) != len(conns) {
		t.Errorf("the requests went to %d processes of %d", len(before), len(conns))
	}
	exit := map[string]any{"name": "exit", "arguments": map[string]int{"n": 7}}
	_, err := pool.Call(t.Context(), "tools/call", exit)
	lost(t, err, ReasonGone)
	for range 4 {
		if _, err := pool.Call(t.Context(), "ping", nil); err != nil {
			t.Errorf("after one of them failed: %v", err)
		}
	}
	for _, c := range conns {
		c.Wait(t.Context())
	}
	again := 0
	for pid := range pids() {
		if before[pid] {
			again++
		}
	}
	if again != len(conns)-1 {
		t.Errorf("%d of %d processes are those from before, want one started anew", again, len(conns))
	}
	pool.Close()
	for i, c := range conns {
		if code, forced := c.Exit(); code != 0 || forced {
			t.Errorf("server %d: exit %d, forced %v", i, code, forced)
		}
	}
}

func TestChildThatCrashes(t *testing.T) { // seed 002, "Process crashes trigger reconnection"
	c := openChild(t, childCommand("serve ndjson"), Options{BackoffFirst: time.Millisecond})
	for range 3 {
		_, err := tryAsk(c, "exit", map[string]int{"n": 7})
		lost(t, err, ReasonGone)
		if got := ask(t, c, "echo", map[string]string{"message": "back"}); got != "back" {
			t.Errorf("got %s", got)
		}
	}
	if n := c.snapshot().starts; n != 4 {
		t.Errorf("%d starts, want 4", n)
	}
}

func TestChildThatIsKilled(t *testing.T) {
	c := openChild(t, childCommand("serve ndjson"), Options{Restarts: -1})
	pid, err := strconv.Atoi(ask(t, c, "pid", nil))
	if err != nil {
		t.Fatal(err)
	}
	sleeping := make(chan error, 1)
	go func() {
		_, err := tryAsk(c, "sleep", map[string]int{"seconds": 3600})
		sleeping <- err
	}()
	for c.snapshot().inFlight == 0 {
		runtime.Gosched()
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	lost(t, <-sleeping, ReasonGone)
	<-c.Done()
	c.Close()
	if code, forced := c.Exit(); runtime.GOOS != "windows" && code != 128+9 || forced {
		t.Errorf("exit %d, forced %v: want 137", code, forced)
	}
}

func TestStoppingTakesStepsUntilTheChildIsGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs SIGTERM")
	}
	tests := []struct {
		kind   string
		grace  time.Duration
		code   int
		forced bool
	}{
		{"serve ndjson", patience, 0, false},
		// which it takes once, and in which a signal ends it on a busy machine, too
		{"waits-for-term", 5 * time.Second, 128 + int(syscall.SIGTERM), true},
		{"stubborn", 300 * time.Millisecond, 128 + int(syscall.SIGKILL), true},
	}
	for _, test := range tests {
		t.Run(test.kind, func(t *testing.T) {
			command := childCommand(test.kind)
			command.Grace = test.grace
			c := openChild(t, command, Options{})
			ask(t, c, "pid", nil)
			c.Close()
			if code, forced := c.Exit(); code != test.code || forced != test.forced {
				t.Errorf("exit %d, forced %v, want %d, %v", code, forced, test.code, test.forced)
			}
		})
	}
}

func TestGrandchildrenEndToo(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("looks into /proc")
	}
	c := openChild(t, childCommand("serve ndjson"), Options{})
	pid, err := strconv.Atoi(ask(t, c, "bear", nil))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	for deadline := time.Now().Add(patience); !dead(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("grandchild %d lives on", pid)
		}
	}
}

// dead reports whether a process is gone, or a zombie that its new parent has not buried yet.
func dead(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

func TestNoOrphanWhateverFails(t *testing.T) {
	for name, command := range map[string]Command{
		"no such program": {Path: "/no/such/program"},
		"no such folder":  {Path: os.Args[0], Dir: "/no/such/folder"},
		"not a program":   {Path: os.DevNull},
	} {
		t.Run(name, func(t *testing.T) {
			c := openChild(t, command, Options{Restarts: -1})
			_, err := tryAsk(c, "echo", nil)
			lost(t, err, ReasonStart)
		})
	}
	t.Run("no handshake", func(t *testing.T) {
		cat, err := exec.LookPath("cat")
		if err != nil {
			t.Skip("needs cat")
		}
		c := openChild(t, Command{Path: cat}, Options{Restarts: -1, InitTimeout: 50 * time.Millisecond})
		_, err = tryAsk(c, "echo", nil)
		lost(t, err, ReasonHandshake)
	})
}

func TestLimits(t *testing.T) { // seed 002, "Resource limits on spawned processes"
	if runtime.GOOS != "linux" {
		c := openChild(t, Command{Path: os.Args[0], Limits: Limits{Files: 1}}, Options{Restarts: -1})
		_, err := tryAsk(c, "echo", nil)
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), runtime.GOOS) {
			t.Errorf("got %v, want unsupported on %s", err, runtime.GOOS)
		}
		return
	}
	t.Run("descriptors", func(t *testing.T) {
		command := childCommand("serve ndjson")
		command.Limits.Files = 64
		c := openChild(t, command, Options{})
		if _, err := tryAsk(c, "open", map[string]int{"n": 200}); err == nil || !strings.Contains(err.Error(), "too many open files") {
			t.Errorf("got %v, want the limit met", err)
		}
		if got := ask(t, c, "open", map[string]int{"n": 10}); got != "had them" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("memory", func(t *testing.T) {
		if raceEnabled {
			t.Skip("the race detector reserves more address space than any limit")
		}
		command := childCommand("serve ndjson")
		command.Limits.Memory = 4 << 30 // Go reserves much more than it uses
		c := openChild(t, command, Options{BackoffFirst: time.Millisecond})
		_, err := tryAsk(c, "hoard", map[string]int{"n": 1 << 20})
		lost(t, err, ReasonGone)
		if got := ask(t, c, "echo", map[string]string{"message": "survived"}); got != "survived" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("CPU time", func(t *testing.T) {
		command := childCommand("serve ndjson")
		command.Limits.CPU = 500 * time.Millisecond
		c := openChild(t, command, Options{Restarts: -1})
		_, err := tryAsk(c, "burn", nil)
		lost(t, err, ReasonGone)
	})
}

func TestScripts(t *testing.T) { // seed 002, "Language Flexibility"
	const hello = `{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"script","version":"1"}}`
	scripts := map[string]string{
		"server.js": `require('readline').createInterface({input:process.stdin}).on('line',l=>{const m=JSON.parse(l);` +
			`if(m.id)console.log(JSON.stringify({jsonrpc:'2.0',id:m.id,result:m.method==='initialize'?` + hello + `:'js'}))})`,
		"server.py": "import sys,json\nfor l in sys.stdin:\n m=json.loads(l)\n if 'id' in m: print(json.dumps({'jsonrpc':'2.0','id':m['id']," +
			"'result':json.loads('" + hello + "') if m['method']=='initialize' else 'py'}),flush=True)\n",
	}
	for name, text := range scripts {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := NewCommand(path)
			if _, err := exec.LookPath(command.Path); err != nil {
				t.Skipf("needs %s", command.Path)
			}
			c := openChild(t, command, Options{})
			got, err := c.Call(context.Background(), "m", nil)
			if err != nil || strings.Trim(string(got), `"`) != strings.TrimPrefix(filepath.Ext(name), ".") {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
