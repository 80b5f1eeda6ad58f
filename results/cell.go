package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Cell is one point of a sweep: what to measure, and nothing of what was measured.
//
// The first eight fields are always in the file. The others are in the file only if they differ
// from their default, so that a new field changes the [Cell.Key] of no cell in an older file.
// [Fields] describes each of them.
type Cell struct {
	Framing   string `json:"framing"`   // a framers spec: "ndjson", "chunked:61440"
	Size      int    `json:"size"`      // message bytes; 0 for a recording, with sizes of its own
	Pipe      string `json:"pipe"`      // "anonymous", "fifo", "socketpair", "named", "pty"
	Capacity  int    `json:"capacity"`  // bytes asked for; 0 leaves it to the operating system
	IO        string `json:"io"`        // "blocking", or "writer/reader" if the ends differ
	Placement string `json:"placement"` // "same", "sibling", "apart", "far", "free"
	Pattern   string `json:"pattern"`   // "stream", "roundtrip", "mixed"
	Payload   string `json:"payload"`   // "json", "utf8", "random", "recorded"

	// Load.
	Inflight int     `json:"inflight,omitempty"` // messages on the way at once in a closed loop
	Rate     float64 `json:"rate,omitempty"`     // messages per second of an open loop

	// The writer.
	Batch         int    `json:"batch,omitempty"`          // messages per system call; 0 is one
	WriteSize     int    `json:"write_size,omitempty"`     // bytes per write; 0 is whole messages
	PayloadOffset string `json:"payload_offset,omitempty"` // within a page; "" is drawn per start
	FrameWait     string `json:"frame_wait,omitempty"`     // "5ms" per frame; "" is a fixed size
	Source        string `json:"source,omitempty"`         // "hot", "fresh"; "" is hot
	Transfer      string `json:"transfer,omitempty"`       // "vmsplice"; "" is copy
	Messages      string `json:"messages,omitempty"`       // hash of the recording that is replayed

	// The reader.
	ReadBuffer  int     `json:"read_buffer,omitempty"`  // bytes per read; 0 is 256 KiB
	ReadOffset  string  `json:"read_offset,omitempty"`  // of buffers within a page; "" is 128
	Touch       bool    `json:"touch,omitempty"`        // it looks at every byte
	Work        float64 `json:"work,omitempty"`         // ns of CPU per byte that it spends
	Drain       int64   `json:"drain,omitempty"`        // bytes per second that it allows itself
	ClosesAfter int     `json:"closes_after,omitempty"` // messages after which it closes its end

	// Older is what a cell of an older file had that cells cannot have any more: "peer=thread".
	Older string `json:"older,omitempty"`
}

// Key identifies a cell across runs, machines and versions: its fields as they stand in the file,
// sorted by name, "capacity=0 framing=ndjson io=blocking …".
func (c Cell) Key() string {
	var parts []string
	for _, v := range c.Values() {
		parts = append(parts, v.Name+"="+v.Text)
	}
	return strings.Join(parts, " ")
}

// UsualCell returns a cell of JSON messages through an anonymous pipe of the system's capacity,
// between ends that block. All other fields have their defaults.
func UsualCell(framing, pattern, placement string, size int) Cell {
	return Cell{
		Framing:   framing,
		Size:      size,
		Pipe:      "anonymous",
		IO:        "blocking",
		Placement: placement,
		Pattern:   pattern,
		Payload:   "json",
	}
}

// UnmarshalJSON reads a cell. It refuses a cell with an unknown field, which would otherwise pass
// for another cell. It knows the names that fields had in older files.
func (c *Cell) UnmarshalJSON(text []byte) error {
	type plain Cell
	var read struct {
		plain
		Leave  int    `json:"leave"`  // became closes_after
		Peer   string `json:"peer"`   // was "thread" if both ends were in one process
		Clock  string `json:"clock"`  // was "sample" if no round trip had a time of its own
		Sender string `json:"sender"` // was what the sender did beyond the framing
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return fmt.Errorf("cell: %w", err)
	}
	*c = Cell(read.plain)
	if c.ClosesAfter == 0 {
		c.ClosesAfter = read.Leave
	}
	if read.Peer != "" && read.Peer != "process" {
		c.Older = "peer=" + read.Peer
	}
	if read.Clock != "" {
		c.Older = strings.TrimSpace(c.Older + " clock=" + read.Clock)
	}
	if read.Sender != "" {
		c.Older = strings.TrimSpace(c.Older + " sender=" + read.Sender)
	}
	return nil
}

