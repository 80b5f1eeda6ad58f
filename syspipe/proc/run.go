package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

var errStarted = errors.New("it was started already")

// Start starts the process, in a process group or job of its own. When ctx ends, the process is
// ended (see Grace). A process can be started only once. If the start fails, the process is closed.
func (p *Process) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		p.Close()
		return fmt.Errorf("start %s: %w", p.name, context.Cause(ctx))
	}
	started := make(chan error)
	go p.run(ctx, started)
	err := <-started
	if errors.Is(err, errStarted) {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.closeChildOnly()
	if err != nil {
		p.Close()
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	return nil
}

// run starts the process, sends the error or nil to the channel started, and waits for the end of
// the process. It stays on one thread, because Linux kills the child when that thread ends.
func (p *Process) run(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	done, err := p.begin()
	if err != nil {
		started <- err
		return
	}
	stop := context.AfterFunc(ctx, func() {
		if p.Grace <= 0 || !p.Interrupt() || !p.Ended(p.Grace) {
			p.Kill()
		}
	})
	defer stop()
	started <- nil
	if p.awaitExit() { // the process is a zombie, which keeps its PID and that of its group
		io, err := procfs.ReadIO(p.Cmd.Process.Pid)
		p.counts = Counts(io)
		p.counted = err == nil
		p.endGroup()
		p.exit = p.Cmd.Wait()
	} else {
		p.exit = p.Cmd.Wait()
		p.endGroup() // at once, before another group gets the same number
	}
	forgetChild(p.Cmd.Process.Pid)
	close(done)
}

// begin starts the process, unless it was started or closed before.
func (p *Process) begin() (done chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done != nil {
		return nil, errStarted
	}
	if p.closed {
		return nil, os.ErrClosed
	}
	if p.work != nil {
		text, err := json.Marshal(p.work)
		if err != nil {
			return nil, err
		}
		p.Cmd.Env = append(p.Cmd.Environ(), workerProcs, workEnv+"="+string(text))
	}
	if p.Cmd.Stderr == nil {
		p.Cmd.Stderr = &p.stderr
	}
	if p.Cmd.SysProcAttr == nil {
		p.Cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	p.Cmd.WaitDelay = time.Second // for a grandchild that holds a stream open
	if err := p.startChild(); err != nil {
		return nil, err
	}
	p.done = make(chan struct{})
	return p.done, nil
}

// endGroup ends the processes that p has left behind in its group. After endGroup, nobody may
// signal the group.
func (p *Process) endGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Attached {
		p.signalGroup(syscall.SIGKILL)
	}
	p.reaped = true
	p.releaseGroup()
}

// Done returns a channel that is closed after the end of the process. It returns nil before Start.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Ended reports whether the process was started and has ended. If it still runs, Ended waits for
// its end, at most for d.
func (p *Process) Ended(d time.Duration) bool {
	done := p.Done()
	if done == nil {
		return false
	}
	if d > 0 { // no timer without a wait: some callers ask after every message
		select {
		case <-done:
		case <-time.After(d):
		}
	}
	select { // if both had happened, the select above may have taken the timer
	case <-done:
		return true
	default:
		return false
	}
}

// Wait waits until the process has ended. Unless the exit code is 0, the error wraps
// [exec.ExitError] and contains what [Process.Stderr] kept. Wait may be called more than once.
func (p *Process) Wait() error {
	done := p.Done()
	if done == nil {
		return fmt.Errorf("%s: it was not started", p.name)
	}
	<-done
	if p.exit == nil {
		return nil
	}
	if said := p.stderr.String(); said != "" {
		return fmt.Errorf("%s: %w: %s", p.name, p.exit, said)
	}
	return fmt.Errorf("%s: %w", p.name, p.exit)
}

// Stderr returns the last bytes that the process wrote to standard error, if Cmd.Stderr was not
// set.
func (p *Process) Stderr() *Tail { return &p.stderr }

// Interrupt sends SIGINT (Windows: CTRL_BREAK) to the process's group, and reports whether that was
// possible.
func (p *Process) Interrupt() bool { return p.signal(syscall.SIGINT) }

// Terminate sends SIGTERM (Windows: CTRL_BREAK) to the process's group, and reports whether that
// was possible.
func (p *Process) Terminate() bool { return p.signal(syscall.SIGTERM) }

// Kill ends the group at once. It does not wait.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

func (p *Process) signal(s syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done != nil && !p.reaped && p.signalGroup(s)
}

// Stop waits for a process that was asked to end, as by closing its input. After the time
// untilTerminate, it calls Terminate. After the further time untilKill, it kills the process.
// forced is false if neither was needed.
func (p *Process) Stop(untilTerminate, untilKill time.Duration) (forced bool) {
	done := p.Done()
	if done == nil || p.Ended(untilTerminate) {
		return false
	}
	if !p.Terminate() || !p.Ended(untilKill) {
		p.Kill()
		<-done
	}
	return true
}

// Close kills the group, waits until the process is gone, and closes our ends of its pipes. It may
// be called more than once, and before Start.
func (p *Process) Close() {
	p.closing.Do(func() {
		p.mu.Lock()
		p.closed = true
		done := p.done
		p.mu.Unlock()
		p.closeChildOnly()
		if p.leash != nil {
			p.leash.Close()
		}
		if done != nil {
			p.Kill()
			<-done
		}
		CloseAll(p.ours)
	})
}

func (p *Process) closeChildOnly() {
	p.mu.Lock()
	defer p.mu.Unlock()
	CloseAll(p.childOnly)
	p.childOnly = nil
}

// ExitCode returns the exit code of the process, or 128 plus the number of the signal that ended
// it. It returns -1 if the process has not ended.
func (p *Process) ExitCode() int {
	if !p.Ended(0) {
		return -1
	}
	if number, _, ok := Signaled(p.Cmd.ProcessState); ok {
		return 128 + number
	}
	return p.Cmd.ProcessState.ExitCode()
}
