package stat

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// A mood is a machine that does what shared machines were seen to do: its speed wanders, and now
// and then somebody else takes a part of it for a while; what a cell has of its own in a run has
// heavy tails.
type mood struct {
	rng     *rand.Rand
	wander  float64 // standard deviation of the machine's speed, as a logarithm; it forgets within a minute
	tails   float64 // scale of what a run adds to a cell: Student's t with three degrees
	visits  float64 // a second, that somebody else comes by
	visit   float64 // what that costs, as a logarithm
	level   float64
	visited float64 // seconds that the visitor stays on
	at      time.Time
}

func (m *mood) pass(seconds float64) {
	m.at = m.at.Add(time.Duration(seconds * float64(time.Second)))
	memory := math.Exp(-seconds / 60)
	m.level = m.level*memory + m.wander*math.Sqrt(1-memory*memory)*m.rng.NormFloat64()
	if m.visited -= seconds; m.visited <= 0 && m.rng.Float64() < 1-math.Exp(-m.visits*seconds) {
		m.visited = 20 * m.rng.ExpFloat64()
	}
}

// student draws from Student's distribution with three degrees of freedom.
func (m *mood) student() float64 {
	var square float64
	for range 3 {
		x := m.rng.NormFloat64()
		square += x * x
	}
	return m.rng.NormFloat64() / math.Sqrt(square/3)
}

// run measures so many cells within ten seconds, each slower by a factor.
func (m *mood) run(cells int, factor float64) *results.Set {
	s := &results.Set{}
	env := resultstest.Environment()
	env.Time = m.at
	s.Add(env)
	m.pass(10)
	level := m.level
	if m.visited > 0 {
		level += m.visit
	}
	for i := range cells {
		own := level + m.tails*m.student()
		var ns []float64
		for range 7 {
			ns = append(ns, 1e6*factor*math.Exp(own+0.003*m.rng.NormFloat64()))
		}
		r := resultstest.Record(resultstest.Cell("ndjson", 4096+i), int64(4097+i), ns...)
		r.Time = m.at
		s.Add(r)
	}
	return s
}

// watch is the noise of eight runs in two minutes.
func (m *mood) watch(cells int) []Noise {
	var runs []*results.Set
	for range 8 {
		runs = append(runs, m.run(cells, 1))
		m.pass(6)
	}
	return noiseBetween(runs)
}

// Files of one build, measured one after the other once the machine was watched, are all but
// never called different, however the machine behaves; and one that takes half as long again is,
// where it behaves.
func TestNoiseKeepsCompareFromFalseVerdicts(t *testing.T) {
	const machines, pairs, cells = 10, 20, 6
	for _, tt := range []struct {
		name       string
		m          mood
		most       float64 // share of pairs with a false verdict
		found      float64 // share of pairs in which a change is found in most cells
		slowerThan float64
	}{
		{"a quiet machine", mood{wander: 0.005, tails: 0.003}, 0.01, 0.9, 1.5},
		{"one that wanders", mood{wander: 0.03, tails: 0.01}, 0.01, 0, 2},
		{"heavy tails", mood{wander: 0.005, tails: 0.03}, 0.01, 0, 2},
		{"a visitor every five minutes", mood{wander: 0.005, tails: 0.005, visits: 1. / 300, visit: 0.2}, 0.02, 0, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			falsely, found := 0, 0
			for seed := range uint64(machines) {
				m := tt.m
				m.rng, m.at = rand.New(rand.NewPCG(seed, 7)), resultstest.Time
				m.pass(600)
				noise := m.watch(cells)
				for range pairs {
					a, b, slow := m.run(cells, 1), m.run(cells, 1), m.run(cells, tt.slowerThan)
					if established(a, b, noise) > 0 {
						falsely++
					}
					if established(b, slow, noise) > cells/2 {
						found++
					}
				}
			}
			t.Logf("of %d pairs: %d false, %d of those with a change of %v found", machines*pairs, falsely, found, tt.slowerThan)
			if share := float64(falsely) / (machines * pairs); share > tt.most {
				t.Errorf("a false verdict in %.3f of the pairs, want %.3f at most", share, tt.most)
			}
			if share := float64(found) / (machines * pairs); share < tt.found {
				t.Errorf("found in %.3f of the pairs, want %.3f at least", share, tt.found)
			}
		})
	}
}

// established counts the times that a comparison says have changed.
func established(before, after *results.Set, noise []Noise) int {
	n := 0
	for _, c := range Compare(DatasetOf("old", before), DatasetOf("new", after), CompareOptions{Noise: noise, Metrics: []string{"goodput"}}).Changes {
		if c.Established() {
			n++
		}
	}
	return n
}

// noiseAround is the noise of so many runs of a cell's goodput, moving by ± share.
func noiseAround(c results.Cell, share float64, runs int) Noise {
	n := Noise{Machine: "m1", Cell: c, Metric: "goodput"}
	for i := range runs {
		n.Values = append(n.Values, 1e9*(1+share*(2*float64(i)/float64(runs-1)-1)))
	}
	return n
}
