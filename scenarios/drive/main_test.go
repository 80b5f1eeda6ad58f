package drive_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/drive"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	mcpstdio "github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// serverJob names, in the environment of a child process, which server the test binary is to be
// instead of testing.
const serverJob = "DRIVE_TEST_SERVER"

func TestMain(m *testing.M) {
	proc.Main()
	if job := os.Getenv(serverJob); job != "" {
		kind, arg, _ := strings.Cut(job, " ")
		if err := servers[kind](arg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	flag.Set("test.parallel", "12") // they mostly wait
	os.Exit(runTests(m))
}

func computeForEver() {
	for turns := 0; turns >= 0; turns++ { // some 100 years
	}
}

// runTests runs all tests, and fails if they leave anything behind together: those that run beside
// each other cannot be told apart in this.
func runTests(m *testing.M) int {
	folder, err := os.MkdirTemp("", "drive-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	all := &allTests{folder: folder}
	leaktest.Check(all)
	code := m.Run()
	for _, f := range all.cleanups {
		f()
	}
	if all.failed {
		return 1
	}
	return code
}

// allTests stands for all tests together.
type allTests struct {
	testing.TB
	folder   string
	cleanups []func()
	failed   bool
}

func (a *allTests) Helper()                  {}
func (a *allTests) Name() string             { return "all tests" }
func (a *allTests) TempDir() string          { return a.folder }
func (a *allTests) Setenv(key, value string) { os.Setenv(key, value) }
func (a *allTests) Cleanup(f func())         { a.cleanups = append(a.cleanups, f) }
func (a *allTests) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	a.failed = true
}

// servers are what a child can be.
var servers = map[string]func(arg string) error{
	"mcp": serveMCP,
	"framed": func(arg string) error {
		framing, err := framers.Parse(arg)
		if err != nil {
			return err
		}
		return serve(mcpstdio.Options{Tools: mcpstdio.Samples(), Stderr: os.Stderr,
			Framing: framing})
	},
	"halves": func(string) error { // answers a line above 2,000 bytes with the first of two chunks
		return each(func(line string) {
			var request struct{ ID json.RawMessage }
			if json.Unmarshal([]byte(line), &request) != nil {
				return
			}
			if len(line) > 2000 {
				fmt.Println("123e4567-e89b-42d3-a456-426614174000:0:2:" + strings.Repeat("x", 500))
				return
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n",
				request.ID)
		})
	},
	// takes the id 0 for no id
	"notzero": func(arg string) error {
		framing, err := framers.Parse(arg)
		if err != nil {
			return err
		}
		in := framing.NewReader(os.Stdin)
		out := framing.NewWriter(os.Stdout)
		for {
			msg, err := in.ReadMessage()
			if err != nil {
				return nil
			}
			if id := string(jsonrpc.Scan(msg).ID); id == "" || id == "0" {
				continue
			}
			if err := out.WriteMessage([]byte(refusal(string(msg)))); err != nil {
				return err
			}
		}
	},
	// logs lines above 8,000 bytes to standard output, and ends over those above 40,000
	"logs": func(string) error {
		return each(func(line string) {
			if len(line) > 40_000 {
				os.Exit(1)
			}
			if len(line) > 8000 {
				fmt.Println("large request")
			}
			fmt.Println(refusal(line))
		})
	},
	// answers a line above 2,000 bytes in two lines, as notifications or as they are cut
	"pieces": func(arg string) error {
		return each(func(line string) {
			answer := refusal(line)
			if len(line) <= 2000 {
				fmt.Println(answer)
				return
			}
			for _, piece := range []string{answer[:20], answer[20:]} {
				if arg == "notified" {
					piece = fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/chunk","params":[%q]}`, piece)
				}
				fmt.Println(piece)
			}
		})
	},
	// answers two lines above 2,000 bytes together, of each answer a piece in turn
	"mixes": func(string) error {
		return inPairs(func(first, second string) {
			fmt.Println(first[:20] + second[:20] + first[20:])
			fmt.Println(second[20:])
		})
	},
	// answers two lines above 2,000 bytes as one, or puts a notification in front of each answer
	"glues": func(notes string) error {
		if notes != "" {
			return each(func(line string) {
				note := ""
				if len(line) > 2000 {
					note = `{"jsonrpc":"2.0","method":"note"}`
				}
				fmt.Println(note + refusal(line))
			})
		}
		return inPairs(func(first, second string) {
			fmt.Println(first + second)
			fmt.Println()
		})
	},
	"tires": func(arg string) error { // ends after so many lines
		most, _ := strconv.Atoi(arg)
		return each(func(line string) {
			most--
			if most < 0 {
				os.Exit(3)
			}
			answer := selectively(line)
			if answer == "" && strings.Contains(line, `"id":`) {
				answer = refusal(line) + "\n"
			}
			fmt.Print(answer)
		})
	},
	"choke": func(string) error { // hangs at a line above 5,000 bytes, and ends at the next line
		hangs := false
		return each(func(line string) {
			switch {
			case hangs:
				os.Exit(2)
			case len(line) > 5000:
				hangs = true
			default:
				fmt.Println(refusal(line))
			}
		})
	},
	"obliging": func(string) error { // answers every method
		return each(func(line string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", jsonrpc.Scan([]byte(line)).ID)
		})
	},
	"ping": func(string) error { // has a tool without arguments
		tool := mcpstdio.NewTool("ping", "answers", json.RawMessage(`{"type":"object"}`),
			func(context.Context, struct{}) (string, error) { return "pong", nil })
		return serve(mcpstdio.Options{Tools: []mcpstdio.Tool{tool}, Stderr: os.Stderr})
	},
	// ends at the call of this number, or refuses from there on, or refuses each call whose number
	// is a multiple of it; answers other calls with a text of its own, if there is one
	"calls": func(arg string) error {
		n := 0
		most, refuses, answers := 0, "", ""
		fmt.Sscan(arg, &most, &refuses, &answers)
		return each(func(line string) {
			e := jsonrpc.Scan([]byte(line))
			answer := selectively(line)
			switch string(e.Method) {
			case "tools/list":
				answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo",`+
					`"inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}}`+
					"\n", e.ID)
			case "tools/call":
				n++
				if n == most && refuses == "" {
					os.Exit(1)
				}
				var call struct {
					Params struct{ Arguments struct{ Text string } }
				}
				if err := json.Unmarshal([]byte(line), &call); err != nil {
					panic(err)
				}
				result := fmt.Sprintf(`"result":{"content":[{"type":"text","text":%q}]}`,
					cmp.Or(answers, call.Params.Arguments.Text))
				if refuses == "each" && n%most == 0 || refuses != "each" && n >= most {
					result = `"error":{"code":-32000,"message":"enough"}`
				}
				answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", e.ID, result)
			}
			if answer == "" && e.Kind() == jsonrpc.Request {
				answer = refusal(line) + "\n"
			}
			fmt.Print(answer)
		})
	},
	"rows":  rows,
	"shout": shout,
	"misnumber": func(which string) error { // answers a line above 2,000 bytes under another id
		return each(func(line string) {
			if len(line) > 2000 || which == "all" {
				line = `{"id":7}`
			}
			fmt.Println(refusal(line))
		})
	},
	"mumble": func(arg string) error { // many words, and the last
		fmt.Fprint(os.Stderr, strings.Repeat(strings.Repeat("-", 79)+"\n", 600), arg)
		os.Exit(4)
		return nil
	},
	"babble": func(arg string) error { // writes much, and ends as if all were well
		out := os.Stdout
		if arg == "errors" {
			out = os.Stderr
		}
		for range 5000 {
			fmt.Fprintln(out, "at line 1: not found") // as a stack trace
		}
		return nil
	},
	"exit":   func(arg string) error { os.Exit(len(arg)); return nil },
	"silent": func(string) error { _, err := io.Copy(io.Discard, os.Stdin); return err },
	"banner": func(string) error {
		for i := range 100 {
			fmt.Println("line", i, "of what nobody asked for")
		}
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
	"hello": func(arg string) error { // greets, and is slow to start: before that, or after
		if arg == "late" {
			time.Sleep(2 * time.Second)
		}
		fmt.Println("Server running")
		if arg == "early" {
			time.Sleep(2 * time.Second)
		}
		return each(func(line string) { fmt.Println(refusal(line)) })
	},
	"cat":    func(string) error { _, err := io.Copy(os.Stdout, os.Stdin); return err },
	"upper":  upper,
	"fitful": fitful,
	"lsp":    serveLSP,
	// announces some bytes more than its answer to "hover" has; may read no large message, or
	// announce as many more for its answer to "initialize"
	"mislength": func(arg string) error {
		const ask = `{"jsonrpc":"2.0","id":"c","method":"workspace/configuration"}`
		more, deaf := 0, ""
		fmt.Sscan(arg, &more, &deaf)
		in := bufio.NewReader(os.Stdin)
		for {
			var size int
			if _, err := fmt.Fscanf(in, "Content-Length: %d\r\n\r\n", &size); err != nil {
				return nil
			}
			if deaf == "deaf" && size > 100_000 {
				<-make(chan int)
			}
			msg := make([]byte, size)
			if _, err := io.ReadFull(in, msg); err != nil {
				return nil
			}
			e := jsonrpc.Scan(msg)
			answer := refusal(string(msg))
			length := len(answer)
			switch string(e.Method) {
			case "initialize":
				answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}}`, e.ID)
				length = len(answer)
				if deaf == "always" {
					length += more
				}
			case "open":
				if deaf == "awaits" { // and reads without taking the answer
					fmt.Printf("Content-Length: %d\r\n\r\n%s", len(ask), ask)
					_, err := io.Copy(io.Discard, in)
					return err
				}
			case "hover":
				length += more
				if deaf == "asks" { // and waits for the answer without reading
					fmt.Printf("Content-Length: %d\r\n\r\n%s", len(ask), ask)
					<-make(chan int)
				}
				const note = `{"jsonrpc":"2.0","method":"note"}`
				if deaf == "mixes" { // as two threads do
					fmt.Printf("Content-Length: %d\r\n\r\n", len(note))
					answer += note
				}
				if deaf == "prompts" || deaf == "logs" { // on the wrong stream, and waits
					fmt.Print("Allow download? (y)" + map[string]string{"logs": "\n"}[deaf])
					<-make(chan int)
				}
				if deaf == "follows" {
					other := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(note), note)
					answer += other + other
				}
				if deaf == "tells" {
					fmt.Printf("Content-Length: %d\r\n\r\n%s", len(note), note)
				}
			}
			isBare := deaf == "LF" || deaf == "oneLF" && string(e.Method) == "hover"
			if len(e.ID) > 0 && isBare {
				fmt.Printf("Content-Length: %d\n\n%s", length, answer)
			} else if len(e.ID) > 0 {
				fmt.Printf("Content-Length: %d\r\n\r\n%s", length, answer)
			}
		}
	},
	"twice": twice,
	"parting": func(string) error { // writes a line when its input has ended
		err := each(func(line string) { fmt.Println(refusal(line)) })
		fmt.Println("parsed")
		return err
	},
	"buffered": func(string) error { // as what is written by way of stdio is
		out := bufio.NewWriterSize(os.Stdout, 1<<20)
		defer out.Flush()
		return each(func(line string) { fmt.Fprintln(out, line) })
	},
	"endless": func(arg string) error { // answers lines up to a length, and ends no longer one
		return each(func(line string) {
			if most, _ := strconv.Atoi(arg); len(line) <= most {
				fmt.Println(line)
				return
			}
			for block := strings.Repeat("x", 1<<10); ; {
				if _, err := os.Stdout.WriteString(block); err != nil {
					return
				}
			}
		})
	},
	"json": func(arg string) error { // as jq -c does, which needs --unbuffered
		var held strings.Builder
		err := each(func(line string) {
			if !json.Valid([]byte(line)) {
				os.Exit(5)
			}
			fmt.Fprintln(&held, line)
			if arg == "" {
				fmt.Print(held.String())
				held.Reset()
			}
		})
		fmt.Print(held.String())
		return err
	},
	// computes before it serves, as one that loads its modules does
	"loads": func(arg string) error {
		d, err := time.ParseDuration(arg)
		for began := time.Now(); err == nil && time.Since(began) < d; {
		}
		return errors.Join(err, serveMCP(""))
	},
	"tired": func(arg string) error { // ends after so many lines
		left, err := strconv.Atoi(arg)
		return errors.Join(err, each(func(line string) {
			if left--; left < 0 {
				os.Exit(1)
			}
			fmt.Println(line)
		}))
	},
	// ends once its lines sum to more bytes, or answers no more
	"sums": func(arg string) error {
		left, silent := 0, ""
		fmt.Sscan(arg, &left, &silent)
		return each(func(line string) {
			left -= len(line)
			switch {
			case left >= 0:
				fmt.Println(line)
			case silent == "":
				os.Exit(1)
			}
		})
	},
	"rests": func(arg string) error { // reads no more after so many lines
		left, err := strconv.Atoi(arg)
		return errors.Join(err, each(func(line string) {
			fmt.Println(line)
			if left--; left == 0 {
				<-make(chan int)
			}
		}))
	},
	"trace": func(string) error { // as node ends at an error that nobody catches
		return each(func(line string) {
			if len(line) > 5000 {
				fmt.Fprintln(os.Stderr, "RangeError: the buffer exceeds 5000 bytes\n"+
					strings.Repeat("    at ReadBuffer.append (file:///x/stdio.js:23:15)\n",
						12)+"what: is said behind it\n1\n2\n3\n4\nNode.js v24.0.0")
				os.Exit(1)
			}
			fmt.Println(line)
		})
	},
	"properties": func(string) error { // as node prints an error that has some
		return each(func(line string) {
			if len(line) > 5000 {
				fmt.Fprintln(os.Stderr, "Error [ERR_X]: no such buffer\n    at f (x.js:1:1)\n"+
					"Emitted 'error' event on Socket instance at:\n    at g (x.js:2:1) {\n"+
					"  code: 'ERR_X',\n  cause: {}\n}\n\nNode.js v24.0.0")
				os.Exit(1)
			}
			fmt.Println(line)
		})
	},
	"panics": func(string) error {
		return each(func(line string) {
			if len(line) > 5000 {
				fmt.Fprintln(os.Stderr, "reads a long line")
				panic("the line is too long")
			}
			fmt.Println(line)
		})
	},
	// takes the longer for a line the longer it is, and sleeps meanwhile
	"sleepy": func(string) error {
		return each(func(line string) {
			units := time.Duration(len(line)>>16) * time.Duration(len(line)>>16)
			time.Sleep(units * 5 * time.Millisecond)
			fmt.Println(line)
		})
	},
	"sated": sated,
	"selective": func(string) error {
		return each(func(line string) { fmt.Print(selectively(line)) })
	},
	"hesitant": hesitant,
	"tardy":    tardy,
	"nag": func(string) error { // is upset by what is no message, and answers with none
		return each(func(line string) {
			if e := jsonrpc.Scan([]byte(line)); e.Kind() != jsonrpc.Request {
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}`)
				<-make(chan int)
			}
			fmt.Println(refusal(line))
		})
	},
	// takes what follows initialize for one message, and answers nothing any more
	"muddled": func(string) error {
		return each(func(line string) {
			switch {
			case strings.Contains(line, `"method":"initialize"`):
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25",`+
					`"capabilities":{"tools":{}},"serverInfo":{"name":"m","version":"1"}}}`+"\n",
					jsonrpc.Scan([]byte(line)).ID)
			case strings.Contains(line, "server/discover"):
				fmt.Println(refusal(line))
			default:
				fmt.Fprintln(os.Stderr, "bad json: two messages")
			}
		})
	},
	"joins": serveJoined,
	"listless": func(string) error { // refuses to list its tools
		return each(func(line string) {
			switch e := jsonrpc.Scan([]byte(line)); {
			case string(e.Method) == "initialize":
				fmt.Print(selectively(line))
			case len(e.ID) > 0:
				fmt.Println(refusal(line))
			}
		})
	},
	// refuses every request, and flushes no more from the first that has the text on
	"unflushed": func(text string) error {
		out := bufio.NewWriter(os.Stdout)
		defer out.Flush()
		held := false
		return each(func(line string) {
			fmt.Fprintln(out, refusal(line))
			held = held || strings.Contains(line, text)
			if !held {
				out.Flush()
			}
		})
	},
	// refuses every request; before it refuses one that has the text, it reads what a child writes
	// that has its standard input
	"captures": func(text string) error {
		return each(func(line string) {
			if strings.Contains(line, text) {
				cmd := exec.Command(self())
				cmd.Env = append(os.Environ(), serverJob+"=silent")
				cmd.Stdin = os.Stdin
				_, _ = cmd.Output()
			}
			fmt.Println(refusal(line))
		})
	},
	"reserve": reserve,
	"late":    late,
	// waits at lines of one length, and no more once there is a file of the second name. A round
	// trip of such a line takes more than forty times as long as the mean of lines of half the
	// length, however busy the machine is, so more than twenty times their median.
	"stall": func(arg string) error {
		slow, over := 0, ""
		fmt.Sscan(arg, &slow, &over)
		var halves, all time.Duration // how many lines of half the length, and their time
		came := time.Now()
		return each(func(line string) {
			if len(line) == slow/2 {
				halves++
				all += time.Since(came)
			}
			came = time.Now()
			if _, err := os.Stat(over); len(line) == slow && err != nil {
				time.Sleep(min(max(300*time.Millisecond, 45*all/max(halves, 1)), 5*time.Second))
			}
			fmt.Println(line)
		})
	},
	// pauses before each answer; a second pause is that of all starts after the first, which makes
	// a folder of the name behind it
	"slow": func(arg string) error {
		first, rest, later := strings.Cut(arg, " ")
		if usual, folder, _ := strings.Cut(rest, " "); later && os.Mkdir(folder, 0o700) != nil {
			first = usual
		}
		pause, err := time.ParseDuration(first)
		if err != nil {
			return err
		}
		return each(func(line string) {
			<-time.After(pause)
			fmt.Println(line)
		})
	},
	"ponder": func(arg string) error { // takes its time over requests of one method
		pause, err := time.ParseDuration(arg)
		return errors.Join(err, each(func(line string) {
			if strings.Contains(line, `"method":"ponder"`) {
				<-time.After(pause)
			}
			fmt.Println(refusal(line))
		}))
	},
	"characters": func(string) error { // takes Content-Length for a count of characters
		in := bufio.NewReader(os.Stdin)
		for {
			var size int
			if _, err := fmt.Fscanf(in, "Content-Length: %d\r\n\r\n", &size); err != nil {
				return err
			}
			var msg []rune
			for range size {
				r, _, err := in.ReadRune()
				if err != nil {
					return err
				}
				msg = append(msg, r)
			}
			if e := jsonrpc.Scan([]byte(string(msg))); len(e.ID) > 0 {
				const form = `{"jsonrpc":"2.0","id":%s,"result":{"capabilities":{}}}`
				answer := fmt.Sprintf(form, e.ID)
				fmt.Printf("Content-Length: %d\r\n\r\n%s", len(answer), answer)
			}
		}
	},
	"drop": func(string) error { // loses what it reads with more than 3,000 bytes
		buf := make([]byte, 1<<20)
		for {
			n, err := os.Stdin.Read(buf)
			if err != nil {
				return nil
			}
			if n > 3000 {
				continue
			}
			for line := range strings.Lines(string(buf[:n])) {
				fmt.Println(refusal(line))
			}
		}
	},
	"swallow": func(arg string) error {
		return each(func(line string) {
			if most, _ := strconv.Atoi(arg); len(line) <= most {
				fmt.Println(line)
			}
		})
	},
	"lapse": lapse,
	"counts": func(most string) error { // answers nothing after so many lines
		n := 0
		return each(func(line string) {
			n++
			if last, _ := strconv.Atoi(most); n <= last {
				fmt.Println(refusal(line))
			}
		})
	},
	"hangs": func(text string) error { // answers nothing from the first line that has the text on
		hangs := false
		return each(func(line string) {
			hangs = hangs || strings.Contains(line, text)
			if !hangs {
				fmt.Println(refusal(line))
			}
		})
	},
	// computes from the first line that has "compute" in it: in the loop that reads, which may send
	// a notification first, or beside it
	"computes": func(where string) error {
		return each(func(line string) {
			if !strings.Contains(line, "compute") {
				fmt.Println(refusal(line))
				return
			}
			if where == "noted" {
				fmt.Println(`{"jsonrpc":"2.0","method":"diagnostics"}`)
			}
			if where == "beside" {
				go computeForEver()
			} else {
				computeForEver()
			}
		})
	},
	// swallows requests "hover", counted over all its starts: a letter h in fate, which is followed
	// by a folder to count in
	"fate": func(arg string) error {
		fate, folder, _ := strings.Cut(arg, " ")
		return each(func(line string) {
			if strings.Contains(line, `"hover"`) {
				n := 0
				for os.Mkdir(filepath.Join(folder, strconv.Itoa(n)), 0o700) != nil {
					n++
				}
				if n < len(fate) && fate[n] == 'h' {
					return
				}
			}
			if strings.Contains(line, `"id":`) {
				fmt.Println(refusal(line))
			}
		})
	},
	"hold": func(string) error { // keeps the answer to a long line until another line comes
		held := ""
		return each(func(line string) {
			fmt.Print(held)
			held = refusal(line) + "\n"
			if len(line) <= 3000 {
				fmt.Print(held)
				held = ""
			}
		})
	},
	// ends at a line of more than 3,000 bytes, and swallows the second of just so many
	"limps": func(arg string) error {
		return each(func(line string) {
			switch before, _ := os.ReadFile(arg); {
			case len(line) > 3000:
				os.Exit(1)
			case len(line) == 3000:
				os.WriteFile(arg, append(before, '.'), 0o600)
				if len(before) == 1 {
					return
				}
			}
			fmt.Println(line)
		})
	},
	// ends at a line of more than 5,000 bytes, and at the first of 4,200 to 5,000
	"stumbles": func(arg string) error {
		return each(func(line string) {
			if len(line) > 5000 || len(line) >= 4200 && os.Mkdir(arg, 0o700) == nil {
				os.Exit(1)
			}
			fmt.Println(line)
		})
	},
	"die": func(arg string) error {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return each(func(line string) {
			if most, _ := strconv.Atoi(arg); len(line) > most {
				self.Kill()
			}
			fmt.Println(line)
		})
	},
}

