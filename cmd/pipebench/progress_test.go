package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

// The time left counts down between two steps, and never goes beyond the limit.
func TestTheTimeLeftDoesNotRise(t *testing.T) {
	p := &progress{began: time.Now().Add(-2 * time.Hour)}
	if got := p.timeLeft(); got != "" {
		t.Errorf("nothing is finished, and %s are left", got)
	}
	p.expect(1, 4)
	left := func() time.Duration {
		d, err := time.ParseDuration(p.timeLeft())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := left()
	if first > 6*time.Hour+time.Minute || first < 5*time.Hour {
		t.Errorf("a quarter took 2h, and %s are left", first)
	}
	p.began = p.began.Add(-time.Hour)
	if second := left(); second > first {
		t.Errorf("%s are left, an hour before it was %s", second, first)
	}
	p.limit = 4 * time.Hour
	p.expect(1, 4)
	if last := left(); last > time.Hour+time.Minute {
		t.Errorf("%s are left of 4h, after 3h", last)
	}
	p.began = p.began.Add(-2 * time.Hour)
	if got := p.timeLeft(); got != "" {
		t.Errorf("the expected end has passed, and %s are left", got)
	}
}

// The time of round trips is their mean; tables have medians.
func TestAnOutcomeNamesAMean(t *testing.T) {
	wants := map[string]string{"roundtrip": "1 sample, mean ", "stream": "1 sample, 1"}
	for pattern, want := range wants {
		r := results.Record{Cell: results.UsualCell("raw", pattern, "same", 1000)}
		r.Samples = []results.Sample{{ElapsedNS: 1000, Messages: 1, PayloadBytes: 1000}}
		if got := outcome(r); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", pattern, got)
		}
	}
}
