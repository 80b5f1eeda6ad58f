package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/proc"
	"github.com/pipebench/pipebench/syspipe/script"
)

// A ClientEvidence is what the verdict on a client rests on: one start of it.
type ClientEvidence struct {
	Server []string `json:"server"` // the command of the server that it was given

	TookNS   int64    `json:"took_ns"`
	Ended    bool     `json:"ended"` // by itself, in its time
	Code     int      `json:"exit_code"`
	Stdout   int64    `json:"stdout_bytes"`
	Said     string   `json:"stderr_tail,omitempty"`
	Sessions []string `json:"sessions"` // how each start of the server ended; "" is by force, or by itself

	Asked     int `json:"requests"`  // that are none of the handshake
	Again     int `json:"repeated"`  // requests that were sent before, with the same parameters
	Cancelled int `json:"cancelled"` // requests
	LeftAlive int `json:"processes_left"`
	LeftFiles int `json:"files_left"` // in the folder for temporary files

	Limit       int64 `json:"largest_answer,omitempty"` // message bytes
	Descriptors *int  `json:"descriptors_more,omitempty"`
}

// A visit is one start of the client with a server of ours, and what came of it.
type visit struct {
	ClientEvidence
	out      string // the end of what it printed
	messages []results.Message
}

// visit starts the client, whose server gets these flags, and waits until it ends, or its time is
// over. What is left of it then is counted and ended. watch is called all the while; nil is nobody.
func (f *finding) visit(
	ctx context.Context, watch func(pid int, record string) (enough bool), flags ...string,
) *visit {
	dir := script.Must(os.MkdirTemp("", "pipebench-check-"))
	defer os.RemoveAll(dir)
	temp, record := filepath.Join(dir, "tmp"), filepath.Join(dir, "record.jsonl")
	script.Check(os.Mkdir(temp, 0o700))
	v := &visit{ClientEvidence: ClientEvidence{Server: slices.Concat(f.o.Serve, []string{"--record", record}, flags)}}
	p, out := f.command(withServer(f.o, v.Server, dir)), &proc.Tail{Limit: 1 << 20}
	defer p.Close()
	p.Cmd.Env = append(p.Cmd.Env, "TMPDIR="+temp, "TMP="+temp, "TEMP="+temp)
	p.Cmd.Stdout = out
	if f.o.Stdin != nil {
		p.Cmd.Stdin = bytes.NewReader(f.o.Stdin)
	}
	begun := time.Now()
	script.Check(p.Start(ctx))
	for !v.Ended && time.Since(begun) < f.o.Timeout && ctx.Err() == nil && (watch == nil || !watch(p.Cmd.Process.Pid, record)) {
		v.Ended = p.Ended(10 * time.Millisecond)
	}
	if v.TookNS = int64(time.Since(begun)); !v.Ended {
		p.Stop(0, time.Second)
	}
	left, _ := proc.EndMarked(f.mark, leaveTime[slices.Contains(flags, "never-read")])
	v.LeftAlive, v.Code = len(left), p.ExitCode()
	v.Stdout, v.Said, v.out = out.Total(), p.Stderr().String(), out.String()
	v.LeftFiles = drive.FilesIn(temp)
	v.read(record)
	script.Check(ctx.Err())
	return v
}

// read takes down what the server was sent; without a file it was not started.
func (v *visit) read(path string) {
	set, err := results.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, results.ErrEmpty) {
		return
	}
	script.Check(err)
	v.messages = set.Messages
	seen := map[string]bool{}
	for _, e := range set.Environments {
		end := ""
		for _, t := range set.OfRun(e.Run).Targets {
			end = t.Verdict
		}
		v.Sessions = append(v.Sessions, end)
	}
	for _, m := range set.Messages {
		if m.Dir != "request" || m.Method == "" || slices.Contains(mcpstdio.OpeningMethods, m.Method) {
			continue
		}
		if m.Method == "notifications/cancelled" {
			v.Cancelled++
			continue
		}
		v.Asked++
		parsed, _ := jsonrpc.Parse([]byte(m.Body)) // without its body it is as any other of its method
		if key := m.Method + string(parsed.Params); seen[key] {
			v.Again++
		} else {
			seen[key] = true
		}
	}
}

