package claims

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/mcp"
	"github.com/pipebench/pipebench/scenarios/rules"
	"github.com/pipebench/pipebench/syspipe/leaktest"
	"github.com/pipebench/pipebench/syspipe/proc"
)

// serverEnv makes this test binary an MCP server.
const serverEnv = "CLAIMS_TEST_SERVER"

func serve() error {
	s, err := mcp.Start(context.Background(), os.Stdin, os.Stdout, mcp.Options{})
	if err == nil {
		err = s.Wait()
	}
	return err
}

// aboutServers reports whether a claim is judged by how servers of others behave.
func aboutServers(c Claim) bool { return experimentOf(c.Needs[0]) == checkServer }

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := serve(); err != nil {
			os.Exit(1)
		}
		return
	}
	proc.Main(rules.Jobs(), failures.Jobs())
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each worker takes a second to exit under -race
	os.Exit(m.Run())
}

// onLinux are verdicts that do not hang on the machine.
var onLinux = map[string]results.Verdict{
	"000-write-blocks":          results.Holds,
	"000-write-eagain":          results.Depends,
	"000-write-epipe":           results.Refuted,
	"000-chunks-avoid-blocking": results.Refuted,
	"000-any-size":              results.Holds,
	"000-cleared":               results.Depends,
	"000-streaming":             results.Holds,
	"000-in-flight":             results.Holds,
	"000-missing-chunks":        results.Depends,
	"000-out-of-order":          results.Refuted,
	"000-invalid-frames":        results.Depends,
	"000-unchunked-peers":       results.Depends,
	"000-protocol-agnostic":     results.Depends,
	"001-exact":                 results.Holds,
	"001-prevents-allocation":   results.Refuted,
	"002-crash-isolation":       results.Depends,
	"002-stderr-separate":       results.Depends,
	"003-exact-sizes":           results.Holds,
	"004-4096-robust":           results.Depends,
	"004-10mb-limit":            results.Refuted,
	"004-skip-hangs":            results.Holds,
	"004-stdout-reserved":       results.Holds,
}

// Every experiment that claims need is made, and its findings are what their rules look for.
func TestMeasure(t *testing.T) {
	leaktest.Check(t)
	var selected []Claim
	for _, c := range All() {
		cells := len(c.Needs) > 0 && strings.HasPrefix(c.Needs[0], "cells/")
		if !cells && !aboutServers(c) {
			selected = append(selected, c)
		}
	}
	set := &results.Set{}
	err := Measure(t.Context(), selected, set, Options{}, func(l results.Line) error {
		set.Add(l)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	judged := make(map[string]results.Finding)
	for _, f := range Judge(set, selected) {
		judged[f.Name()] = f
	}
	if len(judged) != len(selected) {
		t.Errorf("%d of %d claims were judged", len(judged), len(selected))
	}
	if left := lacking(set, selected); len(left) > 0 {
		t.Errorf("still lacking: %v", left)
	}
	if runtime.GOOS != "linux" {
		return
	}
	for id, want := range onLinux {
		if f := judged[id]; f.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", id, f.Verdict, want, f.Found)
		}
	}
}

// What check finds of a server is what the claims on servers look for.
func TestMeasureChecksAServer(t *testing.T) {
	leaktest.Check(t)
	t.Setenv(serverEnv, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var selected []Claim
	for _, c := range All() {
		if aboutServers(c) {
			selected = append(selected, c)
		}
	}
	set := &results.Set{}
	err = Measure(t.Context(), selected, set, Options{Server: []string{self}},
		func(l results.Line) error {
			set.Add(l)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{serverCheck(dirtyLine), serverCheck(endInFlight)} {
		if f := newEvidence(set).findings[id]; f.Title == "" || f.About[0] != self {
			t.Errorf("%s: %+v", id, f)
		}
	}
	judged := Judge(set, selected)
	if len(judged) != len(selected) {
		t.Errorf("%d of %d claims were judged", len(judged), len(selected))
	}
	for _, f := range judged {
		t.Logf("%s: %s: %s", f.ID, f.Verdict, f.Found)
	}
}

// Nothing is measured again that the set holds already.
func TestOnlyWhatLacksIsMeasured(t *testing.T) {
	for id, rows := range cases {
		c, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		if needs := lacking(rows[0].set(), []Claim{c}); len(needs) > 0 {
			t.Errorf("%s lacks %v", id, needs)
		}
		if needs := lacking(&results.Set{}, []Claim{c}); len(needs) == 0 && len(c.Needs) > 0 {
			t.Errorf("%s lacks nothing of an empty set", id)
		}
	}
}

func TestEveryNeedHasItsExperiment(t *testing.T) {
	for _, c := range All() {
		for _, need := range c.Needs {
			_, step, isRule := rules.ParseID(experimentOf(need))
			ok := isRule && slices.Contains(rules.Steps(), step)
			if name, isFailure := strings.CutPrefix(need, "failure/"); isFailure {
				name, _, _ = strings.Cut(name, "/")
				_, err := failures.Find(name)
				ok = err == nil
			}
			isCells := need == needCosts || need == needTrips || need == needReaders
			if !ok && !isCells && !aboutServers(c) {
				t.Errorf("%s needs %s, which nothing finds", c.ID, need)
			}
		}
	}
}

func TestMeasureEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Measure(ctx, All(), &results.Set{}, Options{}, func(results.Line) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestMeasureReportsThatNothingCanBeKept(t *testing.T) {
	full := errors.New("disk full")
	c, err := Find("001-exact")
	if err != nil {
		t.Fatal(err)
	}
	err = Measure(t.Context(), []Claim{c}, &results.Set{}, Options{},
		func(results.Line) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

func TestClaimsAreDescribed(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range All() {
		if seen[c.ID] || c.Says == "" || len(c.Needs) == 0 || c.Judge == nil {
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
