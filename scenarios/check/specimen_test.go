package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
)

// serverJob names, in the environment of a child, which server the test binary is to be instead of
// testing.
const serverJob = "CHECK_TEST_SERVER"

// testerPID names, in the environment of such a child, which process tests: another one that does
// at the same time must not find what this one's children start, and end it.
const testerPID = "CHECK_TEST_PID"

func init() {
	if job := os.Getenv(serverJob); job != "" && os.Getenv("PIPEBENCH_WORK") == "" {
		kind, arg, _ := strings.Cut(job, " ")
		var err error
		switch kind {
		case "ours":
			err = serveOurs(arg)
		case "pastes":
			err = servePasted()
		case "slices":
			err = serveSlices(arg)
		case "queues":
			err = serveFromQueue(math.MaxInt)
		case "pieces":
			err = serveFromQueue(60_000)
		case "go-sdk":
			s := mcp.NewServer(&mcp.Implementation{Name: "specimen", Version: "1"}, nil)
			switch arg {
			case "repeat":
				addRepeat(s, func(text string) string { return text })
			case "shorten":
				addRepeat(s, func(text string) string { return text[:min(len(text), 20_000)] })
				addGive(s, "give", 20_000)
				addGive(s, "give-few", 2000)
			case "latin": // its encoding has no Chinese characters
				addRepeat(s, func(text string) string {
					return strings.ReplaceAll(text, "漢", "?")
				})
			}
			err = s.Run(context.Background(), &mcp.StdioTransport{})
		case "framed":
			err = serveFramed(arg)
		case "nag":
			nag()
		case "loses":
			loseEveryThird()
		case "reserve", "characters", "newlines":
			err = reserve(kind)
		case "shy":
			err = serveShy(arg)
		case "exits":
		case "sleep":
			time.Sleep(time.Hour)
		default:
			(&specimen{wrong: kind}).serve()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// addRepeat adds a tool that returns what change makes of its text, under a name that nobody
// guesses.
func addRepeat(s *mcp.Server, change func(string) string) {
	type input struct {
		Text string `json:"text"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "repeat"},
		func(
			_ context.Context, _ *mcp.CallToolRequest, in input,
		) (*mcp.CallToolResult, any, error) {
			content := []mcp.Content{&mcp.TextContent{Text: change(in.Text)}}
			return &mcp.CallToolResult{Content: content}, nil, nil
		})
}

// addGive adds a tool that returns as many bytes as a number says, and no more than most.
func addGive(s *mcp.Server, name string, most int) {
	type input struct {
		Bytes int `json:"bytes"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: name},
		func(
			_ context.Context, _ *mcp.CallToolRequest, in input,
		) (*mcp.CallToolResult, any, error) {
			text := strings.Repeat("x", min(in.Bytes, most))
			content := []mcp.Content{&mcp.TextContent{Text: text}}
			return &mcp.CallToolResult{Content: content}, nil, nil
		})
}

// serveOurs is the project's own server, with a fault if one is named.
func serveOurs(fault string) (err error) {
	o := mcpstdio.Options{Tools: mcpstdio.Samples(), Stderr: os.Stderr}
	if fault == "" { // however busy the machine is, it answers all that was asked
		o.EOFGrace = time.Minute
		o.FlushTimeout = time.Minute
		o.ShutdownTimeout = time.Minute
	} else if o.Fault, err = mcpstdio.ParseFault(fault); err != nil {
		return err
	}
	return serve(o)
}

// serveFramed is the project's own server, in another framing than lines.
func serveFramed(spec string) error {
	framing, err := framers.Parse(spec)
	if err != nil {
		return err
	}
	return serve(mcpstdio.Options{
		Tools: mcpstdio.Samples(), Stderr: os.Stderr, Framing: framing,
	})
}

// serveSlices is the project's own server, whose answers are cut into lines of 60,000 bytes, as if
// a pipe could not take more. Without a tool that makes bytes it is "echo".
func serveSlices(tools string) error {
	o := mcpstdio.Options{Tools: mcpstdio.Samples(), Stderr: os.Stderr}
	if tools == "echo" {
		o.Tools = slices.DeleteFunc(o.Tools, func(t mcpstdio.Tool) bool {
			return t.Name != "echo"
		})
	}
	whole, out := io.Pipe()
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		answers := bufio.NewReader(whole)
		for {
			line, err := answers.ReadBytes('\n')
			if err != nil {
				return
			}
			for piece := range slices.Chunk(bytes.TrimSuffix(line, []byte("\n")), 60_000) {
				os.Stdout.Write(piece)
				os.Stdout.WriteString("\n")
			}
		}
	}()
	err := serveTo(out, o)
	out.Close()
	<-cut
	return err
}

// servePasted is the project's own server, with the tool "echo" alone. Its answers have characters
// in place of JSON escapes.
func servePasted() error {
	tools := slices.DeleteFunc(mcpstdio.Samples(), func(t mcpstdio.Tool) bool {
		return t.Name != "echo"
	})
	escaped, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		pasted := strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t", `\\`, `\`)
		lines := bufio.NewScanner(escaped)
		for lines.Scan() {
			pasted.WriteString(os.Stdout, lines.Text()+"\n")
		}
		written <- lines.Err()
	}()
	err := serveTo(out, mcpstdio.Options{Tools: tools, Stderr: os.Stderr})
	out.Close()
	return errors.Join(err, <-written)
}

