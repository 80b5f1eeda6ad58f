package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/internal/child"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// A Launcher starts servers. f frames the messages to and from them, and o says how they are read.
type Launcher interface {
	Launch(f framers.Framing, o child.Options) (*Process, error)
}

// A Process is a server that runs.
type Process struct {
	Conn *child.Conn
	// Stop waits for the process, whose stdin has been closed, to end. It then tells it to end, and
	// at last kills it (forced). Stop returns when the process is gone.
	Stop     func() (forced bool)
	Done     <-chan struct{} // closed when it has ended
	ExitCode func() int      // after it has ended: the code, or 128 + the signal
}

// DefaultGrace is the time that a child has to end after its stdin was closed, and again after it
// was told to.
const DefaultGrace = 2 * time.Second

// A Command starts a server as a child process, without a shell. It is a [Launcher].
type Command struct {
	Path   string   // of the program, looked up in PATH if it has no separator
	Args   []string // without the program's name
	Env    []string // nil: this process's
	Dir    string   // "": this process's
	Limits Limits
	Grace  time.Duration // DefaultGrace if 0
}

// Limits bound what a child may use. A zero field is no limit. They are set just after the child
// has started.
type Limits struct {
	Memory uint64        // bytes of address space
	CPU    time.Duration // of all threads, rounded up to seconds; beyond it the child is killed
	Files  uint64        // descriptors
}

// NewCommand returns the command that runs a server: with node if path ends in .js, .mjs or .cjs,
// with python3 if it ends in .py, and else directly.
func NewCommand(path string, args ...string) Command {
	interpreter := ""
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs":
		interpreter = "node"
	case ".py":
		interpreter = "python3"
	}
	if interpreter == "" {
		return Command{Path: path, Args: args}
	}
	return Command{Path: interpreter, Args: append([]string{path}, args...)}
}

// Launch starts the child in a process group or job of its own: what the child starts ends with the
// child, and Ctrl-C reaches only this process.
func (c Command) Launch(f framers.Framing, o child.Options) (*Process, error) {
	if runtime.GOOS != "linux" && c.Limits != (Limits{}) {
		return nil, fmt.Errorf("start %s: limits of a child: %w on %s",
			c.Path, errors.ErrUnsupported, runtime.GOOS)
	}
	p := proc.Command(c.Path, c.Args...)
	p.Cmd.Env = c.Env
	p.Cmd.Dir = c.Dir
	conn, err := child.Start(context.Background(), p, f, o)
	if err != nil {
		return nil, err
	}
	err = c.Limits.apply(p.Cmd.Process.Pid)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	grace := cmp.Or(c.Grace, DefaultGrace)
	return &Process{
		Conn: conn, Stop: func() bool { return p.Stop(grace, grace) },
		Done: p.Done(), ExitCode: p.ExitCode,
	}, nil
}
