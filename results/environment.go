package results

import (
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Schema is the version of the results file that this package writes.
const Schema = 1

// An Environment describes the machine and the program of a run. It is the run's first line in the
// file. A field is empty if its value is not known.
type Environment struct {
	Kind   string `json:"kind"` // "environment"
	Schema int    `json:"schema"`
	Run    string `json:"run"` // the run's unique name, see [NewRun]
	// Machine is a hash of os, kernel, arch, cpu, cpus, topology, page size, virtualisation and
	// imitation.
	Machine string    `json:"machine"`
	Time    time.Time `json:"time"`

	OS             string   `json:"os"`
	Kernel         string   `json:"kernel"`
	Arch           string   `json:"arch"`
	CPU            string   `json:"cpu"`
	CPUs           int      `json:"cpus"` // number that this process may use
	Topology       string   `json:"topology,omitempty"`
	PageSize       int      `json:"page_size"`
	Virtualisation string   `json:"virtualisation,omitempty"`
	Governor       string   `json:"governor,omitempty"`
	Go             string   `json:"go"`
	Version        string   `json:"version"` // of pipebench
	Hostname       string   `json:"hostname"`
	Load1          *float64 `json:"load1,omitempty"` // load average over the last minute
	// Imitation says what imitates the system or the processor, such as "imitated by gVisor" or
	// "emulated by QEMU". Measured speeds then say nothing about real hardware.
	Imitation   string  `json:"imitation,omitempty"`
	ClockNS     float64 `json:"clock_ns,omitempty"`      // time to read the clock once
	ClockStepNS int64   `json:"clock_step_ns,omitempty"` // smallest step seen of the clock
	PipeMaxSize int     `json:"pipe_max_size,omitempty"` // most bytes in an ordinary user's pipe
	Seed        int64   `json:"seed"`
	Command     string  `json:"command,omitempty"` // the command line that reproduces the run
	PID         int     `json:"pid,omitempty"`     // of the process that writes a recording

	// Labels are names from the user and from the system that started the run, such as commit,
	// branch, node and job.
	Labels map[string]string `json:"labels,omitempty"`
}

// containerID matches the host name that Docker and Podman give to each new container.
var containerID = regexp.MustCompile(`^[0-9a-f]{12}$`)

// Node returns a name that tells machines apart: the hash, the kernel, as not every program that
// writes such files has it in its hashes, and the label "node" or the host name. It leaves out the
// host name of a container, because each new container has another one.
func (e Environment) Node() string {
	name := e.Labels["node"]
	if name == "" && !containerID.MatchString(e.Hostname) {
		name = e.Hostname
	}
	return e.Machine + " " + e.Kernel + " " + name
}

// System names the operating system without the patch level, in which most machines differ: "linux
// 6.1".
func (e Environment) System() string {
	parts := strings.SplitN(e.Kernel, ".", 3)
	return strings.TrimSpace(e.OS + " " + strings.Join(parts[:min(len(parts), 2)], "."))
}

func (Environment) kind() string  { return KindEnvironment }
func (e Environment) run() string { return e.Run }

// lastRun is when this process last named a run, in nanoseconds of Unix time.
var lastRun atomic.Int64

// NewRun makes a unique name for a run, a UUID of version 7 (RFC 9562). Names sort by time, even
// those that one process makes while the clock stands still.
func NewRun() (string, error) {
	// The UUID is made by hand, because a library for UUIDs imports the package net, which slows
	// the start of processes.
	var id [16]byte
	if _, err := rand.Read(id[6:]); err != nil {
		return "", fmt.Errorf("name a run: %w", err)
	}
	const step = 245 // ns: the unit of time in a name, 1/4096 of a millisecond, rounded up
	var now int64
	for named := false; !named; {
		last := lastRun.Load()
		now = max(time.Now().UnixNano(), last+step)
		named = lastRun.CompareAndSwap(last, now)
	}
	const version, variant = 7, 0x80
	milliseconds := uint64(now / 1e6)
	fraction := uint64(now%1e6) * 4096 / 1e6 // of a millisecond
	binary.BigEndian.PutUint64(id[:8], milliseconds<<16|version<<12|fraction)
	id[8] = id[8]&0x3f | variant
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), nil
}

//go:embed schema.json
var schemaText []byte

// FileSchema returns the JSON Schema (draft 2020-12) of a line of a results file, for programs in
// other languages.
func FileSchema() []byte { return slices.Clone(schemaText) }
