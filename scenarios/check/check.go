// Package check judges how a program, a server or a client of others behaves at its pipes.
//
//	err := check.Program(ctx, check.Options{Run: run, Command: []string{"grep", "-r", "main"}},
//		func(l results.Line) error { return w.Write(l) })
//
// Each situation of the catalogue ([catalogue.For]) is tried on a start of its own, several
// at once, and becomes one [results.Finding]: "ok", "fails", "slow", or "cannot-tell" with why. A
// right program is never to be called wrong: what does not show it beyond doubt is "cannot-tell".
//
// What is checked has a session of its own, so that it cannot touch the user's terminal, and a
// deadline. When a situation is over nothing of it is left: its process group is killed, and on
// Linux whatever else inherited the mark of the situation in its environment.
//
// [Program], [Server] and [Client] may be called concurrently; each calls its sink from one
// goroutine.
package check

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// Options say what is checked, and how.
type Options struct {
	Run     string   // that the records belong to
	Command []string // what is checked; of a client, "{}" in it stands for the command of a server
	Env     []string // of what is checked; nil is ours
	Only    []string // names of situations; empty is all
	Stdin   []byte   // what a filter reads; nil is nothing

	Deterministic bool // two runs of a program have to write the same
	// the exit status of a program when its output is a file; nil is any
	ExpectExit *int
	Timeout    time.Duration // of one start; 0 is 5 s
	Framing    string        // in which a server is spoken to, a framers spec; "" finds out
	Config     string        // the name of a file, a template of a client's configuration
	Template   []byte        // what that file holds
	Expect     string        // what a client has to say when its server is good
	// starts our server, which a client is given; nil is this program's serve
	Serve []string

	// Of a server, how many are compared, and how long it has at least; 0 is what drive has. It may
	// take start until it has answered the handshake, and for each answer of a session; 0 is
	// leastStart.
	starts, requests int
	patience, start  time.Duration

	runtime string // what the command runs on, "" if that is not known

	// is told of each situation that begins, from any goroutine; may be nil
	Observe func(name string)
}

// usualTime is how long one start of a program or a client may take where nothing else is said.
const usualTime = 5 * time.Second

// A Sink takes the records as they come.
type Sink func(results.Line) error

// A situation does one thing to what is checked, and records in the finding what came of it. The
// verdict is ok unless it says otherwise; an error makes it "cannot-tell".
type situation func(ctx context.Context, f *finding) error

// alone are the situations beside which nothing else runs: they measure times.
var alone = []string{"block-buffer", "many-starts"}

// A finding is the record of a situation while it is made.
type finding struct {
	results.Finding // its Class is what a runtime has advice of its own for
	name            string
	evidence        any    // a struct; nil for none
	mark            string // in the environment of all that the situation starts
	o               Options
}

// judge sets the verdict and what was found. The worst that a situation finds counts, and of
// several alike the first.
func (f *finding) judge(verdict results.Verdict, format string, args ...any) {
	if f.Found == "" || rank(verdict) > rank(f.Verdict) {
		f.Verdict, f.Found = verdict, fmt.Sprintf(format, args...)
	}
}

// rank orders verdicts: the higher, the worse.
func rank(v results.Verdict) int {
	switch v {
	case results.CannotTell:
		return 1
	case results.Slow:
		return 2
	case results.Fails:
		return 3
	}
	return 0
}

func (f *finding) ok(format string, args ...any)    { f.judge(results.OK, format, args...) }
func (f *finding) fails(format string, args ...any) { f.judge(results.Fails, format, args...) }
func (f *finding) slow(format string, args ...any)  { f.judge(results.Slow, format, args...) }
func (f *finding) cannotTell(format string, args ...any) {
	f.judge(results.CannotTell, format, args...)
}

// clear takes back what was judged so far.
func (f *finding) clear() { f.Verdict, f.Found, f.Class = results.OK, "", "" }

// command readies a start of argv: in a session of its own, without our terminal, under the mark.
func (f *finding) command(argv []string) *proc.Process {
	p := proc.Command(argv[0], argv[1:]...)
	p.Cmd.Env = f.o.Env
	p.Cmd.Env = append(p.Cmd.Environ(), f.mark)
	p.Attached = proc.TellsOfOthers // what it leaves is looked at, and ended by its mark
	p.Session = true
	return p
}

// parallel is how many situations are tried at once: they mostly wait.
const parallel = 4

// try tries the situations of a side, several at once, and keeps a record of each in the order of
// the catalogue. What tries has no entry for is left out.
func (o Options) try(
	ctx context.Context,
	side catalogue.Side,
	tries map[string]situation,
	sink Sink,
) error {
	o.runtime = runtimeOf(o.Command)
	chosen := stat.Filter(catalogue.For(side), func(m catalogue.Situation) bool {
		_, ok := tries[m.Name]
		return ok && (len(o.Only) == 0 || slices.Contains(o.Only, m.Name))
	})
	ctx, cancel := context.WithCancel(ctx)
	made := stat.Map(
		chosen,
		func(catalogue.Situation) chan finding { return make(chan finding, 1) },
	)
	var all sync.WaitGroup
	defer func() { // whatever began comes to its end
		cancel()
		all.Wait()
	}()
	all.Go(func() {
		var together errgroup.Group
		together.SetLimit(parallel)
		for _, last := range []bool{false, true} {
			for i, m := range chosen {
				if slices.Contains(alone, m.Name) == last {
					together.Go(func() error {
						made[i] <- o.one(ctx, side, m, tries[m.Name])
						return nil
					})
				}
			}
			_ = together.Wait() // there are no errors
			together.SetLimit(1)
		}
	})
	for _, c := range made {
		f := <-c
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := sink(f.Finding); err != nil {
			return err
		}
	}
	return nil
}

