package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

// runSet is a default run in which the framings take times of raw's time, and one large message
// takes the nanoseconds given for each placement, whole, through a larger pipe, and in small
// writes.
func runSet(times map[string]float64, levers map[string][3]float64) *results.Set {
	s := &results.Set{}
	s.Add(resultstest.Environment())
	add := func(c results.Cell, ns float64) {
		s.Add(resultstest.Record(c, int64(c.Size), resultstest.Around(ns, 0.005)...))
	}
	for place, ns := range levers {
		for framing, times := range times {
			c := resultstest.Cell(framing, answerSize)
			c.Capacity = 0
			c.Placement = place
			add(c, 20_000*times)
			c.Source = "fresh"
			c.Touch = true
			add(c, 40_000)
		}
		c := resultstest.Cell("ndjson", 1_000_000)
		c.Capacity = 0
		c.Placement = place
		add(c, ns[0])
		c.Capacity = 1 << 20
		add(c, ns[1])
		c.Capacity = 0
		c.WriteSize = smallWrite
		add(c, ns[2])
	}
	return s
}

func TestARunAnswersItsQuestionsInOrder(t *testing.T) {
	times := map[string]float64{
		"raw": 1, "length-prefix": 1.05, "content-length": 1.051, "ndjson": 1.15, "chunked:61440": 1.25,
	}
	levers := map[string][3]float64{"same": {300e3, 300e3, 500e3}, "apart": {1500e3, 400e3, 300e3}}
	answer := runAnswer(stat.Rows(runSet(times, levers)))
	wants := []string{
		"As a bare transport of messages of 65,000 B, of raw's goodput: with both ends on one CPU length-prefix and " +
			"content-length keep 95 %, ndjson 87 %, 60 KiB chunks 80 %; on two CPUs",
		"every framing keeps 100 % of raw (on one CPU): use the one that the other end speaks.",
		"A message of 1,000,000 B passes on one CPU 3.33 GB/s written whole, 3.33 GB/s through a pipe of 1 " +
			"MiB, 2.00 GB/s in writes of 8 KiB; on two CPUs 666 MB/s, 2.50 GB/s and 3.33 GB/s. So a " +
			"pipe of 1 MiB gains and costs nothing",
	}
	if len(answer) != len(wants) {
		t.Fatalf("%d sentences: %q", len(answer), answer)
	}
	for i, want := range wants {
		if !strings.Contains(answer[i], want) {
			t.Errorf("sentence %d is\n%s\nwithout\n%s", i+1, answer[i], want)
		}
	}
}

// Framings whose intervals overlap are not ranked: another run could turn their order round.
func TestFramingsThatLookAlikeAreNotRanked(t *testing.T) {
	times := map[string]float64{"raw": 1, "length-prefix": 1.05, "ndjson": 1.0501}
	levers := map[string][3]float64{"same": {300e3, 300e3, 500e3}}
	answer := runAnswer(stat.Rows(runSet(times, levers)))
	if !strings.Contains(answer[0], "every framing keeps 95 %, no difference beyond the noise") {
		t.Error(answer[0])
	}
}

func TestALargerPipeThatGainsNothingIsNotPraised(t *testing.T) {
	times := map[string]float64{"raw": 1, "ndjson": 1.1}
	for name, row := range map[string]struct {
		larger float64
		want   string
	}{
		"gains":   {400e3, "gains and costs nothing"},
		"nothing": {1500e3, "gains nothing here"},
	} {
		levers := map[string][3]float64{"apart": {1500e3, row.larger, 300e3}}
		answer := strings.Join(runAnswer(stat.Rows(runSet(times, levers))), " ")
		if !strings.Contains(answer, row.want) {
			t.Errorf("%s: %s", name, answer)
		}
	}
}

// A set that is no default run has the sentences of any other set of measurements.
func TestOtherSetsHaveNoAnswerOfARun(t *testing.T) {
	if answer := runAnswer(stat.Rows(sweepOf(manyFramings, []int{256}, "same"))); answer != nil {
		t.Error(fmt.Sprint(answer))
	}
	if answer := runAnswer(nil); answer != nil {
		t.Error(fmt.Sprint(answer))
	}
}
