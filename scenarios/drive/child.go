package drive

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"

	"github.com/pipebench/pipebench/syspipe"
)

// A StartError is returned when the command could not be started at all.
type StartError struct {
	Command []string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("start %s: %v (is it installed, and spelt as on a command line?)", e.Command[0], e.Err)
}

func (e *StartError) Unwrap() error { return e.Err }

// A child is the server's process, with our ends of its standard streams.
type child struct {
	cmd    *exec.Cmd
	stdin  *syspipe.End
	stdout *syspipe.End
	stderr *syspipe.End
	words  *words
	tree   tree

	began   time.Time
	peak    atomic.Int64  // largest resident memory seen, in bytes; 0 where it is not told
	gone    chan struct{} // closed when the process was waited for
	drained chan struct{} // closed when nobody reads standard error any more
}

// launch starts the command over pipes as the options say.
func launch(o Options) (*child, error) {
	c := &child{words: new(words), gone: make(chan struct{}), drained: make(chan struct{})}
	var theirs streams
	defer theirs.close()
	if err := c.open(o, &theirs); err != nil {
		c.closeStreams()
		return nil, fmt.Errorf("pipes for %s: %w", o.Command[0], err)
	}
	if err := c.start(o, &theirs); err != nil {
		c.closeStreams()
		return nil, &StartError{o.Command, err}
	}
	if o.nonblock {
		if err := theirs.stdout.SetIO(syspipe.Poll); err != nil { // the mode is the pipe's, not the descriptor's
			c.kill()
			return nil, fmt.Errorf("non-blocking standard output: %w", err)
		}
	}
	return c, nil
}

// streams are the server's ends, which are ours only until it has them.
type streams struct {
	stdin, stdout, stderr *syspipe.End
	lent                  []*os.File
}

func (s *streams) close() {
	for _, f := range s.lent {
		f.Close()
	}
	closeEnds(s.stdin, s.stdout, s.stderr)
}

func closeEnds(ends ...*syspipe.End) {
	for _, e := range ends {
		if e != nil {
			e.Close()
		}
	}
}

func (c *child) open(o Options, theirs *streams) (err error) {
	if c.stdin, theirs.stdin, err = syspipe.Open(o.Pipe, o.Capacity); err != nil {
		return err
	}
	if theirs.stdout, c.stdout, err = syspipe.Open(o.Pipe, o.Capacity); err != nil {
		return err
	}
	theirs.stderr, c.stderr, err = syspipe.Open(syspipe.Anonymous, 0)
	return err
}

func (c *child) start(o Options, theirs *streams) error {
	cmd := exec.Command(o.Command[0], o.Command[1:]...)
	cmd.Env, cmd.Dir = o.Env, o.Dir
	for _, e := range []*syspipe.End{theirs.stdin, theirs.stdout, theirs.stderr} {
		f, err := lend(e)
		if err != nil {
			return err
		}
		theirs.lent = append(theirs.lent, f)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs.lent[0], theirs.lent[1], theirs.lent[2]
	c.cmd, c.began = cmd, time.Now()
	for _, e := range []*syspipe.End{c.stdin, c.stdout, c.stderr} {
		if err := unparked(e); err != nil {
			return err
		}
	}
	if err := c.tree.start(cmd); err != nil {
		return err
	}
	go c.wait()
	go c.listen(!o.undrained)
	return nil
}

// unparked gives our end to Go's poller, where the system can: a goroutine then waits without a thread. Elsewhere it blocks.
func unparked(e *syspipe.End) error {
	err := e.SetIO(syspipe.Poller)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

func (c *child) wait() {
	defer close(c.gone)
	c.cmd.Wait()  // its error is in ProcessState
	c.tree.kill() // what the server started and left behind
}

// listen drains standard error. A read that was begun ends when the stream is closed by us or by everyone who has it.
func (c *child) listen(drain bool) {
	defer close(c.drained)
	if drain {
		c.words.take(c.stderr)
	}
}

// alive reports whether the process has not ended yet.
func (c *child) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// ended waits for the process to end, for at most d.
func (c *child) ended(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
	}
}

// The patience with a server that is asked to leave: at the end of its input it may finish its work, at SIGTERM it should only tidy up.
const (
	leaveAtEOF  = 2 * time.Second
	leaveAtTerm = time.Second
)

// stop asks the server to leave, and makes it.
func (c *child) stop() {
	c.stdin.Close()
	if !c.ended(leaveAtEOF) {
		c.tree.terminate()
		c.ended(leaveAtTerm)
	}
	c.kill()
}

// kill ends the server and all it started, and returns when it is gone.
func (c *child) kill() {
	c.tree.kill()
	<-c.gone
	c.hearOut()
	c.closeStreams()
	<-c.drained
}

// hearOut waits for what is left of standard error, which ends with the last process that has it: at once, but where one has left the server's
// group and lives on.
func (c *child) hearOut() {
	timer := time.NewTimer(leaveAtTerm)
	defer timer.Stop()
	select {
	case <-c.drained:
	case <-timer.C:
	}
}

func (c *child) closeStreams() {
	closeEnds(c.stdin, c.stdout, c.stderr)
}

// verdict is how the process ended. Call it only when it has.
func (c *child) verdict() Verdict {
	state := c.cmd.ProcessState
	if name, ok := signalOf(state); ok {
		return signaled(name)
	}
	return exited(state.ExitCode())
}
