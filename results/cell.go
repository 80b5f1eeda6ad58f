package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Cell is one point of a sweep: all of it asked for, nothing of it measured.
//
// The first nine fields are always in the file. The others are there only off
// their default, so that a field added later changes the [Cell.Key] of no
// cell in an older file.
type Cell struct {
	Framing   string `json:"framing"`   // a framers spec: "ndjson", "chunked:61440"
	Size      int    `json:"size"`      // message bytes; 0 where a recording's messages have their own sizes
	Pipe      string `json:"pipe"`      // "anonymous", "fifo", "socketpair", "named"
	Capacity  int    `json:"capacity"`  // bytes asked for; 0 leaves it to the operating system
	IO        string `json:"io"`        // "blocking", or "writer/reader" where the ends differ
	Placement string `json:"placement"` // "same", "sibling", "apart", "far", "free"
	Peer      string `json:"peer"`      // "thread", "process"
	Pattern   string `json:"pattern"`   // "stream", "roundtrip"
	Payload   string `json:"payload"`   // "json", "utf8", "random", "recorded"

	Inflight   int     `json:"inflight,omitempty"`    // messages on the way at once in a closed loop; 0 is the pattern's own
	Rate       float64 `json:"rate,omitempty"`        // messages a second of an open loop; 0 is as fast as the pipe takes them
	Transfer   string  `json:"transfer,omitempty"`    // "vmsplice", "splice"; empty is copy
	ReadBuffer int     `json:"read_buffer,omitempty"` // bytes the reader asks for at once; 0 is the framing's default
	Batch      int     `json:"batch,omitempty"`       // messages sent in one system call; 0 is one
	Drain      int64   `json:"drain,omitempty"`       // bytes a second that the reader allows itself; 0 is no limit
	Messages   string  `json:"messages,omitempty"`    // hash of the recording that is replayed
}

// Key identifies a cell across runs, machines and versions: its fields as they
// stand in the file, sorted by name, "capacity=0 framing=ndjson io=blocking …".
func (c Cell) Key() string {
	fields := c.fields()
	for i, f := range fields {
		fields[i] = strings.Replace(f, "\x00", "=", 1)
	}
	return strings.Join(fields, " ")
}

// fields lists what of a cell stands in the file as "name\x00value", sorted.
func (c Cell) fields() []string {
	line, err := json.Marshal(c)
	if err != nil {
		panic("results: a cell is plain data: " + err.Error()) // cannot happen: no field can fail to marshal but a NaN rate, which Validate refuses
	}
	var byName map[string]any
	d := json.NewDecoder(strings.NewReader(string(line)))
	d.UseNumber()
	if err := d.Decode(&byName); err != nil {
		panic("results: " + err.Error())
	}
	var out []string
	for name, value := range byName {
		out = append(out, fmt.Sprintf("%s\x00%v", name, value))
	}
	slices.Sort(out)
	return out
}
