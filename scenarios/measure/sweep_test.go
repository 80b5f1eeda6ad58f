package measure

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results"
)

var twoCores = placement.Topology{CPUs: []placement.CPU{
	{ID: 0, Core: "0", Cache: "0-1"}, {ID: 1, Core: "1", Cache: "0-1"},
}}

func TestParseSizes(t *testing.T) {
	for _, c := range []struct {
		name, list string
		want       []int
		err        string
	}{
		{"one", "64", []int{64}, ""},
		{"letters are powers of 1024", "4k,4K,4KiB,1MiB",
			[]int{4096, 4096, 4096, 1 << 20}, ""},
		{"a range doubles", "4KiB..32KiB", []int{4096, 8192, 16384, 32768}, ""},
		{"a range that misses its end", "3..20", []int{3, 6, 12, 20}, ""},
		{"a range of one", "7..7", []int{7}, ""},
		{"a list of both", "256,1k..2k", []int{256, 1024, 2048}, ""},
		{"none", "", nil, "size"},
		{"no number", "big", nil, `"big"`},
		{"backwards", "2k..1k", nil, "2k..1k"},
		{"a range from nothing", "0..4", nil, "0..4"},
		{"negative", "-1", nil, `"-1"`},
		{"too large", "2GiB", nil, "1 GiB"},
		{"digits in groups", "65,536", nil, "is 65,536 one size? Write 65536; "},
		{"sizes with a unit", "65B,536B", []int{65, 536}, ""},
		{"small sizes", "64,256,4096", []int{64, 256, 4096}, ""},
	} {
		got, err := ParseSizes(c.list)
		failed := ""
		if err != nil {
			failed = err.Error()
		}
		asExpected := (failed == "") == (c.err == "") && strings.Contains(failed, c.err)
		if !slices.Equal(got, c.want) || !asExpected {
			t.Errorf("%s: got %v, %v; want %v, %q", c.name, got, err, c.want, c.err)
		}
	}
}

func TestCapacitiesHaveNames(t *testing.T) {
	got, err := ParseCapacities("default,64KiB,16KiB")
	if want := []int{0, 65536, 16384}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestTheDefaultSweepIsWhatTheHelpSays(t *testing.T) {
	cells, err := Sweep{}.Cells(twoCores)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range cells {
		count[c.Pattern+" "+c.Placement]++
	}
	want := map[string]int{
		"stream same": 20, "stream apart": 20, "roundtrip same": 10, "roundtrip apart": 10,
	}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
	if first := cells[0]; first.Framing != "raw" || first.Size != 256 {
		t.Errorf("the first cell is %+v", first)
	}
}

func TestPlacesAreThoseTheMachineHas(t *testing.T) {
	siblings := placement.Topology{
		CPUs: []placement.CPU{{ID: 0, Core: "0-1"}, {ID: 1, Core: "0-1"}},
	}
	for _, c := range []struct {
		name string
		on   placement.Topology
		want []string
	}{
		{"two cores", twoCores, []string{"same", "apart"}},
		{"two threads of a core", siblings, []string{"same", "sibling"}},
		{"one CPU", placement.Topology{CPUs: twoCores.CPUs[:1]}, []string{"same"}},
		{"a system that lets nobody choose", placement.Topology{}, []string{"free"}},
	} {
		got := (Sweep{}).withDefaults(c.on).Placements
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMacOSHasTwoCapacities(t *testing.T) {
	got, err := ParseCapacities("macos,1MiB")
	want := []int{16 << 10, 64 << 10, 1 << 20}
	if runtime.GOOS == "darwin" {
		want = []int{0, 1 << 20}
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestChunkSizesFillSpecsWithoutOne(t *testing.T) {
	s := Sweep{}
	s.Framings, s.Chunks = []string{"ndjson", "chunked", "chunked:4KiB"}, []int{4096, 61440}
	got, err := s.framings()
	want := []string{"ndjson", "chunked:4096", "chunked:61440"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}

func TestAllFramingsAreThoseThatCanBeParsed(t *testing.T) {
	s := Sweep{}
	s.Framings, s.Chunks = []string{"all"}, []int{4096}
	got, err := s.framings()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"raw", "ndjson-bytewise", "ndjson-rescan", "chunked:4096",
		"adaptive:4096", "chunked+zstd:4096", "length-prefix"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %s among %v", want, got)
		}
	}
}

func TestChunkSizesThatNoFramingUsesAreAnError(t *testing.T) {
	s := Sweep{}
	s.Chunks = []int{4096}
	for _, framings := range []string{"ndjson", "raw,chunked:8KiB"} {
		s.Framings = strings.Split(framings, ",")
		if _, err := s.Cells(twoCores); err == nil || !strings.Contains(err.Error(), framings[:3]) {
			t.Errorf("%s: %v", framings, err)
		}
	}
}

func TestARecordingHasItsOwnSizes(t *testing.T) {
	s := Sweep{}
	s.Recording = payload.NewRecording([][]byte{[]byte("{}")})
	cells, err := s.Cells(twoCores)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		want := results.Cell{Size: 0, Payload: "recorded", Messages: s.Recording.Hash}
		got := results.Cell{Size: c.Size, Payload: c.Payload, Messages: c.Messages}
		if got != want {
			t.Errorf("got %+v", c)
		}
	}
}

func TestAnUnknownFramingNamesTheKnown(t *testing.T) {
	s := Sweep{}
	s.Framings = []string{"nope"}
	if _, err := s.Cells(twoCores); err == nil || !strings.Contains(err.Error(), "content-length") {
		t.Errorf("got %v", err)
	}
}

// Raw stands beside each cell whose speed can be compared, once, with all else the same.
func TestRawIsMeasuredBesideAFraming(t *testing.T) {
	ndjson := results.UsualCell("ndjson", "stream", "same", 4000)
	lengths := results.UsualCell("content-length", "stream", "same", 4000)
	raw := results.UsualCell(results.FramingRaw, "stream", "same", 4000)
	paced := ndjson
	paced.Rate = 10
	got := BesideRaw([]results.Cell{ndjson, lengths, paced})
	want := []results.Cell{raw, ndjson, lengths, paced}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := BesideRaw(want); !slices.Equal(got, want) {
		t.Errorf("raw that was asked for: got %v, want %v", got, want)
	}
}
