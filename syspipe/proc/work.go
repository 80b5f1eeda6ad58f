package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/pipebench/pipebench/syspipe"
)

// workEnv is the environment variable that gives a process work to do: an assignment, as JSON.
const workEnv = "PIPEBENCH_WORK"

// workerProcs gives a worker more slots of GOMAXPROCS than it needs, because two of its threads may
// each block a slot in a raw system call.
const workerProcs = "GOMAXPROCS=4"

// An assignment is a piece of work, in the form in which an environment variable passes it on.
type assignment struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
	Ends []string        `json:"ends"` // references (see End.Pass): leash, reports, then Work.Ends
}

// begun is the first report that a worker process sends. A process that does not call [Main] never
// sends it.
const begun = "begun"

// ErrNotBegun says that a process ended before it began its work. Usually its main function does
// not call [Main], or calls it too late.
var ErrNotBegun = errors.New("ended before it began to work; " +
	"main and TestMain have to call proc.Main first")

// Self prepares another process of this program, to do the work with the given name. It passes on
// args, as JSON of at most some 30 KiB, and the pipe ends. The caller should close the ends after
// [Process.Start].
func Self(name string, args any, ends ...*syspipe.End) (*Process, error) {
	if _, worker := os.LookupEnv(workEnv); worker { // it would start itself again and again
		return nil, errors.New("this process was started to work and does not: " +
			"call proc.Main first in main and in TestMain")
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start it again: %w", err)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("write the arguments of %s: %w", name, err)
	}
	p := &Process{Cmd: exec.Command(program), name: name}
	p.work = &assignment{Name: name, Args: text}
	theirs, err := p.openPipes()
	if err == nil {
		err = p.pass(append(theirs, ends...))
	}
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("hand %s its pipes: %w", name, err)
	}
	return p, nil
}

// openPipes opens the leash, a pipe at whose end of file the worker exits, and the pipe for its
// reports. It returns the worker's ends.
func (p *Process) openPipes() (theirs []*syspipe.End, err error) {
	options := syspipe.Options{IO: syspipe.Blocking}
	ourLeash, theirLeash, err := syspipe.Open(syspipe.Anonymous, options)
	if err != nil {
		return nil, err
	}
	p.leash = ourLeash
	p.childOnly = append(p.childOnly, theirLeash)
	theirReports, ourReports, err := syspipe.Open(syspipe.Anonymous, options)
	if err != nil {
		return nil, err
	}
	p.ours = append(p.ours, ourReports)
	p.childOnly = append(p.childOnly, theirReports)
	p.decode = json.NewDecoder(ourReports)
	return []*syspipe.End{theirLeash, theirReports}, ourReports.UsePoller()
}

func (p *Process) pass(ends []*syspipe.End) error {
	for _, e := range ends {
		ref, err := e.Pass(p.Cmd)
		if err != nil {
			return err
		}
		p.work.Ends = append(p.work.Ends, ref)
	}
	return nil
}

// Begun waits until the process has begun its work. If the process ends before that, the error
// wraps [ErrNotBegun].
func (p *Process) Begun() error {
	if p.hasBegun {
		return nil
	}
	var first string
	if err := p.decode.Decode(&first); err != nil {
		if done := p.Done(); done != nil {
			<-done // the process has closed the pipe for its reports, so it ends soon
		}
		return fmt.Errorf("%s: %w: %w: %s", p.name, ErrNotBegun, err, &p.stderr)
	}
	p.hasBegun = true
	return nil
}

// Report waits for the next report of the work and decodes it into v. If no report comes any more,
// the error wraps [io.EOF].
func (p *Process) Report(v any) error {
	if err := p.Begun(); err != nil {
		return err
	}
	if err := p.decode.Decode(v); err != nil {
		return fmt.Errorf("read a report of %s: %w", p.name, err)
	}
	return nil
}

// CloseAll closes everything in list. It ignores errors: at worst, something was closed already.
func CloseAll[C io.Closer](list []C) {
	for _, c := range list {
		c.Close()
	}
}

// Work is what a process was started to do. Its methods may be called by any goroutine.
type Work struct {
	Ends []*syspipe.End // in the order in which they were given to [Self]

	args      json.RawMessage
	reports   *syspipe.End
	reporting sync.Mutex // guards reports
}

// A Job does a piece of named work.
type Job func(*Work) error

// If [Self] started this process, Main does the work that was given to Self, and exits. Otherwise
// Main returns at once. Call it first in main and in TestMain of every program that calls [Self].
func Main(jobs ...map[string]Job) {
	text, ok := os.LookupEnv(workEnv)
	if !ok {
		return
	}
	var a assignment
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		exit(fmt.Errorf("read the work in %s: %w", workEnv, err))
	}
	for _, named := range jobs {
		if job, known := named[a.Name]; known {
			os.Unsetenv(workEnv)
			exit(a.do(job))
		}
	}
	exit(fmt.Errorf("this program does not know the work %q: "+
		"main and TestMain give their work to proc.Main", a.Name))
}

// exit ends this process, with exit code 1 if there is an error.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// do takes up the pipe ends that the parent handed over, and does the job.
func (a assignment) do(job Job) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", a.Name, err)
		}
	}()
	w := &Work{args: a.Args}
	for _, ref := range a.Ends {
		e, err := syspipe.Inherited(ref)
		if err != nil {
			return err
		}
		w.Ends = append(w.Ends, e)
	}
	if len(w.Ends) < 2 {
		return errors.New("it was given no leash, or no way to report")
	}
	leash := w.Ends[0]
	w.reports = w.Ends[1]
	w.Ends = w.Ends[2:]
	if err := leash.UsePoller(); err != nil {
		return err
	}
	go func() { // ends this process when its parent closes the leash or is gone
		leash.Read(make([]byte, 1)) // nothing is ever written, so it returns at the end of file
		os.Exit(0)
	}()
	if err := w.Report(begun); err != nil {
		return err
	}
	return job(w)
}

// Args decodes the arguments that were given to [Self] into v.
func (w *Work) Args(v any) error {
	if err := json.Unmarshal(w.args, v); err != nil {
		return fmt.Errorf("read the arguments: %w", err)
	}
	return nil
}

// Report sends v, as JSON, to the process that called [Self].
func (w *Work) Report(v any) error {
	w.reporting.Lock()
	defer w.reporting.Unlock()
	if err := json.NewEncoder(w.reports).Encode(v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
