// Package machine describes the machine on which a run takes place, and finds what disturbs
// measurements there.
//
//	env := machine.Describe("20261121-1", 1) // name of the run, seed
//	faults := machine.Faults(env)
//
// Describe may be called concurrently.
package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe"
)

// Describe returns the environment of the run that is about to start. Fields that the system does
// not tell stay empty. Describe takes some milliseconds, because it measures the clock.
func Describe(run string, seed int64) results.Environment {
	env := results.Environment{
		Kind:     results.KindEnvironment,
		Schema:   results.Schema,
		Run:      run,
		Time:     time.Now().UTC(),
		OS:       runtime.GOOS,
		Arch:     runtime.GOARCH,
		CPUs:     runtime.NumCPU(),
		PageSize: os.Getpagesize(),
		Go:       runtime.Version(),
		Version:  Version(),
		Seed:     seed,
	}
	env.Hostname, _ = os.Hostname() // empty where unknown
	describe(&env)
	if topology, err := placement.Read(); err == nil && len(topology.CPUs) > 0 {
		env.Topology = topology.String()
	}
	env.ClockNS, env.ClockStepNS = clock()
	env.Machine = identify(env)
	return env
}

// Version returns the version of this build of pipebench if it is a release, else "devel".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// identify returns a short hash of what decides how fast a machine's pipes are. The hash is the
// same for all runs on the machine.
func identify(e results.Environment) string {
	hash := sha256.Sum256([]byte(strings.Join([]string{
		e.OS, e.Kernel, e.Arch, e.CPU, fmt.Sprint(e.CPUs), e.Topology, fmt.Sprint(e.PageSize),
		e.Virtualisation + e.Imitation, // joined, as earlier versions had one field for both
	}, "\x00")))
	return hex.EncodeToString(hash[:6])
}

// clock measures how long a reading of the monotonic clock takes, and the clock's smallest step,
// both in nanoseconds.
func clock() (cost float64, step int64) {
	const batches = 50
	const readings = 400 // in a batch
	const unknown = time.Duration(math.MaxInt64)
	fastest, smallest := unknown, unknown
	for batch := 0; batch < batches || smallest == unknown; batch++ { // until a step was seen
		began := syspipe.Now()
		last := began
		for range readings {
			now := syspipe.Now()
			if d := now - last; d > 0 {
				smallest = min(smallest, d)
			}
			last = now
		}
		// in slower batches, something else had the CPU for a while
		fastest = min(fastest, last-began)
	}
	return float64(fastest) / readings, int64(smallest)
}