// serveMCP is the project's own server, with a fault if arg names one.
func serveMCP(arg string) error {
	o := mcpstdio.Options{Tools: mcpstdio.Samples(), Stderr: os.Stderr}
	if arg != "" {
		var err error
		if o.Fault, err = mcpstdio.ParseFault(arg); err != nil {
			return err
		}
	}
	return serve(o)
}

// serveJoined takes what one read returns for one message: it refuses a line that comes with the
// end of the handshake, and a line of more than 64 KiB as two. If later is set, the first process,
// which makes that folder, gets the end of the handshake alone.
func serveJoined(later string) error {
	lines, in := io.Pipe()
	s, err := mcpstdio.Start(context.Background(), lines, os.Stdout,
		mcpstdio.Options{Tools: mcpstdio.Samples(), Stderr: os.Stderr})
	if err != nil {
		return err
	}
	joins := later == "" || os.Mkdir(later, 0o700) != nil
	const refused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`
	held := ""
	err = each(func(line string) {
		switch {
		case held != "":
			fmt.Println(refused)
			fmt.Fprintln(in, held) // so that our server knows that the handshake is over
			held = ""
		case joins && strings.Contains(line, "notifications/initialized"):
			held = line
		case len(line) > 64<<10:
			fmt.Println(refused + "\n" + refused)
		case strings.Contains(line, "server/discover"):
			fmt.Println(refusal(line))
		default:
			fmt.Fprintln(in, line)
		}
	})
	in.Close()
	return errors.Join(err, s.Wait())
}

func serve(o mcpstdio.Options) error {
	s, err := mcpstdio.Start(context.Background(), os.Stdin, os.Stdout, o)
	if err != nil {
		return err
	}
	return s.Wait()
}

// lapse swallows a line of more than 3,000 bytes, once in the life of the file path. From then on
// such a line is answered, or ends the server if "exit" stands before the path.
func lapse(arg string) error {
	path, ends := strings.CutPrefix(arg, "exit ")
	return each(func(line string) {
		if len(line) > 3000 {
			if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600); err == nil {
				f.Close()
				return
			}
			if ends {
				os.Exit(1)
			}
		}
		fmt.Println(line)
	})
}

// upper answers each line with another.
func upper(string) error {
	return each(func(line string) { fmt.Println(strings.ToUpper(line)) })
}

// selectively answers a line as an MCP server does that ignores all methods it does not know.
func selectively(line string) string {
	result := ""
	e := jsonrpc.Scan([]byte(line))
	switch string(e.Method) {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"x","version":"1"}}`
	case "tools/list":
		result = `{"tools":[]}`
	default:
		return ""
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", e.ID, result)
}