// one tries one situation, and ends what it leaves.
func (o Options) one(
	ctx context.Context,
	side catalogue.Side,
	m catalogue.Situation,
	s situation,
) finding {
	if o.Observe != nil && ctx.Err() == nil {
		o.Observe(m.Name)
	}
	f := finding{name: m.Name, o: o, mark: newMark()}
	f.Kind, f.Run = results.KindFinding, o.Run
	f.ID = results.AreaCheck + "/" + string(side) + "/" + m.Name
	f.Title, f.About, f.Verdict = m.Title, o.Command, results.OK
	err := ctx.Err()
	if err == nil {
		err = s(ctx, &f)
	}
	proc.EndMarked(f.mark, 0)
	if err == nil && f.evidence != nil {
		f.Evidence, err = results.NewEvidence(f.evidence)
	}
	if err != nil {
		f.judge(results.CannotTell, "%s", strings.TrimSpace(err.Error()))
	}
	if f.Verdict == results.Fails || f.Verdict == results.Slow {
		f.Advice = cmp.Or(f.Advice, advice()[f.Class+" "+o.runtime], m.Advice)
	} else {
		f.Advice, f.Reproduce = "", ""
	}
	f.Time = time.Now().UTC()
	return f
}

// markName is the variable in the environment of all that a situation starts, by which it is found
// again though it left its group.
const markName = "PIPEBENCH_CHECK"

// newMark returns the variable of one situation. Two of them differ in digits alone, so that what a
// program prints of its environment differs no more than by a number.
func newMark() string { return fmt.Sprintf("%s=%016d", markName, rand.Int64N(1e16)) }

// Validate reports what cannot be checked.
func (o Options) Validate(side catalogue.Side) error {
	if len(o.Command) == 0 {
		return errors.New("no command to check")
	}
	if side == catalogue.Client {
		text := strings.Join(o.Command, " ")
		switch {
		case o.Config != "" && !strings.Contains(text, "{config}"):
			return errors.New(
				`--config needs "{config}" in the command, which becomes the name of the file`,
			)
		case o.Config == "" && strings.Contains(text, "{config}"):
			return errors.New(
				`"{config}" in the command needs --config, the file that it becomes a copy of`,
			)
		case o.Config == "" && !strings.Contains(text, "{}") &&
			!strings.Contains(text, "{command}"):
			return errors.New(`the client has to be told its server: ` +
				`write "{}" in its command where that of the server belongs`)
		}
	}
	known := stat.Map(
		catalogue.For(side),
		func(m catalogue.Situation) string { return m.Name },
	)
	for _, name := range o.Only {
		if !slices.Contains(known, name) {
			return fmt.Errorf(
				"no situation %q for a %s; known are %s",
				name,
				side,
				strings.Join(known, ", "),
			)
		}
	}
	return nil
}

// runtimes are the names that interpreters go by.
var runtimes = []struct{ name, program string }{
	{
		"Node",
		"node",
	}, {"Node", "npx"}, {"Node", "npm"}, {"Bun", "bun"}, {"Deno", "deno"},
	{"Python", "python"}, {"Python", "uvx"}, {"Python", "pypy"},
	{"JVM", "java"}, {".NET", "dotnet"}, {".NET", "mono"},
}

// runtimeOf finds what a command runs on, by its name, its first line, or marks that compilers
// leave in a program; "" if that is not known. What a shell or env starts counts for it.
func runtimeOf(argv []string) string {
	for depth := 0; depth < 4 && len(argv) > 0; depth++ {
		base := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
		for _, r := range runtimes {
			if version := strings.TrimPrefix(base, r.program); version != base &&
				strings.Trim(version, "0123456789.") == "" ||
				base == r.program {
				return r.name
			}
		}
		switch base {
		case "env", "sh", "bash", "dash", "zsh", "timeout", "nice", "nohup", "stdbuf":
			argv = strings.Fields(strings.Join(argv[1:], " "))
			for len(argv) > 0 && isForShell(argv[0]) {
				argv = argv[1:]
			}
			continue
		}
		path, err := exec.LookPath(argv[0])
		if err != nil {
			return ""
		}
		line, name := lookInto(path)
		if line == nil {
			return name
		}
		argv = line
	}
	return ""
}

// isForShell reports whether a word before a command is for the shell, or for env: a flag, exec, or
// a variable.
func isForShell(word string) bool {
	return strings.HasPrefix(word, "-") || word == "exec" || strings.Contains(word, "=")
}

// marks are texts that compilers and runtimes leave in a program.
var marks = []struct{ text, name string }{
	{"/rustc/", "Rust"},
	{"libhostfxr", ".NET"},
	{"libc.so", "C stdio"},
	{"libSystem", "C stdio"},
	{"msvcrt", "C stdio"},
}

// lookInto reads a program: the command of its first line if it is a script, else the runtime.
func lookInto(path string) (script []string, name string) {
	if _, err := buildinfo.ReadFile(path); err == nil {
		return nil, "Go"
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, ""
	}
	defer f.Close()
	r := bufio.NewReader(f)
	if head, _ := r.Peek(2); string(head) == "#!" {
		line, _ := r.ReadString('\n')
		return strings.Fields(line[2:]), ""
	}
	head, _ := io.ReadAll(io.LimitReader(r, 8<<20))
	for _, m := range marks {
		if bytes.Contains(head, []byte(m.text)) {
			return nil, m.name
		}
	}
	return nil, ""
}

//go:embed advice.txt
var adviceText string

// advice is what to do about a class of failure on a runtime, by both their names.
var advice = catalogue.Texts(adviceText)
