package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"

	"github.com/pipebench/pipebench/syspipe"
)

// workerVariable tells a process that it is a worker, and its role.
const workerVariable = "SYSPIPE_PROBE_WORKER"

const (
	roleStep   = "step"   // makes an experiment
	roleWriter = "writer" // writes one letter again and again until the reader leaves
	roleHold   = "hold"   // keeps an end open until its standard input ends
	roleEcho   = "echo"   // copies from one end to another, a block at a time
	roleStdio  = "stdio"  // tells what its standard streams are
)

// Worker does a worker's job and exits where this process was started to be one; elsewhere it returns at once. Call it first in main, and in
// TestMain of tests that call [Run].
func Worker() {
	job, ok := os.LookupEnv(workerVariable)
	if !ok {
		return
	}
	runtime.GOMAXPROCS(8)  // blocking ends hold a scheduler slot each
	debug.SetGCPercent(-1) // and keep the collector waiting
	if err := work(strings.Fields(job)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func work(job []string) error {
	role, args := job[0], job[1:]
	switch role {
	case roleStep:
		return workStep(args[0], syspipe.Kind(args[1]))
	case roleWriter:
		return workWriter(args[0], args[1], args[2])
	case roleHold:
		return workHold(args[0])
	case roleEcho:
		return workEcho(args[0], args[1], args[2])
	case roleStdio:
		return workStdio()
	}
	return fmt.Errorf("probe: unknown role %q", role)
}

func workStep(name string, kind syspipe.Kind) error {
	e, ok := experimentNamed(name)
	if !ok {
		return fmt.Errorf("probe: unknown step %q", name)
	}
	out := json.NewEncoder(os.Stdout)
	return e.run(&trial{kind: kind, experiment: e, emit: func(f Finding) error { return out.Encode(f) }})
}

func workWriter(ref, letter, size string) error {
	w, err := syspipe.Inherited(ref)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	message := []byte(strings.Repeat(letter, n))
	runtime.LockOSThread()
	for {
		if _, err := w.Write(message); errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func workHold(ref string) error {
	e, err := syspipe.Inherited(ref)
	if err != nil {
		return err
	}
	defer e.Close()
	fmt.Println("holding")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func workEcho(in, out, block string) error {
	r, err := syspipe.Inherited(in)
	if err != nil {
		return err
	}
	w, err := syspipe.Inherited(out)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(block)
	if err != nil {
		return err
	}
	for p := make([]byte, n); ; {
		k, err := io.ReadFull(r, p)
		if _, err := w.Write(p[:k]); err != nil {
			return err
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// stdioReport is what a child says of its standard streams.
type stdioReport struct {
	Streams [3]syspipe.Stream
	Errors  [3]string
}

func workStdio() error {
	var report stdioReport
	for i, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		s, err := syspipe.Describe(f)
		report.Streams[i] = s
		if err != nil {
			report.Errors[i] = err.Error()
		}
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}
