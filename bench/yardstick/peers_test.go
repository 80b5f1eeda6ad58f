package yardstick

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

// BenchmarkAgainstPeers runs each peer that is installed and its shape here, in
// turn, on one CPU, and reports the median of the ratios of the pairs, this
// program's figure over the peer's, with its 95 % interval. It does the same
// amount of work whatever b.N is.
func BenchmarkAgainstPeers(b *testing.B) {
	topology, err := placement.Read()
	if err != nil {
		b.Fatal(err)
	}
	cpus, err := topology.Choose("same")
	if err != nil {
		b.Skip(err)
	}
	for _, p := range Peers() {
		b.Run(p.Name, func(b *testing.B) {
			if err := p.Installed(); err != nil {
				b.Skip(err)
			}
			var ratios []float64
			for range *pairs {
				ratios = append(ratios, p.ratio(b, cpus.Writer))
			}
			report(b, "ours/theirs", ratios)
		})
	}
}

// ratio is that of one pair, the peer first.
func (p Peer) ratio(b *testing.B, cpu int) float64 {
	b.Helper()
	theirs, err := p.Run(b.Context(), cpu)
	if err != nil {
		b.Fatal(err)
	}
	c := p.Cell
	c.Placement = "same"
	s, err := bench.Plan{Seed: 1, Duration: time.Second}.Measure(b.Context(), c, Trips)
	if err != nil {
		b.Fatal(err)
	}
	m, err := results.MetricByName(p.Metric)
	if err != nil {
		b.Fatal(err)
	}
	ours, ok := m.Value(s)
	if !ok {
		b.Fatalf("%s has no %s", bench.Label(c), p.Metric)
	}
	return ours * p.Scale / theirs
}

// A peer's figure is read from what it prints, wherever it prints it.
func TestAPeersFigureIsRead(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("stands in for the peers with a shell, on a CPU of its own")
	}
	for name, c := range map[string]struct {
		prints string
		want   float64
		err    string
	}{
		"lmbench-bw":            {"echo Pipe bandwidth: 9671.85 MB/sec >&2", 9671.85, ""},
		"lmbench-lat":           {"echo Pipe latency: 1.7782 microseconds >&2", 1.7782, ""},
		"perf-sched-pipe":       {"echo; echo '       1.875260 usecs/op'; echo 533258 ops/sec", 1.87526, ""},
		"one that fails":        {"echo out of pipes >&2; exit 3", 0, "out of pipes"},
		"one that says nothing": {"true", 0, "no figure"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Peers()[2]
			for _, known := range Peers() {
				if known.Name == name {
					p = known
				}
			}
			script := filepath.Join(t.TempDir(), "peer")
			if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s\n", c.prints), 0o700); err != nil {
				t.Fatal(err)
			}
			p.Command = []string{script}
			got, err := p.Run(t.Context(), placement.Any)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, %v; want %v, %q", got, err, c.want, c.err)
			}
		})
	}
	p := Peer{Command: []string{"no-such-benchmark"}}
	if p.Installed() == nil {
		t.Error("what is not there is installed")
	}
}
