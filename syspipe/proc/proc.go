// Package proc starts processes, watches over them, and ends them with all that they started:
// programs of others, and this program again to do a piece of named work.
//
//	func init() { proc.Register("double", double) }
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
//		proc.Worker() // ends here what was started for work that nobody registered
//		p, err := proc.Self("double", 21)
//		if err == nil {
//			err = p.Start(ctx)
//		}
//		defer p.Close()
//		var n int
//		err = p.Report(&n) // 42
//	}
//
// # How a process ends
//
// By itself; when the context of [Process.Start] ends; by [Process.Stop], which asks before it
// kills; by [Process.Kill]. Whatever the way, what the process leaves in its group is killed too,
// unless it is Attached. When we die, even by SIGKILL, our children end: those that do named work
// hang on a leash, a pipe whose end tells them to leave; Linux sends others SIGKILL (them alone,
// not what they started), Windows ends them with the last handle to their job. Elsewhere they meet
// the end of their standard input.
//
// # Why work runs in init
//
// Go initialises packages in the order of their import paths, as far as their imports allow, and a
// large program spends more time on that than a worker on its work. So [Register] does the work
// there and then, in the init of the package that registers it: what sorts behind (a schema
// validator, the charts) is never initialised. Of CPU time, on a busy machine, the whole command
// takes 39 ms to begin, a worker of the engine 24, and a bare program 5.
//
// # Who may call concurrently
//
// Set the fields of a [Process] before Start. Report belongs to one goroutine at a time; all else
// may be called by any.
package proc

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A Process is a child: a command of any program, or this program with work to do.
type Process struct {
	// Cmd is what is started: its streams, Env and Dir may be set until Start. Of a stream,
	// [Process.Pipe] keeps all that the child wrote; Cmd's own pipes are closed when the child
	// ends. Standard error goes to the Tail of [Process.Stderr] if nothing else is set. Call none
	// of Cmd's methods.
	Cmd *exec.Cmd
	// Grace is how long the process has, when the context of Start ends, between being interrupted
	// and being killed. 0: it is killed at once.
	Grace time.Duration
	// Attached says that the child stands for this process, as behind a wrapper: what it leaves
	// behind goes on when it ends, and on Windows a console's Ctrl-C comes to it as to us.
	Attached bool
	// Session says that the child has a session of its own, without our terminal. On Windows it has
	// none of ours in any case.
	Session bool

	name      string
	script    *script // of named work
	survives  bool    // us, as another process holds its leash
	stderr    Tail
	childOnly []io.Closer // what only the child needs, closed once it has it or never will
	ours      []io.Closer // ends of pipes to its standard streams, and of its reports

	leash  *syspipe.End  // closing it ends named work
	decode *json.Decoder // of its reports
	hello  bool          // the work is known to have begun

	group   group
	mu      sync.Mutex // held to signal the group, which has a name only until the process was waited for
	reaped  bool
	done    chan struct{} // closed when the process has been waited for; nil before Start
	exit    error
	peak    atomic.Int64
	closing sync.Once
}

// Command readies a program, looked up in PATH if its name holds no separator.
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

// Pipe connects a standard stream of the child, 0 to 2, with a pipe and returns our end, which Close
// closes if the caller has not. Where it fails, as where Start does, the process is closed. Call it
// before Start.
func (p *Process) Pipe(stream int) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("a pipe for %s: %w", p.name, err)
	}
	ours, theirs := r, w
	if stream == 0 {
		ours, theirs = w, r
	}
	p.ours = append(p.ours, ours)
	p.give(stream, theirs)
	return ours, nil
}

// Connect is Pipe with a pipe of a kind and capacity, as [syspipe.Open] has them, whose end the child
// may get in non-blocking mode. Our end waits by Go's poller.
func (p *Process) Connect(stream int, kind syspipe.Kind, capacity int, nonBlocking bool) (ours *syspipe.End, err error) {
	defer func() {
		if err != nil {
			p.Close()
			err = fmt.Errorf("a pipe for %s: %w", p.name, err)
		}
	}()
	theirs, ours, err := syspipe.Open(kind, syspipe.Options{Capacity: capacity, IO: syspipe.Blocking})
	if err != nil {
		return nil, err
	}
	if stream == 0 {
		ours, theirs = theirs, ours
	}
	defer theirs.Close()
	p.ours = append(p.ours, ours)
	if nonBlocking {
		err = theirs.SetIO(syspipe.Poll) // the mode is the pipe's: the child has it from its start
	}
	if err == nil {
		err = ours.UsePoller() // a goroutine then waits without a thread
	}
	var file *os.File
	if err == nil {
		file, err = theirs.File()
	}
	if err == nil {
		p.give(stream, file)
	}
	return ours, err
}

// give makes a file a standard stream of the child.
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

