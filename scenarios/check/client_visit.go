package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A visit is what the client did in one run with our server.
type visit struct {
	took     time.Duration
	ended    bool   // the client ended by itself, and in time
	code     int    // the client's exit code
	out      string // the end of what the client wrote to standard output
	outBytes int64  // how many bytes the client wrote there in all
	said     string // the end of what the client wrote to standard error
	messages []results.Message
	sessions [][]results.Message // the same by start of the server, without starts that have none
	// For each start of the server, why the server ended; "" if it was killed or ended of its own
	// accord.
	sessionEnds []string

	asked     int // requests of the client that do not belong to the handshake
	cancelled int // requests that the client cancelled
	leftAlive int // processes that the client left running
	leftFiles int // files that the client left in its folder for temporary files
}

// visit runs the client until it ends or its time is over. The client starts our test server with
// the given flags. Processes that the client leaves running are counted and ended.
func (f *finding) visit(ctx context.Context, flags ...string) (*visit, error) {
	dir, err := os.MkdirTemp("", "pipebench-check-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	record := filepath.Join(dir, "record.jsonl")
	v := &visit{}
	server := slices.Concat(f.options.Serve, []string{"--record", record}, flags)
	if f.options.lines != nil {
		server, err = linesServer(dir, f.options.lines)
		if err != nil {
			return nil, err
		}
	}
	argv, err := withServer(f.options, server, dir)
	if err != nil {
		return nil, err
	}
	p := f.command(argv)
	defer p.Close()
	out := &proc.Tail{Limit: 1 << 20}
	p.Cmd.Stdout = out
	if f.options.Stdin != nil {
		p.Cmd.Stdin = bytes.NewReader(f.options.Stdin)
	}
	files := filesIn(f.temp) // files that an earlier visit left
	begun := time.Now()
	if err := p.Start(ctx); err != nil {
		return nil, err
	}
	v.ended = p.Ended(f.options.Timeout)
	v.took = time.Since(begun).Round(10 * time.Millisecond)
	if !v.ended {
		p.Stop(0, time.Second)
	}
	patience := leavePatience
	if slices.Contains(flags, "never-read") {
		patience = killedPatience
	}
	left, _ := proc.EndMarked(f.mark, patience)
	v.code = p.ExitCode()
	v.said = p.Stderr().String()
	v.outBytes = out.Total()
	v.out = out.String()
	v.leftAlive = len(left)
	v.leftFiles = max(filesIn(f.temp)-files, 0)
	if err := v.read(record); err != nil {
		return nil, err
	}
	return v, ctx.Err()
}

// worked reports whether the client ended in time, and with code 0.
func (v *visit) worked() bool { return v.ended && v.code == 0 }

// mayBeSlow reports whether a client that did not end in time may just be slow. The parameter
// goodTime is how long the client takes with a good server.
func (v *visit) mayBeSlow(goodTime time.Duration) bool {
	return !v.ended && 2*goodTime > v.took
}

// How long our test server may outlive the client. A server that never reads its input cannot
// notice the client's end, and gets only killedPatience.
const (
	leavePatience  = 3 * time.Second
	killedPatience = 500 * time.Millisecond
)

// read reads the file in which our test server has recorded its sessions. The file does not exist
// if the client has not started the server.
func (v *visit) read(path string) error {
	set, err := results.Read(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, results.ErrEmpty) {
		return nil
	}
	if err != nil {
		return err
	}
	v.messages = set.Messages
	for _, e := range set.Environments {
		own := set.OfRun(e.Run)
		end := ""
		for _, t := range own.Targets {
			end = t.Verdict
		}
		v.sessionEnds = append(v.sessionEnds, end)
		if len(own.Messages) > 0 {
			v.sessions = append(v.sessions, own.Messages)
		}
	}
	v.count()
	return nil
}

// count counts the requests and cancellations that the client sent after the handshake.
func (v *visit) count() {
	for _, m := range v.messages {
		if m.Dir != "request" || m.Method == "" ||
			slices.Contains(mcpstdio.OpeningMethods, m.Method) {
			continue
		}
		if m.Method == "notifications/cancelled" {
			v.cancelled++
		}
		if strings.HasPrefix(m.Method, "notifications/") { // a notification asks for nothing
			continue
		}
		v.asked++
	}
}

// withServer returns the client's command, in which it replaces
//   - an argument "{}" by the words of the server's command,
//   - "{command}", and "{}" inside an argument, by the server's command as a shell line,
//   - "{config}" by the path of a configuration file that it writes to dir.
func withServer(o Options, server []string, dir string) (argv []string, err error) {
	line := proc.ShellLine(server)
	config := "" // the path of the client's configuration
	if o.Config != "" {
		config = filepath.Join(dir, filepath.Base(o.Config))
		if err := writeConfig(o.Template, config, server); err != nil {
			return nil, err
		}
	}
	words := strings.NewReplacer("{}", line, "{command}", line, "{config}", config)
	for _, arg := range o.Command {
		if arg == "{}" {
			argv = append(argv, server...)
			continue
		}
		argv = append(argv, words.Replace(arg))
	}
	return argv, nil
}

// writeConfig writes a client's configuration file, with the server's command in place of "{}" and
// "{command}". In a JSON file, it also replaces "{program}" by the command's first word, and
// "{arguments}" by a list of the other words.
func writeConfig(template []byte, path string, server []string) error {
	line := proc.ShellLine(server)
	replaced := []string{"{}", line, "{command}", line}
	if filepath.Ext(path) == ".json" {
		inside := strings.Trim(inJSON(line), `"`)
		replaced = []string{
			`"{}"`, inJSON(server),
			`"{program}"`, inJSON(server[0]),
			`"{arguments}"`, inJSON(server[1:]),
			"{}", inside, "{command}", inside,
		}
	}
	filled := strings.NewReplacer(replaced...).Replace(string(template))
	return os.WriteFile(path, []byte(filled), 0o600)
}

// inJSON returns a string, or a list of strings, as JSON.
func inJSON(v any) string {
	text, _ := json.Marshal(v) // strings marshal always
	return string(text)
}

// last returns the last line of standard error, or of standard output if standard error is empty.
func (v *visit) last() string { return lastLine(cmp.Or(v.said, v.out)) }

// sideActions says what else a client did when its server failed, such as starting the server
// again.
func (v *visit) sideActions() string {
	text := ""
	if v.cancelled > 0 {
		text = "; it cancelled what it had asked"
	}
	if n := len(v.sessionEnds); n > 1 {
		text += fmt.Sprintf("; it started the server %d times", n)
	}
	return text
}
