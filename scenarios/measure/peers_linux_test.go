package measure

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results/stat"
)

var pairs = flag.Int("pairs", 15, "how often each comparison with another benchmark is repeated")

func TestMain(m *testing.M) {
	bench.Worker()
	os.Exit(m.Run())
}

// A peer is another benchmark of pipes, as it is installed on this machine.
type peer struct {
	shape   string // that does the same work
	command []string
	figure  *regexp.Regexp // the peer's own, in what it prints
}

// trips is how many round trips, or messages, make a sample that is as long as the peer's own.
const trips = 50_000

// peers are the benchmarks that most figures of pipes come from. Two are of lmbench, which few
// distributions package: build it, and put bw_pipe and lat_pipe on the PATH. Perf is in linux-perf,
// or linux-tools.
var peers = []peer{
	{"lmbench-bw", []string{"bw_pipe", "-W", "1", "-N", "3"}, regexp.MustCompile(`Pipe bandwidth: ([0-9.]+) MB/sec`)},
	{"lmbench-lat", []string{"lat_pipe", "-W", "1", "-N", "3"}, regexp.MustCompile(`Pipe latency: ([0-9.]+) microseconds`)},
	{"perf-sched-pipe", []string{"perf", "bench", "sched", "pipe", "-l", strconv.Itoa(trips)}, regexp.MustCompile(`([0-9.]+) usecs/op`)},
}

// BenchmarkAgainstPeers runs each peer that is installed and its shape here, in turn, on one CPU,
// and reports the median of the ratios of the pairs, this program's figure over the peer's, with
// its 95 % interval. It does the same amount of work whatever b.N is.
func BenchmarkAgainstPeers(b *testing.B) {
	topology, err := placement.Read()
	if err != nil {
		b.Fatal(err)
	}
	cpus, err := topology.Choose("same")
	if err != nil {
		b.Skip(err)
	}
	for _, p := range peers {
		b.Run(p.shape, func(b *testing.B) {
			if _, err := exec.LookPath(p.command[0]); err != nil {
				b.Skip(err)
			}
			var ratios []float64
			for range *pairs {
				ratios = append(ratios, p.ratio(b, topology, cpus.Writer))
			}
			e := stat.Median(ratios)
			b.ReportMetric(0, "ns/op") // the time of the comparison says nothing
			b.ReportMetric(e.Median, "ours/theirs")
			if e.Interval != nil {
				b.ReportMetric(e.Interval.Lo, "low")
				b.ReportMetric(e.Interval.Hi, "high")
			}
		})
	}
}

// ratio runs one pair, the peer first.
func (p peer) ratio(b *testing.B, t placement.Topology, cpu int) float64 {
	b.Helper()
	theirs, err := p.run(b.Context(), cpu)
	if err != nil {
		b.Fatal(err)
	}
	shape, err := ParseShape(p.shape)
	if err != nil {
		b.Fatal(err)
	}
	sweep := DefaultSweep(t)
	shape.Fit(&sweep)
	sweep.Placements = []string{"same"}
	cells, err := sweep.Cells()
	if err != nil {
		b.Fatal(err)
	}
	s, err := bench.Plan{Seed: 1, Duration: time.Second}.Measure(b.Context(), cells[0], trips)
	if err != nil {
		b.Fatal(err)
	}
	m, err := stat.MetricByName(shape.metric)
	if err != nil {
		b.Fatal(err)
	}
	ours, ok := m.Value(s)
	if !ok {
		b.Fatalf("%s has no %s", bench.Label(cells[0]), shape.metric)
	}
	return ours * shape.scale / theirs
}

// run runs the peer with all of it on one CPU, and returns its figure in its unit.
func (p peer) run(ctx context.Context, cpu int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // when one of its ends dies, the other waits for ever
	defer cancel()
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that a deadline ends both of its ends
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := outputOn(cmd, cpu)
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", strings.Join(p.command, " "), err, out)
	}
	m := p.figure.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s: no figure in %q", strings.Join(p.command, " "), out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

// outputOn starts a program from a thread that is bound to the CPU, which the program inherits. The
// thread ends with its goroutine, so that nothing else of this process is bound.
func outputOn(cmd *exec.Cmd, cpu int) (out []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = placement.PinThread(cpu); err == nil {
			out, err = cmd.CombinedOutput()
		}
	}()
	<-done
	return out, err
}

// Each peer does the work of a shape, in their order.
func TestEachShapeHasItsPeer(t *testing.T) {
	for i, s := range Shapes() {
		if peers[i].shape != s.Name {
			t.Errorf("%s has the peer %s", s.Name, peers[i].shape)
		}
	}
}

// A peer's figure is read from what it prints, wherever it prints it.
func TestAPeersFigureIsRead(t *testing.T) {
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
			p := peers[2]
			for _, known := range peers {
				if known.shape == name {
					p = known
				}
			}
			script := filepath.Join(t.TempDir(), "peer")
			if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\n%s\n", c.prints), 0o700); err != nil {
				t.Fatal(err)
			}
			p.command = []string{script}
			got, err := p.run(t.Context(), placement.Any)
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, %v; want %v, %q", got, err, c.want, c.err)
			}
		})
	}
}
