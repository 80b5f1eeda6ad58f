package bench

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// registered are framings that are not pipebench's own, by their spec.
var registered sync.Map

// Register makes a framing of the caller's known to the engine, under its String, in this process
// and in the workers it starts. Call it before [Worker], in main or TestMain. A name that framers
// knows is that one's.
func Register(f framers.Framing) { registered.Store(f.String(), f) }

// parseFraming finds a framing by its spec, a registered one too.
func parseFraming(spec string) (framers.Framing, error) {
	f, err := framers.Parse(spec)
	if err == nil {
		return f, nil
	}
	if own, ok := registered.Load(spec); ok {
		return own.(framers.Framing), nil
	}
	return nil, err
}

// The message sizes of [Framing] where none are given, in bytes.
var (
	streamSizes    = []int{256, 4 << 10, 64 << 10, 1 << 20}
	roundtripSizes = []int{256, 64 << 10}
)

// Framing benchmarks a framing through real pipes between two processes, beside raw: streams of
// messages from 256 B to 1 MiB, and round trips of 256 B and 64 KiB, with each placement of same
// and apart that the machine has. An SDK's authors benchmark their own, in their own repository:
//
//	func TestMain(m *testing.M) {
//		bench.Register(mine{})
//		bench.Worker()
//		os.Exit(m.Run())
//	}
//
//	func BenchmarkMine(b *testing.B) { bench.Framing(b, mine{}) }
//
// What is reported is the engine's time, in units that benchstat reads with -col /framing. Sizes
// other than the usual may be given, in bytes: each is streamed and sent there and back.
func Framing(b *testing.B, f framers.Framing, sizes ...int) {
	b.Helper()
	if err := checkRegistered(f); err != nil {
		b.Fatal(err)
	}
	Cells(b, framingCells(f.String(), sizes)...)
}

// checkRegistered returns why a worker would not find f by its name, or find another one there,
// whose figures would pass for those of f.
func checkRegistered(f framers.Framing) error {
	known, err := parseFraming(f.String())
	if err != nil {
		return fmt.Errorf("%w; for one of your own, call bench.Register before bench.Worker, in TestMain", err)
	}
	if reflect.TypeOf(known) != reflect.TypeOf(f) {
		return fmt.Errorf("framing %q is %T, not %T: give yours a name of its own", f.String(), known, f)
	}
	return nil
}

// framingCells sets a framing beside raw, size by size.
func framingCells(spec string, sizes []int) []results.Cell {
	streamed, returned := sizes, sizes
	if len(sizes) == 0 {
		streamed, returned = streamSizes, roundtripSizes
	}
	var cells []results.Cell
	add := func(pattern string, size int) {
		for _, framing := range []string{"raw", spec} {
			cells = append(cells, Placed(results.Cell{
				Framing: framing, Size: size, Pipe: "anonymous", IO: "blocking",
				Pattern: pattern, Payload: "json",
			})...)
		}
	}
	for _, size := range streamed {
		if add("stream", size); slices.Contains(returned, size) {
			add("roundtrip", size)
		}
	}
	return cells
}

// Placed gives a cell each of the placements that are worth comparing on this machine, see
// [placement.Topology.Best].
func Placed(c results.Cell) []results.Cell {
	topology, _ := placement.Read() // one that cannot be read offers free
	var cells []results.Cell
	for _, c.Placement = range topology.Best() {
		cells = append(cells, c)
	}
	return cells
}

// Cells runs each cell as a benchmark of its own. The b.N messages pass in slices of some
// milliseconds, by workers that are started once, and the figures are those of the median slice:
// neither the start of the workers nor what disturbs some slices is in them.
func Cells(b *testing.B, cells ...results.Cell) {
	b.Helper()
	for _, c := range cells {
		pattern, name, _ := strings.Cut(stat.BenchName(c), "/")
		if !strings.Contains(b.Name(), pattern) {
			name = pattern + "/" + name
		}
		var f *fork
		ctx := b.Context() // which lasts for all the runs of a benchmark
		b.Run(name, func(b *testing.B) {
			var err error
			p := Plan{Seed: 1, Duration: SliceTime}
			if f == nil {
				f, err = p.single(ctx, p.jobOf(c))
			}
			if err != nil {
				b.Fatal(err)
			}
			s, err := p.measureSlices(f, c, int64(b.N))
			if err != nil {
				b.Fatal(err)
			}
			for _, figure := range stat.BenchValues(c, s) {
				b.ReportMetric(figure.Value, figure.Unit)
			}
		})
		if f != nil {
			f.close()
		}
	}
}
