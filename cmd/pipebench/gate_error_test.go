package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/scenarios/turns"
)

// A gate whose time ended, or whose old side fails, has no verdict, and has failed if the new side
// alone fails.
func TestWhatEndsAComparisonDecidesTheExitCodeOfAGate(t *testing.T) {
	up := fmt.Errorf("pair 1: %w", turns.TimeUp(time.Second))
	gate := &gateFlags{requireVerdict: true}
	gate.pace.better = " or fewer benchmarks"
	broken := errors.New("it is broken")
	for _, tt := range []struct {
		name string
		gate *gateFlags
		err  error
		want int
		says string
	}{
		{"time", gate, up, exitInconclusive, "give it a longer --max-time or fewer benchmarks"},
		{"time, no gate", &gateFlags{failAbove: -1}, up, exitFailed, "give it a longer --max-time"},
		{"old", gate, fmt.Errorf("%w: %w", turns.ErrOldFails, broken), exitInconclusive, "broken"},
		{"new", gate, fmt.Errorf("%w: %w", turns.ErrNewFails, broken), exitGate, "broken"},
		{"another error", gate, errors.New("no such file"), exitFailed, "no such file"},
	} {
		code := exitFailed
		got := tt.gate.gateError(tt.err)
		if err, ok := errors.AsType[*statusError](got); ok {
			code = err.code
		}
		if code != tt.want || !strings.HasSuffix(got.Error(), tt.says) {
			t.Errorf("%s: exit %d, %v; want %d, %q", tt.name, code, got, tt.want, tt.says)
		}
	}
}