// isFirst reports whether an answer, or its beginning, is the one to the first copy of a request.
func isFirst(answer []byte) bool {
	start, _, _ := bytes.Cut(answer, []byte(`,"result"`))
	id, found := bytes.CutPrefix(start, []byte(`{"jsonrpc":"2.0","id":`))
	number, numbered := target.NumberOf(id)
	return found && numbered && number == 0
}

// serveFromQueue is the project's own server, whose answers wait in a queue until they are written,
// as in an event loop. Pieces of longer answers are written in turn, and mix. At the end of its
// input it exits without writing what waits.
func serveFromQueue(piece int) error {
	answers, out := io.Pipe()
	queue := make(chan []byte, 1000)
	go func() {
		for answer := range queue {
			n := min(len(answer), piece)
			os.Stdout.Write(answer[:n])
			if n == len(answer) {
				continue
			}
			if isFirst(answer) { // of several: another one comes, however busy the machine is
				queue <- <-queue
			}
			queue <- answer[n:]
		}
	}()
	go func() {
		lines := bufio.NewReader(answers)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			queue <- line
		}
	}()
	o := mcpstdio.Options{Tools: mcpstdio.Samples(), Stderr: os.Stderr, MaxInFlight: 1}
	err := serveTo(out, o)             // in order: the large answer is the last
	time.Sleep(300 * time.Millisecond) // until the pipe is full
	return err
}

func serve(o mcpstdio.Options) error { return serveTo(os.Stdout, o) }

func serveTo(out io.Writer, o mcpstdio.Options) error {
	s, err := mcpstdio.Start(context.Background(), os.Stdin, out, o)
	if err == nil {
		err = s.Wait()
	}
	return err
}

// A specimen is an MCP server without tools that is wrong in one way.
type specimen struct {
	wrong    string
	greeted  bool
	requests int
	leak     [][]byte
	late     bool   // the request with the id 7 is answered with the next one
	crowded  bool   // another one of its kind runs
	heap     []byte // that requests are written into from start to end, and again
}

func (s *specimen) is(wrong string) bool { return s.wrong == wrong }

// start does what is wrong from the first moment.
func (s *specimen) start() {
	switch s.wrong {
	case "ignores-sigterm":
		signal.Ignore(syscall.SIGTERM)
	case "ignores-sigint":
		signal.Ignore(os.Interrupt)
	case "locks":
		s.crowded = meetRivals()
	case "holder":
		s.child(os.Stdout)
	case "parent":
		s.child(nil)
	case "uncollected":
		s.heap = make([]byte, 4<<20)
	case "remembering":
		s.heap = make([]byte, 36<<20)
	case "littering":
		os.CreateTemp("", "specimen-")
	case "hoarding": // a file that grows with every start, kept in memory
		path := os.TempDir() + "/state"
		state, _ := os.ReadFile(path)
		state = append(state, bytes.Repeat([]byte("s"), 4<<20)...)
		os.WriteFile(path, state, 0o600)
		s.leak = append(s.leak, state)
	}
}

// child starts a process that stays.
func (s *specimen) child(out *os.File) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverJob+"=sleep "+os.Getenv(testerPID))
	if out != nil {
		cmd.Stdout = out
	}
	cmd.Start()
}

func (s *specimen) serve() {
	s.start()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		s.take(lines.Bytes())
	}
	switch {
	case s.is("ignores-end"), s.crowded,
		s.is("ignores-early-end") && !s.greeted,
		s.is("hangs-in-flight") && s.requests > 5,
		s.is("settles") && s.requests > 0:
		time.Sleep(time.Hour)
	case s.is("farewell"):
		fmt.Println("bye")
	case s.is("crashes-at-end"):
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Signal(syscall.SIGKILL)
		}
		time.Sleep(time.Hour)
	}
}

