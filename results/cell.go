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

// A Cell is one combination of settings to measure. [Fields] describes its fields.
//
// The first eight fields are always in the file. Each further field is there only if it differs
// from its default. So a new field in a later version does not change the [Cell.Key] of cells in
// older files.
type Cell struct {
	Framing   string `json:"framing"`   // spec of a framing: "ndjson", "chunked:61440"
	Size      int    `json:"size"`      // bytes per message; 0 for a recording, where sizes differ
	Pipe      string `json:"pipe"`      // "anonymous", "fifo", "socketpair", "named", "pty"
	Capacity  int    `json:"capacity"`  // pipe capacity to ask for, in bytes; 0: the system's
	IO        string `json:"io"`        // "blocking" for both ends; "poll/blocking" if they differ
	Placement string `json:"placement"` // CPUs: "same", "sibling", "apart", "far", "free"
	Pattern   string `json:"pattern"`   // "stream", "roundtrip", "mixed"
	Payload   string `json:"payload"`   // "json", "utf8", "random", "recorded"

	// Load.
	Inflight int     `json:"inflight,omitempty"` // messages on the way at once, in a closed loop
	Rate     float64 `json:"rate,omitempty"`     // messages to send per second, in an open loop

	// The writer.
	Batch     int `json:"batch,omitempty"`      // messages per system call; 0 means 1
	WriteSize int `json:"write_size,omitempty"` // most bytes per write; 0: whole messages
	// PayloadOffset is the position in a page of memory at which each message begins. If it is "",
	// each start of the workers draws a random position.
	PayloadOffset string `json:"payload_offset,omitempty"`
	// FrameWait is how long one frame should take to pass, such as "5ms". The rate of the pipe then
	// decides the size of frames. If FrameWait is "", the framing decides it.
	FrameWait string `json:"frame_wait,omitempty"`
	Source    string `json:"source,omitempty"`   // "hot", "fresh"; "" means "hot"
	Transfer  string `json:"transfer,omitempty"` // "vmsplice"; "" means copying
	Messages  string `json:"messages,omitempty"` // hash of the recording that is replayed

	// The reader.
	ReadBuffer  int     `json:"read_buffer,omitempty"`  // bytes per read; 0 means 256 KiB
	ReadOffset  string  `json:"read_offset,omitempty"`  // where buffers begin in a page; "": 128
	Touch       bool    `json:"touch,omitempty"`        // the reader looks at every byte
	Work        float64 `json:"work,omitempty"`         // ns of CPU time spent on each byte
	Drain       int64   `json:"drain,omitempty"`        // most bytes that it reads per second
	ClosesAfter int     `json:"closes_after,omitempty"` // messages it reads before it closes

	// Older holds settings from an older file that cells no longer have, such as "peer=thread".
	Older string `json:"older,omitempty"`
}

// Key identifies a cell across runs, machines and versions. It lists the cell's fields as the file
// has them, sorted by name: "capacity=0 framing=ndjson io=blocking …".
func (c Cell) Key() string {
	var parts []string
	for _, v := range c.Values() {
		parts = append(parts, v.Name+"="+v.Text)
	}
	return strings.Join(parts, " ")
}

// UsualCell returns a cell of the given framing, pattern, placement and size. The other fields have
// their usual values: JSON messages, an anonymous pipe of the system's own capacity, blocking ends.
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

// UnmarshalJSON reads a cell. It also accepts names that fields had in older files. It returns an
// error for an unknown field, because two cells that differ only in that field would look equal.
func (c *Cell) UnmarshalJSON(text []byte) error {
	type plain Cell
	var read struct {
		plain
		Leave  int    `json:"leave"`  // older name of closes_after
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

// A FieldText is the name of a cell's field, and its value as the file has it.
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

// Field returns the text of the named field as in [Cell.Values], or "" if that list lacks the
// field.
func (c Cell) Field(name string) string {
	f, known := FieldByName(name)
	if !known {
		return ""
	}
	return f.Text(c)
}

// Validate reports all faults of a cell's fields: a required text that is missing, a negative
// number, or a rate that is not a number. It does not check whether the framing, the pipe and the
// placement exist: the code that runs the cell checks that.
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

// IsWaiting reports whether the cell shows how a non-blocking writer waits while the pipe is full.
// For example, its io is "poll/blocking". Comparisons of framings leave such cells out.
func (c Cell) IsWaiting() bool {
	return c.Pattern != PatternRoundtrip && strings.HasSuffix(c.IO, "/blocking")
}

// ChunkSize returns the size in the spec of a framing, such as 61440 for "chunked:61440", or 0 if
// the spec has no size.
func ChunkSize(framing string) int {
	_, size, _ := strings.Cut(framing, ":")
	n, err := strconv.Atoi(size)
	if err != nil {
		return 0
	}
	return n
}

// DifferingFields returns the names of the fields in which the cells differ, without the names in
// except.
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

// ShortID returns the beginning of a hash or of a run's name. It is long enough to tell the IDs in
// one view apart.
func ShortID(id string) string {
	id, _ = strings.CutPrefix(id, "sha256:")
	return id[:min(len(id), 8)]
}

// CellLabel describes a cell briefly, such as "ndjson 64 KiB stream same". It adds the fields named
// in differ that the cell has, such as "io=poll/poller".
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
	FramingRaw       = "raw"       // the framing that adds nothing; others are compared with it
	PatternRoundtrip = "roundtrip" // the pattern in which each message is answered
	PatternMixed     = "mixed"     // large messages, and small ones to send meanwhile
	SourceHot        = "hot"       // each message is sent from the CPU's cache
	TransferVmsplice = "vmsplice"  // the writer's pages are mapped into the pipe
	SourceFresh      = "fresh"     // each message is sent from another copy; all copies fill 64 MiB
)
