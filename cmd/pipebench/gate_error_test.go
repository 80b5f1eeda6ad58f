package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// A gate whose time ended has no verdict if there are figures, and has failed if there are none.
func TestTimeThatEndsIsNoVerdictOfAGate(t *testing.T) {
	up := fmt.Errorf("pair 1: %w", turns.TimeUp(time.Second))
	gate := &gateFlags{requireVerdict: true}
	measured := &stat.Comparison{Changes: []stat.Change{{}}}
	for _, tt := range []struct {
		name string
		err  error
		c    *stat.Comparison
		want int
	}{
		{"no figures", up, nil, exitFailed},
		{"no changes", up, &stat.Comparison{}, exitFailed},
		{"figures", up, measured, exitInconclusive},
		{"the new one fails", fmt.Errorf("%w: %w", turns.ErrNewFails, up), measured, exitGate},
		{"another error", errors.New("no such file"), measured, exitFailed},
	} {
		got := exitFailed
		if err, ok := errors.AsType[*statusError](gate.gateError(tt.err, tt.c)); ok {
			got = err.code
		}
		if got != tt.want {
			t.Errorf("%s: exit %d, want %d", tt.name, got, tt.want)
		}
	}
}
