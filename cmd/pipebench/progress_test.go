package main

import (
	"testing"
	"time"
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
