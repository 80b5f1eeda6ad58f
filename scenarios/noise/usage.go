package noise

import "time"

// A usage is what all CPUs together did, in seconds of one CPU.
type usage struct {
	known        bool
	busy         float64 // ran something
	stolen       float64 // were taken by the hypervisor while something wanted to run
	throttled    float64 // stood still by a quota while something wanted to run
	elapsed      float64 // of the clock
	cpus         int
	at           time.Time
	throttleSeen bool // the system tells of throttling
}

// add counts what was done between two readings, if both could be had.
func (u *usage) add(from, to usage) {
	if !from.known || !to.known {
		return
	}
	u.known = true
	u.busy += to.busy - from.busy
	u.stolen += to.stolen - from.stolen
	u.throttled += to.throttled - from.throttled
	u.throttleSeen = to.throttleSeen
	u.elapsed += to.at.Sub(from.at).Seconds()
	u.cpus = to.cpus
}

// readUsage is what the CPUs did since the machine was started, unknown where
// the system does not tell.
func readUsage() usage {
	u := systemUsage()
	u.at = time.Now()
	return u
}
