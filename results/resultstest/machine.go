package resultstest

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A Machine is one whose truth is known. With only a name, it is as fast as others.
type Machine struct {
	Name        string
	Kernel, CPU string
	Labels      map[string]string
	After       time.Duration              // of the run, since [Time]
	Slow        map[string]float64         // by framing: how many times slower; "" is everything
	SlowAt      func(results.Cell) float64 // likewise by cell
	Noise       float64                    // of a sample, as a logarithm; 0.01 by default
}

// machineFramings lists what a [Machine] measures, with the part of raw's speed that it keeps.
var machineFramings = []struct {
	name  string
	share float64
}{
	{"raw", 1},
	{"ndjson", 0.85},
	{"content-length", 0.93},
	{"length-prefix", 0.95},
	{"chunked:61440", 0.8},
}

// Run measures raw and four framings at two sizes on one CPU.
func (m Machine) Run() *results.Set {
	set := &results.Set{}
	e := Environment()
	e.Run = m.Name + m.After.String()
	e.Machine = m.Name
	e.Hostname = m.Name
	e.Time = Time.Add(m.After)
	e.CPU = m.CPU
	e.Labels = m.Labels
	if m.Kernel != "" {
		e.Kernel = m.Kernel
	}
	set.Add(e)
	noise := m.Noise
	if noise == 0 {
		noise = 0.01
	}
	rng := rand.New(rand.NewPCG(uint64(len(m.Name)), uint64(m.Name[len(m.Name)-1])))
	for _, size := range []int{4000, 65_000} {
		for _, framing := range machineFramings {
			c := results.UsualCell(framing.name, "stream", "same", size)
			ns := float64(size) / 6.5 / framing.share
			for _, subject := range []string{"", framing.name} {
				if factor := m.Slow[subject]; factor > 0 {
					ns *= factor
				}
			}
			if m.SlowAt != nil {
				ns *= m.SlowAt(c)
			}
			r := results.Record{Run: e.Run, Time: e.Time, Cell: c, Stopped: "samples"}
			for i := range 15 {
				s := Sample(int64(size), int64(size), ns*math.Exp(noise*(2*rng.Float64()-1)))
				s.Fork = 1 + i/3
				s.Round = 1 + i
				r.Samples = append(r.Samples, s)
			}
			set.Add(r)
		}
	}
	return set
}