// hesitant answers the first line only when the second has come, as one does that begins late.
func hesitant(kind string) error {
	held := ""
	lines := 0
	return each(func(line string) {
		answer := line + "\n"
		switch kind {
		case "upper":
			answer = strings.ToUpper(answer)
		case "mcp":
			answer = selectively(line)
			e := jsonrpc.Scan([]byte(line))
			if answer == "" && e.Kind() == jsonrpc.Request {
				answer = refusal(line) + "\n"
			}
		}
		lines++
		if lines == 1 {
			held = answer
			return
		}
		fmt.Print(held + answer)
		held = ""
	})
}

// tardy is an MCP server that refuses server/discover only after initialize, before it lists its
// tool.
func tardy(string) error {
	late := ""
	return each(func(line string) {
		result := ""
		e := jsonrpc.Scan([]byte(line))
		switch string(e.Method) {
		case "server/discover":
			late = refusal(line) + "\n"
			return
		case "tools/list":
			fmt.Print(late)
			result = `{"tools":[{"name":"echo","inputSchema":{"type":"object",` +
				`"properties":{"text":{"type":"string"}}}}]}`
		case "tools/call":
			var call struct {
				Params struct{ Arguments struct{ Text string } }
			}
			if json.Unmarshal([]byte(line), &call) != nil {
				return
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`,
				call.Params.Arguments.Text)
		default:
			answer := selectively(line)
			if answer == "" && e.Kind() == jsonrpc.Request {
				answer = refusal(line) + "\n"
			}
			fmt.Print(answer)
			return
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", e.ID, result)
	})
}

// rows is an MCP server with a tool that makes 99 bytes a row, and no more rows than the number
// most, if there is one. If most is "refused", it refuses more than 500 rows in words; if it is
// "split", two characters of more than 500 rows are U+FFFD; if it is "none", it refuses all.
// Answers above 60,000 bytes are cut.
func rows(most string) error {
	return each(func(line string) {
		e := jsonrpc.Scan([]byte(line))
		answer := selectively(line)
		switch string(e.Method) {
		case "tools/list":
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"report",`+
				`"inputSchema":{"type":"object","properties":{"rows":{"type":"integer"}}}},`+
				`{"name":"echo_note","inputSchema":{"type":"object","properties":{"note":`+
				`{"type":"string"}}}}]}}`, e.ID)
		case "tools/call":
			var call struct {
				Params struct{ Arguments struct{ Rows int } }
			}
			if json.Unmarshal([]byte(line), &call) != nil {
				return
			}
			n := call.Params.Arguments.Rows
			if limit, err := strconv.Atoi(most); err == nil {
				n = min(n, limit)
			}
			text := strings.Repeat("x", 99*n)
			if most == "split" && n > 500 {
				text = "\uFFFD\uFFFD" + text
			}
			answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text",`+
				`"text":%q}]}}`, e.ID, text)
			if most == "refused" && n > 500 || most == "none" {
				answer = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`+
					`{"type":"text","text":"500 rows at most"}],"isError":true}}`, e.ID)
			}
		}
		if answer == "" && e.Kind() == jsonrpc.Request {
			answer = refusal(line)
		}
		if answer != "" {
			fmt.Println(strings.TrimSpace(answer[:min(len(answer), 60_000)]))
		}
	})
}

// shout serves a tool that answers in capitals, and ends at a text of more than most bytes, or
// refuses it if "refuses" stands behind the number. With -2, it refuses every second call, and with
// "short" behind the number, texts of less than so many bytes.
func shout(most string) error {
	most, refusesShort := strings.CutSuffix(most, " short")
	most, refuses := strings.CutSuffix(most, " refuses")
	limit, err := strconv.Atoi(most)
	if err != nil {
		return err
	}
	const schema = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	type args struct{ Text string }
	var calls atomic.Int64
	tool := mcpstdio.NewTool("shout", "answers in capitals", json.RawMessage(schema),
		func(_ context.Context, in args) (string, error) {
			switch {
			case refusesShort && len(in.Text) < limit:
				return "", fmt.Errorf("%d bytes at least", limit)
			case len(in.Text) <= limit || refusesShort:
			case limit < 0 && calls.Add(1)%int64(-limit) > 0:
			case limit < 0:
				return "", errors.New("away")
			case refuses:
				return "", fmt.Errorf("%d bytes at most", limit)
			default:
				os.Exit(1)
			}
			return strings.ToUpper(in.Text), nil
		})
	return serve(mcpstdio.Options{Tools: []mcpstdio.Tool{tool}, Stderr: os.Stderr})
}

// sated answers lines of up to 5,000 bytes. Where a longer one begins, it makes a file of the name
// arg and reads no more.
func sated(arg string) error {
	in := bufio.NewReaderSize(os.Stdin, 5001)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = os.WriteFile(arg, nil, 0o600)
			for err == nil {
				time.Sleep(time.Hour)
			}
		}
		if err != nil {
			return err
		}
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
}

// reserve refuses every request in the framing of language servers, and makes room for all that is
// announced.
func reserve(string) error {
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
		answer := refusal(string(msg))
		fmt.Printf("Content-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

// refusal answers a JSON-RPC request that nobody knows.
func refusal(line string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`,
		jsonrpc.Scan([]byte(line)).ID)
}

