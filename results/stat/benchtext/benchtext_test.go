package benchtext

import (
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func TestWithSide(t *testing.T) {
	for name, want := range map[string]string{
		"X":               "X/side=old",
		"X-8":             "X/side=old-8",
		"X/size=1-2":      "X/size=1/side=old-2",
		"X/io=poll-8/a=b": "X/io=poll-8/a=b/side=old",
	} {
		if got := WithSide(name, "old"); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

func TestCellNamesAreStable(t *testing.T) {
	c := resultstest.Cell("chunked:61440", 65536)
	c.Capacity = 0
	c.IO = "poller/sleep=10ms"
	const named = "Stream/framing=chunked:61440/size=65536/io=poller+sleep=10ms/placement=same"
	for _, tt := range []struct {
		change func(*results.Cell)
		want   string
	}{
		{func(*results.Cell) {}, named},
		{func(c *results.Cell) { c.Rate = 1000 }, named + "/rate=1000"},
		{func(c *results.Cell) { c.Messages = "a b-8" }, named + "/messages=a_b_8"},
	} {
		changed := c
		tt.change(&changed)
		if got := CellName(changed); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}
