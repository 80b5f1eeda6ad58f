package claims

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/syspipe/leaktest"
)

// slow are the claims that rest on measurements of framings; their rules are
// tested with records, and the measuring is the engine's.
var slow = []string{"000-overhead-bytes", "000-overhead-time", "000-overhead-cpu", "000-latency-small", "000-throughput",
	"002-bytewise", "004-4096-cheap"}

// onLinux are the verdicts that do not hang on the machine.
var onLinux = map[string]string{
	"000-pipe-buf":              Refuted,
	"000-write-blocks":          Holds,
	"000-write-eagain":          Depends,
	"000-write-epipe":           Refuted,
	"000-chunks-avoid-blocking": Refuted,
	"000-macos-capacity":        NotTestable,
	"000-header-40":             Holds,
	"000-any-size":              Holds,
	"000-cleared":               Holds,
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
	"001-http2-1000":            Holds,
	"002-crash-isolation":       Depends,
	"002-malformed-skipped":     Depends,
	"002-stderr-separate":       Depends,
	"003-exact-sizes":           Holds,
	"003-mcp-content-length":    Refuted,
	"004-mcp-newline":           Holds,
	"004-4096-robust":           Holds,
	"004-10mb-limit":            Refuted,
	"004-skip-hangs":            Holds,
	"004-id-in-1k":              Depends,
	"004-stdout-reserved":       Holds,
}

func TestClaims(t *testing.T) {
	leaktest.Check(t)
	var only []string
	for _, c := range All() {
		if !slices.Contains(slow, c.ID) {
			only = append(only, c.ID)
		}
	}
	done := 0
	o := Options{Run: "test", Seed: 1, Only: only, Observe: func(p Progress) {
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
		}
		return file.Write(l)
	})
	if err != nil {
		t.Fatal(err)
	}
	if done != len(only) || len(judged) != len(only) {
		t.Errorf("%d claims were judged and %d told of, of %d", len(judged), done, len(only))
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

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// checkRecord holds a verdict against what its rule makes of the evidence as
// the file has it.
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
		t.Errorf("%s: judged again from its evidence: %+v, %v; was %s, %s", r.ID, again, err, r.Verdict, r.Figure)
	}
}

func TestClaimsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.ID] || !strings.HasPrefix(c.ID, c.Seed+"-") || c.Text == "" || c.Where == "" || c.Rule == "" {
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
		if len(got) != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d claims, %v", c.name, len(got), err)
		}
	}
}

func TestRunStopsWhenAVerdictCannotBeKept(t *testing.T) {
	full := errors.New("disk full")
	err := Run(t.Context(), Options{Run: "test", Only: []string{"001-http2-1000"}}, func(results.Line) error { return full })
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
	j, err := c.Judge(results.MustEvidence(map[string]any{"limit": 10 << 20, "sent": 16 << 20, "read": 16 << 20, "held": 40 << 20, "detected": false}))
	fmt.Println(j.Verdict, err)
	// Output: refuted <nil>
}