// withServer returns the command of the client with that of its server in it. "{}" alone becomes its
// words, each an argument; within an argument, and as "{command}", it is one text for a shell. In a
// template of JSON, "{}" as a whole string becomes a list, "{program}" its first word and
// "{arguments}" the list of the others.
func withServer(o Options, server []string, dir string) (argv []string) {
	line, config := proc.ShellLine(server), ""
	if o.Config != "" {
		text := script.Must(os.ReadFile(o.Config))
		replaced := []string{"{}", line, "{command}", line}
		if filepath.Ext(o.Config) == ".json" {
			inside := strings.Trim(inJSON(line), `"`)
			replaced = []string{`"{}"`, inJSON(server), `"{program}"`, inJSON(server[0]), `"{arguments}"`, inJSON(server[1:]), "{}", inside, "{command}", inside}
		}
		config = filepath.Join(dir, filepath.Base(o.Config))
		script.Check(os.WriteFile(config, []byte(strings.NewReplacer(replaced...).Replace(string(text))), 0o600))
	}
	for _, arg := range o.Command {
		if arg == "{}" {
			argv = append(argv, server...)
			continue
		}
		argv = append(argv, strings.NewReplacer("{}", line, "{command}", line, "{config}", config).Replace(arg))
	}
	return argv
}

// inJSON returns the text of strings.
func inJSON(v any) string {
	text, _ := json.Marshal(v) // strings marshal always
	return string(text)
}

// last is the last line of what the client said, of its standard error if there is one.
func (v *visit) last() string { return lastLine(cmp.Or(v.Said, v.out)) }

// story tells what else a client did that met a failure.
func (v *visit) story() string {
	var out strings.Builder
	if v.Cancelled > 0 {
		out.WriteString("; it cancelled what it had asked")
	}
	if n := len(v.Sessions); n > 1 {
		fmt.Fprintf(&out, "; it started the server %d times", n)
	}
	if v.Again > 0 {
		fmt.Fprintf(&out, "; it sent %d of its requests again", v.Again)
	}
	return out.String()
}

// clientRules are the rules of MCP over stdio that a client keeps or breaks in the visit to a good
// server, by their names in the catalogue: each says what is broken, "" for nothing.
var clientRules = map[string]func(*visit) string{
	"mcp-opening":  perSession(breaksOpening),
	"mcp-messages": perSession(breaksMessages),
	"mcp-shutdown": func(v *visit) string {
		forced := stat.Filter(v.Sessions, func(end string) bool { return end != mcpstdio.EndOfInput })
		if n := len(forced); v.Ended && n > 0 {
			return fmt.Sprintf("ends the server by a signal in %s: its input is to be closed first", results.FormatCount(n, "session"))
		}
		return ""
	},
}

// perSession makes a rule of one for the requests and notifications of a session: the first session that
// breaks it tells.
func perSession(broken func([]results.Message) string) func(*visit) string {
	return func(v *visit) (what string) {
		for _, session := range stat.GroupBy(v.messages, func(m results.Message) string { return m.Run }) {
			what = cmp.Or(what, broken(session))
		}
		return what
	}
}

// breaksOpening looks for a handshake in its order: initialize, its answer, the notification, all
// else. What opens with server/discover, or speaks a revision without handshake, has another one.
func breaksOpening(session []results.Message) string {
	first := session[0]
	m, err := jsonrpc.Parse([]byte(first.Body))
	var params struct {
		ProtocolVersion string
		Capabilities    json.RawMessage
		ClientInfo      struct{ Name, Version string }
		Meta            map[string]any `json:"_meta"`
	}
	if err == nil {
		err = json.Unmarshal(m.Params, &params)
	}
	switch {
	case params.Meta["io.modelcontextprotocol/protocolVersion"] != nil:
		return "" // each request carries the version
	case first.Method != "initialize":
		return fmt.Sprintf("begins with %q, where initialize, or server/discover with its version, comes first", first.Method)
	case err != nil, params.ProtocolVersion == "", len(params.Capabilities) == 0, params.ClientInfo.Name == "":
		return "sends initialize without a protocolVersion, capabilities or clientInfo"
	}
	for _, m := range session[1:] {
		switch {
		case m.Dir == "reply" || m.Method == "ping":
		case m.Method == "notifications/initialized":
			return ""
		default:
			return fmt.Sprintf("sends %s before notifications/initialized", m.Method)
		}
	}
	return "does not send notifications/initialized"
}

// breaksMessages looks at each message by itself, and for ids that are used twice.
func breaksMessages(session []results.Message) string {
	ids := map[string]bool{}
	for _, m := range session {
		if m.Dir != "request" || m.Body == "" {
			continue
		}
		parsed, err := jsonrpc.Parse([]byte(m.Body))
		id := string(parsed.ID)
		switch {
		case err != nil:
			return fmt.Sprintf("sends what is no message: %.60q", m.Body)
		case parsed.Kind() != jsonrpc.Request:
		case !isStringOrInteger(id):
			return fmt.Sprintf("sends %s with the id %s, which is to be a string or an integer", m.Method, id)
		case ids[id]:
			return fmt.Sprintf("uses the id %s twice in a session", id)
		}
		ids[id] = true
	}
	return ""
}

// isStringOrInteger reports whether an id, which is JSON text of a string or a number, is one that
// MCP allows. A number such as 1.0 is an integer, too.
func isStringOrInteger(id string) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(id, 64)
	return err == nil && n == math.Trunc(n)
}
