package main

import (
	"testing"
	"time"
)

func TestAdviceOnPairsHasNumbers(t *testing.T) {
	four := pace{pairs: 4, sinceBegin: 100 * time.Second, inPairs: 96 * time.Second}
	for _, tt := range []struct {
		pace  pace
		pairs int
		want  string
	}{
		{four, 5, "give it --max-time 2m29s: a pair takes 24.0 s, and a verdict about 5 of them"},
		{four, 3, "give it --max-time 2m29s: a pair takes 24.0 s, and a verdict about 5 of them"},
		{four, 400, "compare fewer figures (--metric), or on a quieter machine: a verdict takes " +
			"about 400 pairs, and a pair 24.0 s"},
		{pace{pairs: 4, wanted: 4, inPairs: time.Second}, 40,
			"give it --pairs 40: it had 4, and a pair takes 250 ms"},
	} {
		if got := tt.pace.advice(tt.pairs); got != tt.want {
			t.Errorf("%d pairs: got %q, want %q", tt.pairs, got, tt.want)
		}
	}
}
