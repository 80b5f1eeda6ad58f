package bench

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestALabelSaysWhatIsNotAsUsual(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*results.Cell)
		want   string
	}{
		{"the usual", func(*results.Cell) {}, "raw 64 KiB stream same"},
		{"pages that are lent", func(c *results.Cell) { c.Transfer = "vmsplice" }, "raw 64 KiB stream same transfer=vmsplice"},
		{"another pipe, its capacity, and how ends wait", func(c *results.Cell) { c.Pipe, c.Capacity, c.IO = "fifo", 4096, "poll/spin" },
			"raw 64 KiB stream same capacity=4096 io=poll/spin pipe=fifo"},
		{"threads, and a rate", func(c *results.Cell) { c.Peer, c.Rate = "thread", 2e6 }, "raw 64 KiB stream same peer=thread rate=2000000"},
		{"a recording", func(c *results.Cell) { c.Size, c.Payload, c.Messages = 0, "recorded", "0123abcd" }, "raw recorded stream same"},
	} {
		cell := results.Cell{Framing: "raw", Size: 64 << 10, Pipe: "anonymous", IO: "blocking", Placement: "same", Peer: "process", Pattern: "stream", Payload: "json"}
		c.change(&cell)
		if got := Label(cell); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
