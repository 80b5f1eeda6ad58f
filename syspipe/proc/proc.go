// Package proc starts processes, watches over them, and ends them together with all that they
// started. A process runs another program, or it runs this program again to do a piece of named
// work.
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
// When a process ends, all processes left in its group are killed too, unless it is Attached.
//
// If this process dies, even by SIGKILL, children that do named work exit. Linux and Windows kill
// the other children, too. But Linux does not kill what these have started, and Windows does not
// kill a child that is Attached. On other systems, the other children only see the end of their
// standard input.
//
// # Who may call concurrently
//
// Set the fields of a [Process], and call Pipe and Connect, before Start. Begun and Report belong
// to one goroutine at a time. All other methods may be called concurrently.
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

// A Process is a child of this process: it runs any program, or this program with work to do.
type Process struct {
	// Cmd is the command. Its streams, Env and Dir may be set before Start. Call none of its
	// methods: to read a stream to its end, use [Process.Pipe].
	Cmd *exec.Cmd
	// When the context of Start ends, the process is interrupted, and killed if it has not ended
	// after Grace. If Grace is 0, the process is killed at once.
	Grace time.Duration
	// Attached says that we only wrap the child. The processes that the child leaves behind go on,
	// and on Windows, Ctrl-C in a console reaches the child.
	Attached bool
	// Session gives the child a session of its own, without our terminal. Windows ignores it.
	Session bool

	name      string
	work      *assignment // nil if the process runs another program
	stderr    Tail
	childOnly []io.Closer // what only the child needs; Start closes it
	ours      []io.Closer // our ends of the pipes to the child; Close closes them

	// For named work only:
	leash    *syspipe.End  // our end; the work ends when it is closed
	decode   *json.Decoder // reads the reports of the work
	hasBegun bool          // the first report was read

	group group

	mu     sync.Mutex // guards childOnly and the next three; held to start or signal
	closed bool
	reaped bool          // the process is gone; its group's number may be reused
	done   chan struct{} // closed after the process was waited for; nil before Start

	// The next three fields may be read after done is closed.
	exit    error
	counts  Counts
	counted bool // counts are known

	peak    atomic.Int64 // the largest resident memory seen so far, in bytes
	closing sync.Once
}

// Command prepares a process that runs a program, which may be looked up in PATH.
func Command(path string, args ...string) *Process {
	return &Process{Cmd: exec.Command(path, args...), name: path}
}

// ShellLine returns a command as one line for a POSIX shell, quoted where needed.
func ShellLine(argv []string) string {
	words := slices.Clone(argv)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$&|;<>()*?[]#~`!{}") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Pipe connects a standard stream of the child (0, 1 or 2) with a new pipe and returns our end,
// which [Process.Close] closes. Call Pipe before Start. If Pipe fails, it closes the Process.
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
	p.setStream(stream, theirs)
	return ours, nil
}

// Connect connects a standard stream of the child (0, 1 or 2) with a new pipe of this kind and
// capacity, and returns our end, which uses Go's poller. nonBlocking sets the mode of the child's
// end.
func (p *Process) Connect(
	stream int, kind syspipe.Kind, capacity int, nonBlocking bool,
) (ours *syspipe.End, err error) {
	ours, file, err := connect(stream, kind, capacity, nonBlocking)
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("a pipe for %s: %w", p.name, err)
	}
	p.ours = append(p.ours, ours)
	p.setStream(stream, file)
	return ours, nil
}

// connect returns our end of a pipe to a standard stream, and the child's end as a file.
func connect(
	stream int, kind syspipe.Kind, capacity int, nonBlocking bool,
) (ours *syspipe.End, file *os.File, err error) {
	// IO is not Poller, the default, because that would make the child's end non-blocking.
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

func (p *Process) setStream(stream int, f *os.File) {
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