// Start starts the process, in a process group or job of its own. When ctx ends the process is
// ended. What was opened for the child alone is closed here, whether it starts or not.
func (p *Process) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		p.Close()
		return fmt.Errorf("start %s: %w", p.name, context.Cause(ctx))
	}
	if p.script != nil {
		text, _ := json.Marshal(p.script) // of strings, and of what is JSON already
		p.Cmd.Env = append(p.Cmd.Environ(), workerProcs, workEnv+"="+string(text))
	}
	if p.Cmd.Stderr == nil {
		p.Cmd.Stderr = &p.stderr
	}
	if p.Cmd.SysProcAttr == nil {
		p.Cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.Cmd.WaitDelay = time.Second // for a grandchild that holds a stream open
	started := make(chan error)
	go p.run(ctx, started)
	err := <-started
	p.closeChildOnly()
	if err != nil {
		p.Close()
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

// run starts the process and waits for it, on one thread: Linux ends a child with the thread that
// started it.
func (p *Process) run(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.start(); err != nil {
		started <- err
		return
	}
	p.done = make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		if p.Grace <= 0 || !p.Interrupt() || !p.Ended(p.Grace) {
			p.Kill()
		}
	})()
	started <- nil
	if p.awaitExit() { // its number is still its own, and that of its group
		p.reap()
		p.exit = p.Cmd.Wait()
	} else {
		p.exit = p.Cmd.Wait()
		p.reap()
	}
	close(p.done)
}

// reap ends what the process left behind. From then on nobody signals its group any more.
func (p *Process) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Attached {
		p.signalGroup(syscall.SIGKILL)
	}
	p.reaped = true
	p.releaseGroup()
}

// Done returns a channel that is closed when the process has ended and was waited for. Call it
// after Start.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended reports whether the process has ended, and waits for that at most d.
func (p *Process) Ended(d time.Duration) bool {
	if d > 0 { // no timer else: CPU and PeakMemory ask this for every message that is driven
		select {
		case <-p.done:
		case <-time.After(d):
		}
	}
	select { // both may have come while we had no CPU
	case <-p.done:
		return true
	default:
		return false
	}
}

// Wait waits until the process has ended and returns how: nil for exit code 0, else an error that
// wraps [exec.ExitError] and holds what [Process.Stderr] kept. It may be called more than once.
func (p *Process) Wait() error {
	<-p.done
	if said := p.stderr.String(); p.exit != nil && said != "" {
		return fmt.Errorf("%s: %w: %s", p.name, p.exit, said)
	} else if p.exit != nil {
		return fmt.Errorf("%s: %w", p.name, p.exit)
	}
	return nil
}

// Stderr returns the end of what the process wrote to standard error, where Cmd.Stderr was not set.
func (p *Process) Stderr() *Tail { return &p.stderr }

// Interrupt sends the group what Ctrl-C would, SIGINT, on Windows CTRL_BREAK. It reports whether
// that was possible.
func (p *Process) Interrupt() bool { return p.signal(syscall.SIGINT) }

// Terminate asks the group to end: by SIGTERM, on Windows by CTRL_BREAK. It reports whether that
// was possible.
func (p *Process) Terminate() bool { return p.signal(syscall.SIGTERM) }

// Kill ends the group at once. It does not wait.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

func (p *Process) signal(s syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Cmd != nil && p.Cmd.Process != nil && !p.reaped && p.signalGroup(s)
}

// Stop ends a process that was asked to, in the way it knows: its standard input was closed, say.
// After the first delay it is told to terminate, after the second killed. It reports whether any of
// that was needed, and returns when the process is gone.
func (p *Process) Stop(ask, terminate time.Duration) (forced bool) {
	if p.Ended(ask) {
		return false
	}
	if !p.Terminate() || !p.Ended(terminate) {
		p.Kill()
		<-p.done
	}
	return true
}

// Close ends what is left of the process, waits until it is gone, and closes what belongs to it. It
// may be called more than once, and whether the process was started or not.
func (p *Process) Close() {
	p.closing.Do(func() {
		p.closeChildOnly()
		if p.leash != nil {
			p.leash.Close()
		}
		if p.done != nil {
			p.Kill()
			<-p.done
		}
		CloseAll(p.ours)
	})
}

func (p *Process) closeChildOnly() {
	CloseAll(p.childOnly)
	p.childOnly = nil
}

// ExitCode returns the exit code of a process that has ended, or 128 + the signal that ended it.
func (p *Process) ExitCode() int {
	if number, _, ok := Signaled(p.Cmd.ProcessState); ok {
		return 128 + number
	}
	return p.Cmd.ProcessState.ExitCode()
}

// A Tail is a writer that keeps the last of what is written to it. The zero Tail keeps 4096 bytes.
type Tail struct {
	Limit int // bytes; 0 is 4096

	mu    sync.Mutex
	last  []byte
	total int64
}

func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := cmp.Or(t.Limit, 4096)
	t.total += int64(len(b))
	t.last = append(t.last, b[max(0, len(b)-limit):]...)
	if over := len(t.last) - limit; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(b), nil
}

// Total returns how many bytes were written so far.
func (t *Tail) Total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// String returns what was kept, without space around it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.last))
}
