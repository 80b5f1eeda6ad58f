package main

import (
	"bytes"
	"context"
	"errors"
	"testing"
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
		{"it was asked for what cannot be", t.Context(), usage(errors.New("unknown framing")), 2},
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