// A FieldText is one field of a cell as it stands in the file.
type FieldText struct{ Name, Text string }

// Values lists the fields of a cell that a results file stores, sorted by name.
func (c Cell) Values() []FieldText {
	var out []FieldText
	for _, f := range fields {
		if text := f.Text(c); text != "" {
			out = append(out, FieldText{f.Name, text})
		}
	}
	return out
}

// Field returns a field of the cell as [Cell.Values] lists it, or "" if it is not there.
func (c Cell) Field(name string) string {
	f, known := FieldByName(name)
	if !known {
		return ""
	}
	return f.Text(c)
}

// Validate reports all that is wrong with a cell as plain data: a missing text that every cell has,
// a negative count, a rate that is no number. It does not know which framings, pipes and placements
// exist: whoever runs the cell does.
func (c Cell) Validate() error {
	var faults []error
	for _, f := range fields {
		if f.kind == aNeeded && f.Text(c) == "" {
			faults = append(faults, fmt.Errorf("%s is missing", f.Name))
		}
		n := f.number(c)
		switch {
		case math.IsNaN(n) || math.IsInf(n, 0):
			faults = append(faults, fmt.Errorf("%s is not a number of zero or more: %v", f.Name, n))
		case n < 0:
			faults = append(faults, fmt.Errorf("%s is negative: %v", f.Name, n))
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("cell: %w", errors.Join(faults...))
}

// IsWaiting reports whether the cell shows how a writer that does not block waits when the pipe is
// full: its io is "poll/blocking", for example. Views separate such cells from comparisons of
// framings.
func (c Cell) IsWaiting() bool {
	return c.Pattern != PatternRoundtrip && strings.HasSuffix(c.IO, "/blocking")
}

// ChunkSize returns the size in a framing's spec: 61440 of "chunked:61440"; 0 if it has none.
func ChunkSize(framing string) int {
	_, size, _ := strings.Cut(framing, ":")
	n, err := strconv.Atoi(size)
	if err != nil {
		return 0
	}
	return n
}

// DifferingFields names the fields in which cells differ, except those named in except.
func DifferingFields(cells []Cell, except ...string) []string {
	var out []string
	for _, f := range fields {
		if slices.Contains(except, f.Name) {
			continue
		}
		differs := func(c Cell) bool { return f.Text(c) != f.Text(cells[0]) }
		if slices.ContainsFunc(cells, differs) {
			out = append(out, f.Name)
		}
	}
	return out
}

// ShortID returns enough of a hash to tell it from its neighbours.
func ShortID(id string) string {
	id, _ = strings.CutPrefix(id, "sha256:")
	return id[:min(len(id), 8)]
}

// CellLabel returns "ndjson 64 KiB stream same", followed by the fields named in differ, if the
// cell has them: "io=poll/poller".
func CellLabel(c Cell, differ []string) string {
	words := []string{c.Framing, FormatSize(int64(c.Size)), c.Pattern, c.Placement}
	for _, name := range differ {
		value := c.Field(name)
		if value != "" {
			words = append(words, name+"="+ShortValue(name, value))
		}
	}
	return strings.Join(words, " ")
}

// Values of a cell's fields that views and comparisons depend on.
const (
	FramingRaw       = "raw"       // the framing that adds nothing: the floor of every comparison
	PatternRoundtrip = "roundtrip" // the pattern in which each message is answered
	PatternMixed     = "mixed"     // large messages, and small ones that are due meanwhile
	SourceHot        = "hot"       // the sender's message lies in the cache
	TransferVmsplice = "vmsplice"  // the writer's pages are mapped into the pipe
	SourceFresh      = "fresh"     // each message is another of 64 MiB of copies
)
