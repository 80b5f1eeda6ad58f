package client

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// DefaultGrace is how long a child is given to end after its stdin was closed, and again after it was told to.
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

// Limits bound what a child may use. A zero field is no limit. They are set just after the child has started.
type Limits struct {
	Memory uint64        // bytes of address space
	CPU    time.Duration // of all its threads, in whole seconds, rounded up; beyond it the child is killed
	Files  uint64        // descriptors
}

// NewCommand returns the command that runs a server: by node where path ends in .js, by python3 where it ends in .py, and else
// by itself.
func NewCommand(path string, args ...string) Command {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs":
		return Command{Path: "node", Args: append([]string{path}, args...)}
	case ".py":
		return Command{Path: "python3", Args: append([]string{path}, args...)}
	}
	return Command{Path: path, Args: args}
}

// Launch starts the child in a process group of its own.
func (c Command) Launch() (*Process, error) {
	if err := c.Limits.supported(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	var s streams
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.child[0], s.child[1], s.child[2]
	apart(cmd)
	err := cmd.Start()
	s.closeChild()
	if err != nil {
		s.closeOwn()
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	p := c.process(cmd, &s)
	if err := c.Limits.apply(cmd.Process.Pid); err != nil {
		s.closeOwn()
		p.Kill()
		<-p.Done
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

func (c Command) process(cmd *exec.Cmd, s *streams) *Process {
	done := make(chan struct{})
	go func() {
		reap(cmd)
		close(done)
	}()
	p := &Process{
		Stdin: s.own[0], Stdout: s.own[1], Stderr: s.own[2],
		Grace:     c.Grace,
		Terminate: func() { terminate(cmd.Process) },
		Kill:      func() { kill(cmd.Process) },
		Done:      done,
		ExitCode:  func() int { return exitCode(cmd.ProcessState) },
	}
	if p.Grace == 0 {
		p.Grace = DefaultGrace
	}
	return p
}

// streams are the three pipes of a child, and both ends of each.
type streams struct{ own, child [3]*os.File }

func (s *streams) open() error {
	for i := range s.own {
		r, w, err := os.Pipe()
		if err != nil {
			s.closeOwn()
			s.closeChild()
			return err
		}
		s.own[i], s.child[i] = r, w
		if i == 0 {
			s.own[i], s.child[i] = w, r
		}
	}
	return nil
}

func (s *streams) closeOwn()   { closeFiles(s.own) }
func (s *streams) closeChild() { closeFiles(s.child) }

func closeFiles(files [3]*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
