package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// workerEnv marks a process as a worker. Its value is the version of the talk
// between controller and worker, so that a stale binary is told from a broken
// one.
const (
	workerEnv     = "PIPEBENCH_WORKER"
	workerVersion = "1"
)

// workerProcs is the GOMAXPROCS of a worker: a thread in a raw system call
// keeps its share of the scheduler, two ends may be in one each, and the rest
// of the runtime needs to get on with its work meanwhile.
const workerProcs = 4

// workerMemory is how much a worker of one part may hold, in bytes, before it
// collects garbage after all.
const workerMemory = 1 << 30

// errNotAWorker is returned where a program that did not call [Worker] was started
// as one and goes on to measure: it would start itself without end.
var errNotAWorker = errors.New("this process was started as a worker and is none: call bench.Worker first in main and in TestMain")

// Worker does a worker's job and exits, if this process was started as one;
// else it returns at once. Call it first in main and in TestMain of every
// program that calls [Run]: the engine starts the program again for each
// sample, so that nothing else of it runs beside a measured end. Acts are the
// workloads that its workers know beside the engine's own.
func Worker(acts ...Workload) {
	version, ok := os.LookupEnv(workerEnv)
	if !ok {
		proc.Worker()
		return
	}
	if version != workerVersion {
		fmt.Fprintf(os.Stderr, "this worker speaks version %s of the protocol, its controller %s\n", workerVersion, version)
		os.Exit(1)
	}
	os.Unsetenv(workerEnv)
	if err := work(os.Stdin, os.Stdout, acts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// work plays the parts of the job on control and answers a report for each.
func work(control io.Reader, answers io.Writer, acts []Workload) error {
	line, err := bufio.NewReader(control).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	var j job
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	go exitWithParent(control)
	j.disableGC()
	reports := j.runEndpoints(acts)
	encoder := json.NewEncoder(answers)
	for range j.Endpoints {
		if err := encoder.Encode(<-reports); err != nil {
			return fmt.Errorf("report: %w", err)
		}
	}
	return nil
}

// exitWithParent ends the worker when its controller is gone, however that came
// about: the other end of control closes then.
func exitWithParent(control io.Reader) {
	io.Copy(io.Discard, control) // nothing more is ever sent, and an error is an end too
	os.Exit(1)
}

// disableGC turns the garbage collector off: it would run beside the
// clock, and it stops the world, which a thread in a raw system call does not
// let it. A worker of one part stops itself alone, so there a framing that
// allocates without end is caught by a limit, and the collections are counted.
func (j job) disableGC() {
	debug.SetGCPercent(-1)
	if len(j.Endpoints) == 1 {
		debug.SetMemoryLimit(workerMemory)
	}
}

// runEndpoints starts the job's parts at the same time, each on a goroutine of its own.
func (j job) runEndpoints(acts []Workload) <-chan report {
	reports := make(chan report, len(j.Endpoints))
	for _, p := range j.Endpoints {
		go func() { reports <- j.runEndpoint(p, acts) }()
	}
	return reports
}

// runEndpoint plays one part, from its place to its report.
func (j job) runEndpoint(p endpointConfig, acts []Workload) report {
	e, err := j.newEndpoint(p)
	if err == nil {
		err = e.runJob(acts)
		e.close()
	}
	if err != nil {
		return report{Role: p.Role, Error: err.Error(), PeerGone: errors.Is(err, errPeerGone)}
	}
	return e.report
}

// runJob does what the job asks of this end.
func (e *endpoint) runJob(acts []Workload) error {
	if e.Workload != "" {
		return e.runWorkload(acts)
	}
	return e.runPattern()
}

// pin binds the calling goroutine and its CPU as the part asks.
func (p endpointConfig) pin() error {
	runtime.LockOSThread()
	if p.Pin == pinThread {
		return placement.PinThread(p.CPU)
	}
	return placement.PinProcess(p.CPU)
}

// workerEnviron is the environment a worker is started with.
func workerEnviron() []string {
	return append(os.Environ(), workerEnv+"="+workerVersion, "GOMAXPROCS="+strconv.Itoa(workerProcs))
}
