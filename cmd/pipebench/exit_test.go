package main

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/pipebench/pipebench/results"
)

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		want int
	}{
		{"nothing went wrong", t.Context(), nil, 0},
		{"nothing went wrong, though it was told to stop", interrupted, nil, 0},
		{"it could not run", t.Context(), errors.New("no pipes left"), 1},
		{
			"it was asked for what cannot be", t.Context(),
			usageError(errors.New("unknown framing")), 2,
		},
		{"a gate failed", t.Context(), &statusError{exitGate, errors.New("slower")}, 3},
		{"no verdict", t.Context(), &statusError{exitInconclusive, errors.New("too noisy")}, 4},
		{"the user stopped it", interrupted, context.Canceled, 130},
	} {
		var stderr bytes.Buffer
		if got := exitCode(c.ctx, c.err, &stderr); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
		if said := stderr.Len() > 0; said != (c.err != nil) {
			t.Errorf("%s: said %q", c.name, stderr.String())
		}
	}
}

// A check whose time was over has no verdict, unless what it came to is wrong already.
func TestACheckThatIsCutShortHasNoVerdict(t *testing.T) {
	right := results.Finding{ID: "check/server/ids", Verdict: results.OK}
	wrong := results.Finding{ID: "check/server/batch", Verdict: results.Fails}
	late := results.Finding{ID: "check/server/cancel", Verdict: results.CannotTell}
	for _, c := range []struct {
		name       string
		found      []results.Finding
		incomplete bool
		want       int
	}{
		{"all is right", []results.Finding{right, late}, false, 0},
		{"the time was over", []results.Finding{right, late}, true, exitInconclusive},
		{"the time was over, and one is wrong", []results.Finding{wrong, late}, true, exitGate},
	} {
		err := checkGate(c.found, c.incomplete)
		if got := exitCode(t.Context(), err, new(bytes.Buffer)); got != c.want {
			t.Errorf("%s: exit %d, want %d", c.name, got, c.want)
		}
	}
}

// A flag that counts something has a bound: the largest number that can be typed is refused, and
// reserves no memory first.
func TestCountsAreBounded(t *testing.T) {
	counts := 0
	for _, cmd := range newRoot().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "int" {
				return
			}
			counts++
			for _, text := range []string{strconv.Itoa(math.MaxInt), "-1", "1e3", "many"} {
				if err := f.Value.Set(text); err == nil {
					t.Errorf("%s --%s %s was taken", cmd.Name(), f.Name, text)
				}
			}
		})
	}
	if counts < 10 {
		t.Errorf("only %d flags count something", counts)
	}
}

// The largest size that can be typed is refused before memory is asked for.
func TestSizesBeyondTheMemoryAreRefused(t *testing.T) {
	most := strconv.Itoa(math.MaxInt)
	for _, args := range []string{
		"run --size", "run --chunk", "run --framing ndjson --read-buffer", "run --framing ndjson --drain 1 --batch",
		"tune --size", "drive --size", "serve --max-message",
	} {
		var said bytes.Buffer
		words := append(strings.Fields(args), most)
		switch words[0] {
		case "run":
			words = append(words, "--dry-run")
		case "drive":
			words = append(words, "--", "no-such-command")
		}
		if code := run(t.Context(), words, strings.NewReader(""), &said, &said); code != exitUsage && words[0] != "serve" {
			t.Errorf("%s: exit %d: %.300s", args, code, said.String())
		}
	}
}
