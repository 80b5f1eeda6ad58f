package claims

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// onLinux are the verdicts that do not hang on the machine.
var onLinux = map[string]string{
	"000-pipe-buf":              Refuted,
	"000-write-blocks":          Holds,
	"000-write-eagain":          Depends,
	"000-write-epipe":           Refuted,
	"000-chunks-avoid-blocking": Refuted,
	"000-overhead-bytes":        Depends,
	"000-header-40":             Holds,
	"000-any-size":              Holds,
	"000-cleared":               Depends,
	"000-streaming":             Holds,
	"000-in-flight":             Holds,
	"000-missing-chunks":        Depends,
	"000-invalid-frames":        Depends,
	"000-unchunked-peers":       Depends,
	"000-protocol-agnostic":     Depends,
	"001-exact":                 Holds,
	"001-prevents-allocation":   Refuted,
	"001-10mb-text":             Depends,
	"001-50mb-excluded":         Holds,
	"001-http2-1000":            Noted,
	"002-crash-isolation":       Depends,
	"002-stderr-separate":       Depends,
	"003-exact-sizes":           Holds,
	"004-4096-robust":           Depends,
	"000-out-of-order":          Refuted,
	"001-grpc-4mb":              Noted,
	"001-rarely-1mb":            NotTestable,
	"004-10mb-limit":            Refuted,
	"004-skip-hangs":            Holds,
	"004-id-in-1k":              Depends,
	"004-stdout-reserved":       Holds,
}

