package check_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/check"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// What the test binary is instead of testing, by its first argument: the server that clients are
// given, or a client that is wrong in the way of its second.
const (
	ourServe  = "check-test-serve"
	badClient = "check-test-client"
)

func init() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) > 0 && args[0] == ourServe:
		err = serveRecorded(args[1:])
	case len(args) > 2 && args[0] == badClient:
		os.Exit((&badVisitor{wrong: args[1], server: args[2:]}).run())
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveRecorded does what serve does with --record FILE and --fault SPEC.
func serveRecorded(flags []string) error {
	o := mcpstdio.Options{
		Tools:  mcpstdio.Samples(),
		Stderr: os.Stderr,
		Run:    fmt.Sprint(os.Getpid()),
	}
	for i := 0; i+1 < len(flags); i += 2 {
		var err error
		if flags[i] == "--fault" {
			o.Fault, err = mcpstdio.ParseFault(flags[i+1])
		} else {
			var f *os.File
			if f, err = os.OpenFile(flags[i+1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
				o.Record = results.NewWriter(f)
				err = o.Record.Write(results.Environment{Run: o.Run})
			}
		}
		if err != nil {
			return err
		}
	}
	s, err := mcpstdio.Start(context.Background(), os.Stdin, os.Stdout, o)
	if err != nil {
		return err
	}
	return s.Wait()
}

// A badVisitor calls echo of its server once, and is wrong in one way.
type badVisitor struct {
	wrong  string
	server []string

	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	id    int
}

const textSent = "héllo wörld"

func (c *badVisitor) run() int {
	err := c.start()
	if err == nil {
		err = c.talk()
	}
	switch {
	case c.wrong == "leaves" && err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	case c.wrong == "kills":
		c.cmd.Process.Kill()
	}
	c.in.Close()
	over := time.AfterFunc(2*time.Second, func() { c.cmd.Process.Kill() })
	c.cmd.Wait()
	over.Stop()
	if err == nil {
		return 0
	}
	switch c.wrong {
	case "mute":
		return 1
	case "litters":
		os.WriteFile(filepath.Join(os.TempDir(), "core"), nil, 0o600)
	case "cheerful":
		fmt.Println("failed:", err)
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func (c *badVisitor) start() (err error) {
	c.cmd = exec.Command(c.server[0], c.server[1:]...)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	switch c.wrong {
	case "deaf to stderr":
		if _, err := c.cmd.StderrPipe(); err != nil {
			return err
		}
	case "forgetful": // of what the server said
	default:
		c.cmd.Stderr = os.Stderr
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		scan := bufio.NewScanner(out)
		if c.wrong != "small" {
			scan.Buffer(nil, 1<<30)
		}
		for scan.Scan() {
			lines <- scan.Text()
		}
	}()
	c.lines = lines
	return c.cmd.Start()
}

const opening = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"specimen","version":"1"}}`

// ask sends a request and returns its result.
func (c *badVisitor) ask(method, params string) (result map[string]any, err error) {
	if c.id++; c.wrong == "repeats ids" {
		c.id = 1
	}
	fmt.Fprintf(
		c.in,
		`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n",
		c.id,
		method,
		params,
	)
	patience := time.After(6 * time.Second)
	switch {
	case c.wrong == "patient":
		patience = nil
	case method == "tools/call" && c.wrong == "leaves":
		patience = time.After(time.Second)
	case method == "tools/call" && c.wrong == "walks away": // it does so twice
		patience = time.After(5 * time.Second)
	}
	for {
		select {
		case line, ok := <-c.lines:
			var m struct {
				ID     *int
				Result map[string]any
				Error  *struct{ Message string }
			}
			switch err := json.Unmarshal([]byte(line), &m); {
			case !ok:
				return nil, errors.New("the server closed its output")
			case err != nil && c.wrong == "strict":
				return nil, fmt.Errorf("not a message: %q", line)
			case err != nil || m.ID == nil || *m.ID != c.id:
				continue
			case m.Error != nil:
				return nil, errors.New(m.Error.Message)
			}
			return m.Result, nil
		case <-patience:
			if c.wrong != "walks away" {
				fmt.Fprintf(
					c.in,
					`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n",
					c.id,
				)
			}
			return nil, fmt.Errorf("no answer to %s", method)
		}
	}
}

func (c *badVisitor) talk() error {
	if c.wrong != "early" {
		result, err := c.ask("initialize", opening)
		if err != nil {
			return err
		}
		v, _ := result["protocolVersion"].(string)
		if v == "2024-11-05" && c.wrong == "newest only" {
			os.Exit(1)
		}
		if !strings.HasPrefix(v, "202") && c.wrong != "takes any version" {
			return fmt.Errorf("unknown version %q", v)
		}
		fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	result, err := c.ask("tools/call", `{"name":"echo","arguments":{"message":"`+textSent+`"}}`)
	if err != nil {
		return err
	}
	fmt.Println(result["content"])
	return nil
}

// clientFindings checks a client, and returns what is found.
func clientFindings(t *testing.T, o check.Options) []results.Finding {
	t.Helper()
	var found []results.Finding
	err := check.Client(t.Context(), o, func(l results.Line) error {
		found = append(found, l.(results.Finding))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Each of these clients is wrong in one way, and named for it. The one without a name is right.
func TestClientsThatAreWrongInOneWay(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		wrong, situation, says string // says "" where it is right
		timeout                time.Duration
		linux                  bool // the judgement rests on what only Linux tells
	}{
		{wrong: "", situation: "good-server,exit0,limit,error,truncate-at-exit,dirty,odd-version," +
			"old-version,stderr-flood,mcp-opening,mcp-messages,mcp-cancel,mcp-shutdown"},
		{wrong: "cheerful", situation: "exit0", says: "ends with code 0, as if all were well"},
		{wrong: "mute", situation: "truncate-at-exit", says: "ends with code 1 and says nothing"},
		{wrong: "patient", situation: "deaf", says: "is still there after", timeout: 10 * time.Second},
		{wrong: "strict", situation: "dirty", says: `ends with code 1 after`},
		{wrong: "deaf to stderr", situation: "stderr-flood", says: "ends with code 1 after"},
		{wrong: "forgetful", situation: "limit", says: "the reason that the server gave is lost"},
		{wrong: "leaves", situation: "never-read", says: "leaves 1 process of its server behind", linux: true},
		{wrong: "litters", situation: "error", says: "leaves 1 file for temporary files behind"},
		{wrong: "small", situation: "large-answer", says: "takes answers of 65,535 B; a larger one ends it with code 1"},
		{wrong: "takes any version", situation: "odd-version", says: "ends with code 0, as if all were well"},
		{wrong: "newest only", situation: "old-version", says: "ends with code 1 and says nothing"},
		{wrong: "walks away", situation: "mcp-cancel", says: "gives up on its requests and does not cancel them"},
		{wrong: "kills", situation: "mcp-shutdown", says: "by a signal in 1 session"},
		{wrong: "early", situation: "mcp-opening", says: `begins with "tools/call"`},
		{wrong: "repeats ids", situation: "mcp-messages", says: "uses the id 1 twice"},
		{wrong: "trusting of bytes", situation: "corrupt"},
		{wrong: "trusting", situation: "split-utf8", says: `"` + textSent + `" is not in its output`},
	} {
		t.Run(row.wrong, func(t *testing.T) {
			if _, err := os.ReadDir("/proc/self/fd"); row.linux && err != nil {
				t.Skip(err)
			}
			t.Parallel()
			o := check.Options{
				Run: runOf(
					t,
				), Serve: []string{self, ourServe},
				Command: []string{self, badClient, row.wrong, "{}"},
				Only: strings.Split(
					row.situation,
					",",
				), Timeout: cmp.Or(row.timeout, 30*time.Second),
			}
			if strings.HasPrefix(row.wrong, "trusting") {
				o.Expect = textSent
			}
			found := clientFindings(t, o)
			if len(found) != len(o.Only) {
				t.Errorf("%d records of %d", len(found), len(o.Only))
			}
			wants := results.Fails
			if row.situation == "mcp-cancel" { // which is what should be, not what has to be
				wants = results.Slow
			}
			for _, c := range found {
				t.Logf("%s: %s: %s", c.Name(), c.Verdict, c.Found)
				if row.says == "" && c.Verdict != results.OK ||
					row.says != "" && (c.Verdict != wants || !strings.Contains(c.Found, row.says)) {
					t.Errorf("%s: %s, %s: want %q", c.Name(), c.Verdict, c.Found, row.says)
				}
			}
		})
	}
}

// A client that does not work with a good server is judged by nothing else, and that is no PASS.
func TestAClientThatDoesNotWorkIsNotJudged(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := check.Options{
		Run: runOf(t), Serve: []string{self, ourServe}, Timeout: 30 * time.Second,
		Command: []string{"sh", "-c", "echo no such option >&2; exit 2", "{}"},
	}
	found := clientFindings(t, o)
	if len(found) != 1 || found[0].ID != "check/client/good-server" ||
		found[0].Verdict != results.CannotTell ||
		!strings.Contains(found[0].Found, "no such option") {
		t.Errorf("found %+v", found)
	}
}

// The command of the server gets to a client as arguments, as text for a shell, and in files.
func TestClientGetsItsServer(t *testing.T) {
	leaktest.Check(t)
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const config = "servers.json"
	template := []byte(
		`{"all": "{}", "program": "{program}", "arguments": "{arguments}", "line": "sh -c {}"}`,
	)
	for name, row := range map[string]struct {
		command []string
		config  string
		prints  string
	}{
		"a shell line": {[]string{"sh", "-c", `echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | {}; echo done`}, "", "done"},
		"a text":       {[]string{"sh", "-c", `echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | eval "$1"; echo done`, "sh", "{command}"}, "", "done"},
		"a file": {[]string{"sh", "-c", `echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | {} | cat - {config}; `}, config,
			`"program": "` + self + `", "arguments": ["` + ourServe + `","--record"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := check.Options{
				Run:      "r",
				Serve:    []string{self, ourServe},
				Command:  row.command,
				Config:   row.config,
				Template: template,
				Expect:   row.prints,
				Only:     []string{"good-server"},
				Timeout:  time.Minute,
			}
			err := check.Client(t.Context(), o, func(l results.Line) error {
				if c := l.(results.Finding); c.Verdict != results.OK {
					t.Errorf("%s: %s", c.Verdict, c.Found)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for _, o := range []check.Options{
		{Command: []string{"client"}},
		{Command: []string{"client", "{}"}, Config: config},
		{Command: []string{"client", "{}", "--with={config}"}},
	} {
		if err := o.Validate(catalogue.Client); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

// runOf names the run of a test. Another process that tests at the same time must not find what
// this one starts by its mark, and end it.
func runOf(t *testing.T) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid())
}

// A client that needs more time from its second start on is slow with a good server, too. It is not
// stuck because of a fault.
func TestAClientThatBecomesSlowIsNotTakenForAStuckOne(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := filepath.Join(t.TempDir(), "started")
	const becomesSlow = `[ -e "$0" ] && exec sleep 600; : >"$0"; exec "$@"`
	o := check.Options{
		Run: runOf(t), Serve: []string{self, ourServe}, Timeout: 5 * time.Second,
		Command: []string{"sh", "-c", becomesSlow, started, self, badClient, "", "{}"},
		Only:    []string{"dirty"},
	}
	found := clientFindings(t, o)
	if len(found) != 1 || found[0].Verdict != results.CannotTell ||
		!strings.Contains(found[0].Found, "with a good server: give it more time") {
		t.Errorf("found %+v", found)
	}
}
