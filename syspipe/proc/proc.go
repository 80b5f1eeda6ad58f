// Package proc starts processes, watches over them, and ends them with all that they started:
// programs of others, and this program again to do a piece of named work.
//
//	func double(w *proc.Work) error {
//		var n int
//		if err := w.Args(&n); err != nil {
//			return err
//		}
//		return w.Report(2 * n)
//	}
//
//	func main() {
//		proc.Main(map[string]proc.Job{"double": double}) // a worker works here, and exits
//		p, err := proc.Self("double", 21)
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer p.Close()
//		if err := p.Start(ctx); err != nil {
//			log.Fatal(err)
//		}
//		var n int
//		err = p.Report(&n) // 42
//	}
//
// # How a process ends
//
// A process ends by itself, by the end of the context of [Process.Start], by [Process.Stop] (which
// asks before it kills), or by [Process.Kill]. In each case, what the process leaves in its group
// is killed too, unless it is Attached.
//
// If we die, even by SIGKILL, our children end too. Children that do named work hold a leash: a
// pipe from us, at whose end of file they exit. Linux sends SIGKILL to the other children (not to
// what they have started); Windows ends them with the last handle to their job. On other systems
// they see the end of their standard input, nothing else.
//
// # Who may call concurrently
//
// Set the fields of a [Process] before Start. Report belongs to one goroutine at a time; all other
// methods may be called concurrently.
package proc

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A Process is a child: a command of any program, or this program with work to do.
type Process struct {
	// Cmd is what is started: its streams, Env and Dir may be set until Start. To read all that the
	// child wrote to a stream, use [Process.Pipe]: Cmd's own pipes are closed when the child ends.
	// Standard error goes to the Tail of [Process.Stderr] if nothing else is set. Call none of
	// Cmd's methods.
	Cmd *exec.Cmd
	// Grace is the time between an interrupt and the kill when the context of Start ends. With a
	// Grace of 0, the process is killed at once.
	Grace time.Duration
	// Attached says that we are just a wrapper of the child: when the child ends, what it leaves
	// behind goes on, and on Windows a console's Ctrl-C reaches the child as it reaches us.
	Attached bool
	// Session gives the child a session of its own, without our terminal. Windows ignores it.
	Session bool

	name      string
	work      *assignment // nil if another program is started
	stderr    Tail
	childOnly []io.Closer // what only the child needs; Start closes it
	ours      []io.Closer // our ends of the pipes to the child; Close closes them

	// For named work only:
	leash    *syspipe.End  // closing it ends the work
	decode   *json.Decoder // reads its reports
	hasBegun bool          // its first report was read

	group group

	mu      sync.Mutex // guards started, closed, reaped and done, and starting and signalling
	started bool
	closed  bool
	reaped  bool          // the group was killed; another one may get its number
	done    chan struct{} // closed after the process was waited for; nil before Start

	// What follows may be read after done is closed.
	exit    error
	counts  Counts
	counted bool // counts are known

	peak    atomic.Int64 // the largest resident memory seen so far, in bytes
	closing sync.Once
}

// Command prepares a program. Its name is looked up in PATH if it contains no separator.
func Command(path string, args ...string) *Process {
	return &Process{Cmd: exec.Command(path, args...), name: path}
}

// ShellLine writes a command as a POSIX shell takes it.
func ShellLine(argv []string) string {
	words := slices.Clone(argv)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Pipe connects a standard stream of the child (0, 1 or 2) with a pipe and returns our end, which
// Process.Close closes too. Call Pipe before Start. If Pipe fails, it closes the process.
func (p *Process) Pipe(stream int) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("a pipe for %s: %w", p.name, err)
	}
	ours := r
	theirs := w
	if stream == 0 {
		ours = w
		theirs = r
	}
	p.ours = append(p.ours, ours)
	p.give(stream, theirs)
	return ours, nil
}

// Connect is Pipe with a pipe of the given kind and capacity (see [syspipe.Open]). The child's end
// may be in non-blocking mode. Our end waits by Go's poller.
func (p *Process) Connect(
	stream int, kind syspipe.Kind, capacity int, nonBlocking bool,
) (ours *syspipe.End, err error) {
	ours, file, err := connect(stream, kind, capacity, nonBlocking)
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("a pipe for %s: %w", p.name, err)
	}
	p.ours = append(p.ours, ours)
	p.give(stream, file)
	return ours, nil
}

// connect returns our end of a pipe to a standard stream, and the child's end as a file.
func connect(
	stream int, kind syspipe.Kind, capacity int, nonBlocking bool,
) (ours *syspipe.End, file *os.File, err error) {
	// Not Poller, the default: it would make the child's end non-blocking.
	options := syspipe.Options{Capacity: capacity, IO: syspipe.Blocking}
	theirs, ours, err := syspipe.Open(kind, options)
	if err != nil {
		return nil, nil, err
	}
	if stream == 0 {
		ours, theirs = theirs, ours
	}
	defer theirs.Close()
	if nonBlocking {
		err = theirs.SetIO(syspipe.Poll)
	}
	if err == nil {
		err = ours.UsePoller() // a goroutine then waits without a thread
	}
	if err == nil {
		file, err = theirs.File()
	}
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	return ours, file, nil
}

// give makes f a standard stream of the child.
func (p *Process) give(stream int, f *os.File) {
	switch stream {
	case 0:
		p.Cmd.Stdin = f
	case 1:
		p.Cmd.Stdout = f
	default:
		p.Cmd.Stderr = f
	}
	p.childOnly = append(p.childOnly, f)
}