func TestClaims(t *testing.T) {
	leaktest.Check(t)
	inTest(t, &streamSizes, []int{4000, 65_000})
	inTest(t, &tripSizes, []int{256})
	inTest(t, &costSamples, stat.LeastSamples)
	inTest(t, &costDuration, time.Millisecond)
	inTest(t, &growthFrom, 1<<10)
	inTest(t, &growthTo, 4<<10)
	inTest(t, &growthDuration, time.Millisecond)
	inTest(t, &anySize, 8<<20)
	inTest(t, &memorySizes, []int{4 << 20, 16 << 20, 32 << 20})
	inTest(t, &oversized, frameLimit+1<<20)
	inTest(t, &allocated, frameLimit+1<<20)
	inTest(t, &unendingBytes, 11<<20)
	done := 0
	o := Options{Run: "test", Seed: 1, Observe: func(p Progress) {
		if p.Record != nil {
			done = p.Done
		}
	}}
	judged := map[string]string{}
	file := results.NewWriter(discard{})
	err := Run(t.Context(), o, func(l results.Line) error {
		if r, ok := l.(results.Claim); ok {
			judged[r.ID] = r.Verdict
			checkRecord(t, r)
			checkMeasured(t, r)
		}
		return file.Write(l)
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := len(All()); done != all || len(judged) != all {
		t.Errorf("%d claims were judged and %d told of, of %d", len(judged), done, all)
	}
	if runtime.GOOS != "linux" {
		return
	}
	for id, want := range onLinux {
		if judged[id] != want {
			t.Errorf("%s: %s, want %s", id, judged[id], want)
		}
	}
}

// inTest gives a setting another value for the time of a test.
func inTest[T any](t *testing.T, setting *T, value T) {
	old := *setting
	*setting = value
	t.Cleanup(func() { *setting = old })
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// checkRecord holds a verdict against what its rule makes of the evidence as the file has it.
func checkRecord(t *testing.T, r results.Claim) {
	t.Helper()
	if r.Why == "" || r.Claim == "" {
		t.Errorf("%s: a record without its claim or its reason: %+v", r.ID, r)
	}
	c, err := Find(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Judge(r.Evidence)
	if err != nil || again.Verdict != r.Verdict || again.Figure != r.Figure {
		t.Errorf("%s: judged again from its evidence: %+v, %v; was %s, %s",
			r.ID, again, err, r.Verdict, r.Figure)
	}
}

// checkMeasured looks for figures of every case in the evidence of claims that rest on measurements
// of framings. What they say depends on the machine.
func checkMeasured(t *testing.T, r results.Claim) {
	t.Helper()
	var e struct {
		Ratios, Framed, Bare []Ratio
		Overhead             []WireOf
		Compared             int64
		Slope                stat.Growth
		PerByte              []faults.Sized `json:"per_byte"`
		ToOurs               []faults.Sized `json:"to_ours"`
		Options              []Option
	}
	switch r.ID {
	case "000-overhead-bytes", "000-overhead-time", "000-overhead-cpu", "000-latency-small",
		"000-throughput", "001-closing-safer", "002-bytewise", "004-4096-cheap":
		if err := r.Evidence.Decode(&e); err != nil {
			t.Errorf("%s: %v", r.ID, err)
		}
	}
	var ok bool
	switch places := len(e.Ratios); r.ID {
	case "000-overhead-bytes":
		ok = len(e.Overhead) == len(streamSizes)
	case "000-overhead-time", "000-overhead-cpu":
		ok = places >= len(streamSizes) && places%len(streamSizes) == 0
	case "000-throughput":
		ok = places >= 1 && e.Ratios[0].Size == 65_000
	case "000-latency-small":
		ok = len(e.Framed) == len(tripSizes) && len(e.Bare) == len(tripSizes)
	case "002-bytewise":
		ok = e.Compared > 0 && len(e.ToOurs) == 4 && r.Verdict != Refuted
	case "001-closing-safer":
		ok = optionsAsDocumented(e.Options)
	case "004-4096-cheap":
		ok = len(e.PerByte) == 4 && e.Slope.Points == 3
	default:
		ok = true
	}
	if !ok {
		t.Errorf("%s: figures are missing: %s", r.ID, r.Evidence)
	}
	for _, ratio := range slices.Concat(e.Ratios, e.Framed, e.Bare) {
		if ratio.Ratio.N == 0 || ratio.Ratio.Median <= 0 {
			t.Errorf("%s: no ratio: %+v", r.ID, ratio)
		}
	}
}

// optionsAsDocumented reports whether each option does what the document says of it. The limits of
// both ends are those of the document's example.
func optionsAsDocumented(all []Option) bool {
	if len(all) != 4 {
		return false
	}
	none, shut, say, ask := all[0], all[1], all[2], all[3]
	told := strings.Contains(say.ServerSees, "an error response") && say.ID == "2"
	want := Option{
		Option: optionAsk, ServerSees: "the limit of 8388608 bytes, before it sends", ID: "2",
		Next: true, Held: ask.Held, DetectNS: ask.DetectNS,
	}
	return none.Next && !shut.Next && shut.Read > frameLimit && told && !say.Next && ask == want
}

func TestClaimsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		described := c.Text != "" && c.Where != "" && c.Rule != ""
		if seen[c.ID] || !strings.HasPrefix(c.ID, c.Seed+"-") || !described {
			t.Errorf("claim %q: an ID used twice, or something missing: %+v", c.ID, c)
		}
		seen[c.ID] = true
	}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		name string
		only []string
		want int
		err  string
	}{
		{"all", nil, len(All()), ""},
		{"one", []string{"001-exact"}, 1, ""},
		{"a document", []string{"003"}, len(headerClaims), ""},
		{"one of the document too", []string{"003", "003-exact-sizes"}, len(headerClaims), ""},
		{"unknown in a document", []string{"003-nope"}, 0, "003-exact-sizes"},
		{"unknown", []string{"nope"}, 0, "IDs begin with"},
	} {
		got, err := Select(c.only)
		failed := ""
		if err != nil {
			failed = err.Error()
		}
		asExpected := (failed == "") == (c.err == "") && strings.Contains(failed, c.err)
		if len(got) != c.want || !asExpected {
			t.Errorf("%s: %d claims, %v", c.name, len(got), err)
		}
	}
}

func TestRunStopsWhenAVerdictCannotBeKept(t *testing.T) {
	full := errors.New("disk full")
	o := Options{Run: "test", Only: []string{"001-http2-1000"}}
	err := Run(t.Context(), o, func(results.Line) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// An id is found only in text that has come, at the top of the object alone.
func TestIDIn(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"number", `{"id":7,"params":{"te`, "7"},
		{"text", `{"jsonrpc":"2.0","id":"a b","params":`, `"a b"`},
		{"null", `{"id":null,`, "null"},
		{"behind what was cut", `{"params":{"text":"aaaa`, "null"},
		{"inside params", `{"params":{"id":3},"method":"m`, "null"},
		{"in the middle of the id", `{"id":"ab`, "null"},
		{"in the middle of a number", `{"id":12`, "null"},
		{"no object", `[1,2`, "null"},
		{"nothing", ``, "null"},
	} {
		if got := idIn([]byte(c.head)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func ExampleClaim_Judge() {
	c, err := Find("004-10mb-limit")
	if err != nil {
		fmt.Println(err)
		return
	}
	j, err := c.Judge(`{"limit": 10485760, "sent": 16777216, "read": 16777216,
		"held": 41943040, "detected": false}`)
	fmt.Println(j.Verdict, err)
	// Output: refuted <nil>
}