// take answers a line.
func (s *specimen) take(line []byte) {
	var r struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if s.is("lender") && s.greeted {
		s.child(os.Stdout)
	}
	if s.is("logs-large") && len(line) > 300_000 {
		fmt.Println("large request")
	}
	switch err := json.Unmarshal(line, &r); {
	case s.is("ascii-only") && bytes.ContainsFunc(line, func(r rune) bool { return r > 127 }):
		os.Exit(1)
	case s.is("ascii-ids") && bytes.ContainsFunc(r.ID, func(r rune) bool { return r > 127 }):
		os.Exit(1)
	case err != nil && s.is("no-batch"):
		fmt.Fprintln(os.Stderr, "not an object:", err)
		os.Exit(1)
	case err != nil:
		fmt.Println(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no request"}}`)
	case r.ID == nil && s.is("no-cancel") && strings.Contains(r.Method, "cancel"):
		os.Exit(1)
	case r.ID == nil:
	case r.Method == "initialize":
		s.greeted = true
		fmt.Printf(
			`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`+"\n",
			r.ID,
		)
	case r.Method == "ping":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", r.ID)
	case r.Method == "tools/list":
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`+"\n", r.ID)
	default:
		s.refuse(string(r.ID))
	}
}

// refuse answers a method that it does not know.
func (s *specimen) refuse(id string) {
	code := -32601
	s.requests++
	switch {
	case s.is("chatty"):
		fmt.Fprintln(os.Stderr, "refused:", strings.Repeat("no such method ", 6))
	case s.is("wrong-code"):
		code = -32600
	case s.is("all-strings") && !strings.HasPrefix(id, `"`):
		id = `"` + id + `"`
	case s.is("numbers-only") && strings.HasPrefix(id, `"`):
		id = "null"
	case s.is("doubles") && id == "2147483647":
		id = "2147483648"
	case s.is("drops") && s.requests%10 == 0:
		return
	case s.is("late") && id == "7":
		s.late = true
		return
	case s.is("leaky"):
		s.keep(64 << 10)
	case s.is("leaky-later") && s.requests > 500: // until then, its heap has room
		s.keep(16 << 10)
	case s.is("leaky-warmed"):
		if s.requests < 400 {
			s.keep(56 << 10)
		}
		s.keep(8 << 10)
	case s.is("uncollected"):
		s.fill(3 << 10)
	case s.is("remembering"):
		s.fill(24 << 10)
	}
	answer := fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`+"\n",
		id,
		code,
	)
	if s.is("twice") {
		answer += answer
	}
	if s.late {
		s.late = false
		fmt.Printf(refusal+"\n", "7")
	}
	io.WriteString(os.Stdout, answer)
}

// keep takes memory and never forgets it.
func (s *specimen) keep(size int) { s.leak = append(s.leak, bytes.Repeat([]byte("l"), size)) }

// fill writes into the heap, behind what the request before it wrote.
func (s *specimen) fill(size int) {
	at := s.requests * size % len(s.heap)
	copy(s.heap[at:], bytes.Repeat([]byte("h"), size))
}

const refusal = `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`

// loseEveryThird answers each line with itself, but for every third of those that are large.
func loseEveryThird() {
	lines := bufio.NewReader(os.Stdin)
	for large := 0; ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		if len(line) > 100<<10 {
			large++
		}
		if len(line) <= 100<<10 || large%3 != 0 {
			os.Stdout.Write(line)
		}
	}
}

// nag is upset by what is no message, and answers with none.
func nag() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		e := jsonrpc.Scan(lines.Bytes())
		if e.Kind() != jsonrpc.Request {
			fmt.Println(
				`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}`,
			)
			time.Sleep(time.Hour) // select {} is a deadlock in a program without cgo
		}
		fmt.Printf(refusal+"\n", e.ID)
	}
}

// reserve refuses every request in the framing of language servers, and makes room for all that is
// announced. If wrong is "characters", it announces the characters of its answers, not their bytes;
// if it is "newlines", the lines of its headers end with LF alone.
func reserve(wrong string) error {
	in := bufio.NewReader(os.Stdin)
	for {
		var size int
		if _, err := fmt.Fscanf(in, "Content-Length: %d\r\n\r\n", &size); err != nil {
			return err
		}
		msg := make([]byte, size)
		if _, err := io.ReadFull(in, msg); err != nil {
			return err
		}
		answer := fmt.Sprintf(refusal, jsonrpc.Scan(msg).ID)
		length := len(answer)
		if wrong == "characters" {
			length = utf8.RuneCountInString(answer)
		}
		header := fmt.Sprintf("Content-Length: %d\r\n\r\n", length)
		if wrong == "newlines" {
			header = strings.ReplaceAll(header, "\r", "")
		}
		fmt.Print(header + answer)
	}
}

// serveShy is a language server that ignores unknown methods. If provider is set, it names this
// capability; either way, it has no method of documents but textDocument/hover.
func serveShy(provider string) error {
	in := framers.ContentLength().NewReader(os.Stdin)
	out := framers.ContentLength().NewWriter(os.Stdout)
	for {
		msg, err := in.ReadMessage()
		if err != nil {
			return err
		}
		m := jsonrpc.Scan(msg)
		result := ""
		switch string(m.Method) {
		case "initialize":
			result = fmt.Sprintf(`{"capabilities":{"%s":true}}`, provider)
		case "textDocument/hover":
			result = "null"
		default:
			continue
		}
		answer := jsonrpc.AppendResult(nil, jsonrpc.ID(m.ID), []byte(result))
		if err := out.WriteMessage(answer); err != nil {
			return err
		}
	}
}
