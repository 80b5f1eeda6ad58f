package results

import (
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"
	"time"
)

// Schema is the version of the results file that this package writes. The package reads this
// version and every older one.
const Schema = 1

// An Environment opens each run in a results file: where and with what the records of that run were
// measured. Fields that could not be found out are empty.
type Environment struct {
	Kind   string `json:"kind"` // "environment"
	Schema int    `json:"schema"`
	Run    string `json:"run"` // unique
	// Machine is a hash of os, kernel, arch, cpu, cpus, topology, page size, virtualisation and
	// imitation.
	Machine string    `json:"machine"`
	Time    time.Time `json:"time"`

	OS             string   `json:"os"`
	Kernel         string   `json:"kernel"`
	Arch           string   `json:"arch"`
	CPU            string   `json:"cpu"`
	CPUs           int      `json:"cpus"` // those this process may use
	Topology       string   `json:"topology,omitempty"`
	PageSize       int      `json:"page_size"`
	Virtualisation string   `json:"virtualisation,omitempty"`
	Governor       string   `json:"governor,omitempty"`
	Go             string   `json:"go"`
	Version        string   `json:"version"` // of pipebench
	Hostname       string   `json:"hostname"`
	Load1          *float64 `json:"load1,omitempty"` // the load average of a minute
	// Imitation is what imitates the system or emulates the processor: "imitated by gVisor",
	// "emulated by QEMU". Then speed says nothing about the real system or processor.
	Imitation   string  `json:"imitation,omitempty"`
	ClockNS     float64 `json:"clock_ns,omitempty"`      // what one reading of the clock costs
	ClockStepNS int64   `json:"clock_step_ns,omitempty"` // the smallest step it was seen to make
	PipeMaxSize int     `json:"pipe_max_size,omitempty"` // largest pipe of an ordinary user, bytes
	Seed        int64   `json:"seed"`
	Command     string  `json:"command,omitempty"` // the command line that reproduces the run

	// Labels are names that the user gave the run, and facts from the system that started it: the
	// commit and branch in CI; the node, job and task of a scheduler.
	Labels map[string]string `json:"labels,omitempty"`
}

// containerID matches the host name that Docker and Podman give to each new container.
var containerID = regexp.MustCompile(`^[0-9a-f]{12}$`)

// Node tells apart machines that have the same hash: it is the hash, followed by the label "node"
// or else by the host name. The host name of a container is left out.
func (e Environment) Node() string {
	if node := e.Labels["node"]; node != "" {
		return e.Machine + " " + node
	}
	if containerID.MatchString(e.Hostname) {
		return e.Machine
	}
	return e.Machine + " " + e.Hostname
}

func (Environment) kind() string  { return KindEnvironment }
func (e Environment) run() string { return e.Run }

// lastRun is when this process last made a name for a run, in nanoseconds of Unix time.
var lastRun atomic.Int64

// NewRun makes the unique name of a run, which its environment line and all its records carry: a
// UUID of version 7 (RFC 9562), so names sort by the time at which they were made. Names from one
// process do even if its clock stands still for milliseconds. A library for UUIDs would import net,
// which each worker process would then have to initialise.
func NewRun() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[6:]); err != nil {
		return "", fmt.Errorf("name a run: %w", err)
	}
	const step = 245 // nanoseconds that names can tell apart: a millisecond has 4096 such steps
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

// FileSchema returns the JSON Schema (draft 2020-12) of a line of a results file, for readers in
// other languages. Every line that a [Writer] writes is valid.
func FileSchema() []byte { return slices.Clone(schemaText) }