// twice refuses every request, and says so two times.
func twice(string) error {
	return each(func(line string) { fmt.Println(refusal(line) + "\n" + refusal(line)) })
}

// late refuses every request, and takes its time over the first of a load while it goes on with the
// others.
func late(arg string) error {
	pause, err := time.ParseDuration(arg)
	if err != nil {
		return err
	}
	return each(func(line string) {
		if !strings.Contains(line, `"id":1000000000,`) {
			fmt.Println(refusal(line))
			return
		}
		time.AfterFunc(pause, func() { fmt.Println(refusal(line)) })
	})
}

// each calls f with every line that comes.
func each(f func(line string)) error {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 2<<20)
	for lines.Scan() {
		f(lines.Text())
	}
	return lines.Err()
}

// inPairs refuses every line that comes, and calls f with each two answers to lines above 2,000
// bytes.
func inPairs(f func(first, second string)) error {
	held := ""
	return each(func(line string) {
		answer := refusal(line)
		switch {
		case len(line) <= 2000:
			fmt.Println(answer)
		case held == "":
			held = answer
		default:
			f(held, answer)
			held = ""
		}
	})
}

// server are options that start one of the servers. What comes is waited for on any machine: a test
// of what does not has a patience of its own.
func server(job string) drive.Options {
	return drive.Options{
		Command: []string{self()},
		// a process that the race detector watches would sleep for a second before it ends
		Env: append(os.Environ(), "GORACE=atexit_sleep_ms=0", serverJob+"="+job),
		Run: "test", Budget: 10 * time.Millisecond, Patience: 20 * time.Second,
	}
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// open starts a server; the test ends it, and fails if anything of it is left.
func open(t *testing.T, o drive.Options) *drive.Driver {
	t.Helper()
	leakCheck(t)
	return begin(t, o)
}

// begin starts a server in a test that runs beside others.
func begin(t *testing.T, o drive.Options) *drive.Driver {
	t.Helper()
	d, err := drive.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// leakCheck fails the test if it leaves anything behind.
func leakCheck(t *testing.T) {
	t.Helper()
	leaktest.Check(t)
}

func discard(results.Line) error { return nil }

// keepIn returns a sink that keeps what it is given in a set.
func keepIn(set *results.Set) drive.Sink {
	return func(l results.Line) error {
		set.Add(l)
		return nil
	}
}

// findPython asks python3 where it really is: what is called so may be a script that looks for it,
// which takes twenty times as long as its start.
var findPython = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(path)), err
})

