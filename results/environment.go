package results

import "time"

// Schema is the version of the results file that this package writes. Readers
// take this and every older one.
const Schema = 1

// An Environment opens each run in a results file: where and with what the
// records of that run were measured. What could not be found out is empty.
type Environment struct {
	Kind    string    `json:"kind"` // "environment"
	Schema  int       `json:"schema"`
	Run     string    `json:"run"`     // unique
	Machine string    `json:"machine"` // hash of os, kernel, arch, cpu, cpus, topology, page size and virtualisation
	Time    time.Time `json:"time"`

	OS             string  `json:"os"`
	Kernel         string  `json:"kernel"`
	Arch           string  `json:"arch"`
	CPU            string  `json:"cpu"`
	CPUs           int     `json:"cpus"` // those this process may use
	Topology       string  `json:"topology,omitempty"`
	PageSize       int     `json:"page_size"`
	Virtualisation string  `json:"virtualisation,omitempty"`
	Governor       string  `json:"governor,omitempty"`
	Go             string  `json:"go"`
	Version        string  `json:"version"` // of pipebench
	Hostname       string  `json:"hostname"`
	Load1          float64 `json:"load1"`
	ClockNS        float64 `json:"clock_ns,omitempty"`      // what one reading of the clock costs
	ClockStepNS    int64   `json:"clock_step_ns,omitempty"` // the smallest step it was seen to make
	PipeMaxSize    int     `json:"pipe_max_size,omitempty"` // bytes an unprivileged pipe may be grown to
	Seed           int64   `json:"seed"`
	Command        string  `json:"command,omitempty"` // the command line that reproduces the run
}

func (Environment) kind() string { return KindEnvironment }
