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

// A Launcher starts servers. f is the framing in both directions, and o says how the server's
// messages are read.
type Launcher interface {
	Launch(f framers.Framing, o child.Options) (*Process, error)
}

// A Process is a server that runs.
type Process struct {
	Conn *child.Conn
	// Stop waits until the process is gone. The caller must have closed the stdin of the process. A
	// process that does not end in time is told to end, and then killed; forced is then true.
	Stop     func() (forced bool)
	Done     <-chan struct{} // closed when the process has ended
	ExitCode func() int      // after its end: the code, or 128 plus the signal's number
}

// A Command starts a server as a child process, without a shell. It is a [Launcher].
type Command struct {
	Path   string   // of the program; looked up in PATH if it has no separator
	Args   []string // without the program's name
	Env    []string // nil: the environment of this process
	Dir    string   // "": the working directory of this process
	Limits Limits
	// Grace is how long the child may take to end after its stdin was closed, and again after it
	// was told to end; default: 2 s.
	Grace time.Duration
}

// Limits bound what a child may use, on Linux only. A field that is zero sets no limit.
type Limits struct {
	Memory int64         // bytes of address space
	CPU    time.Duration // of all threads, rounded up to seconds; beyond it the child is killed
	Files  uint64        // descriptors
}

// NewCommand returns the command that runs a server: by node if path ends in .js, .mjs or .cjs, by
// python3 for .py, and otherwise directly.
func NewCommand(path string, args ...string) Command {
	script := append([]string{path}, args...)
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs":
		return Command{Path: "node", Args: script}
	case ".py":
		return Command{Path: "python3", Args: script}
	}
	return Command{Path: path, Args: args}
}

// Launch starts the child in a process group of its own, or on Windows a job. Ctrl-C does not reach
// the child, and what the child has started ends with it.
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
	grace := cmp.Or(c.Grace, 2*time.Second)
	return &Process{
		Conn: conn, Stop: func() bool { return p.Stop(grace, grace) },
		Done: p.Done(), ExitCode: p.ExitCode,
	}, nil
}
