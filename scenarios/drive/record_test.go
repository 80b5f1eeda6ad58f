package drive

import (
	"testing"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/target"
	"github.com/pipebench/pipebench/syspipe"
)

func TestGrowthIsTheSameInARecord(t *testing.T) {
	d := &Driver{protocol: &target.Protocol{Framing: framers.NDJSON()}}
	for _, took := range []func(size int64) int64{
		func(n int64) int64 { return n * n },
		func(n int64) int64 { return 10 * n },
	} {
		var swept []results.Target
		for n := int64(64 << 10); n <= 1<<20; n *= 2 {
			sample := results.Sample{ElapsedNS: 2 * took(n), Messages: 2, Capacity: 4096}
			swept = append(swept, results.Target{Size: n, Verdict: string(target.OK),
				Samples: []results.Sample{sample}})
		}
		g := stat.FitTargetGrowth(swept)
		r := d.growthRecord(*g)
		if recorded, ok := stat.RecordedGrowth(r); !ok || recorded.String() != g.String() {
			t.Errorf("the record says %q, the growth %q", recorded, g)
		}
		if fast := r.Verdict == string(target.Superlinear); fast != g.Fast() {
			t.Errorf("verdict %s of %v", r.Verdict, g)
		}
	}
}

func TestASizeIsSlowWhereEachOfItsRoundTripsIs(t *testing.T) {
	swept := func(size, shortest, median int64) *results.Target {
		s := results.Sample{
			Messages: 7, ElapsedNS: 7 * median,
			Latency: map[string]results.Latency{latencyRoundtrip: {Count: 7, MinNS: shortest}},
		}
		return &results.Target{
			Size: size, Verdict: string(target.OK), Samples: []results.Sample{s},
		}
	}
	before := swept(4<<10, 2e6, 3e6)
	held := swept(8<<10, 3e6, 90e6)
	if expectedTime(before, held) > 0 {
		t.Error("a size is called slow of which a busy machine held up some round trips")
	}
	slow := swept(8<<10, 70e6, 90e6)
	if expected := expectedTime(before, slow); expected != 6e6 {
		t.Errorf("expected %v", expected)
	}
}

// A command in advice measures what was measured: the pipe and its capacity belong to that.
func TestAdviceRepeatsTheOptions(t *testing.T) {
	o := Options{
		Command: []string{"node", "server.mjs"}, Protocol: "mcp", Tool: "note",
		Args: `{"lines": 3}`, Pipe: syspipe.SocketPair, Capacity: 4096, Lenient: true,
	}
	const want = `pipebench drive --find-limit --size 1MiB --protocol mcp --tool note ` +
		`--tool-args '{"lines":3}' --pipe socketpair --capacity 4KiB --lenient -- node server.mjs`
	o, err := o.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if got := o.commandLine(1<<20, "--find-limit"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