// python is the command of a script, started without looking for what only its user installed,
// which takes half of its time.
func python(t *testing.T, script string, args ...string) []string {
	t.Helper()
	path, err := findPython()
	if err != nil {
		t.Skip("python3 is not installed")
	}
	return append([]string{path, "-I", "-S", "-c", script}, args...)
}

// failures are the sizes of a sweep that were not served.
func failures(s *drive.Sweep) []results.Target {
	var failed []results.Target
	for _, t := range s.Targets {
		if !t.Served() {
			failed = append(failed, t)
		}
	}
	return failed
}

// A limit is what the record of one says.
type limit struct {
	side       string
	bytes      int // 0 where none was found
	payload    int
	above      target.Verdict
	searchedTo int
	flaky      bool
	uneven     []int
}

func limitOf(t results.Target) limit {
	l := limit{side: t.Evidence.Limit.Side, uneven: t.Evidence.Limit.Uneven,
		flaky: strings.Contains(strings.Join(t.Warnings, " "), "broke elsewhere or not at all")}
	if t.SearchedTo != nil {
		l.searchedTo = int(*t.SearchedTo)
		return l
	}
	l.bytes, l.above, l.payload = int(*cmp.Or(t.RequestLimit, t.ReplyLimit)),
		target.Verdict(t.Verdict), t.Evidence.Size.PayloadBytes
	return l
}
