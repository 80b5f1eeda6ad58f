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
type Cell struct {
	// New fields need omitempty, so that [Cell.Key] of cells in older files does not change.

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
	// PayloadOffset is the position in a memory page at which messages begin. "" means random.
	PayloadOffset string `json:"payload_offset,omitempty"`
	// FrameWait is how long one frame, a part of a message, should take through the pipe, such as
	// "5ms". The size of frames follows from this time. If it is "", the framing decides the size.
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
}

// Key identifies a cell across runs, machines and versions: "capacity=0 framing=ndjson …".
func (c Cell) Key() string {
	var parts []string
	for _, v := range c.Values() {
		parts = append(parts, v.Name+"="+v.Text)
	}
	return strings.Join(parts, " ")
}

// UsualCell returns a cell with the given settings. The other fields have usual values: JSON
// messages, an anonymous pipe, blocking ends.
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

// UnmarshalJSON refuses an unknown field. Otherwise, cells that differ only in that field would
// look equal.
func (c *Cell) UnmarshalJSON(text []byte) error {
	type plain Cell
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(c)); err != nil {
		return fmt.Errorf("cell: %w", err)
	}
	return nil
}

// A FieldText is the name of a cell's field, and the value of the field as the file has it.
type FieldText struct{ Name, Text string }

// Values lists those fields of a cell that stand in a results file, sorted by name.
func (c Cell) Values() []FieldText {
	var out []FieldText
	for _, f := range fields {
		if text := f.Text(c); text != "" {
			out = append(out, FieldText{f.Name, text})
		}
	}
	return out
}

// Field returns the text of the named field, or "" if a results file leaves out the field.
func (c Cell) Field(name string) string {
	f, known := FieldByName(name)
	if !known {
		return ""
	}
	return f.Text(c)
}

// Validate reports missing texts and invalid numbers. It does not check whether the framing, the
// pipe and the placement exist.
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

// IsBare reports whether a measurement is about the transport alone: nothing else is done with the
// bytes.
func (c Cell) IsBare() bool {
	return c.WriteSize == 0 && c.Source == "" && !c.Touch && c.Work == 0
}

// IsWaiting reports whether the settings are for measuring how a non-blocking writer waits for room
// in the pipe.
func (c Cell) IsWaiting() bool {
	return c.Pattern != PatternRoundtrip && strings.HasSuffix(c.IO, "/blocking")
}

// ChunkSize returns the size in the spec of a framing: 61440 for "chunked:61440", 0 for "raw".
func ChunkSize(framing string) int {
	_, size, _ := strings.Cut(framing, ":")
	n, err := strconv.Atoi(size)
	if err != nil {
		return 0
	}
	return n
}

// FramingPhrase names a framing as a person does: "60 KiB chunks" for chunked:61440.
func FramingPhrase(spec string) string {
	name, _, _ := strings.Cut(spec, ":")
	size := ChunkSize(spec)
	if size == 0 {
		return spec
	}
	if name == "chunked" {
		return FormatSize(int64(size)) + " chunks"
	}
	return name + " of " + FormatSize(int64(size))
}

// DifferingFields returns the names of the fields in which the cells differ. It leaves out the
// fields named in except.
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

// ShortID returns the first eight characters of a hash or of a run's name.
func ShortID(id string) string {
	id, _ = strings.CutPrefix(id, "sha256:")
	return id[:min(len(id), 8)]
}

// CellLabel describes a cell briefly: "ndjson 64 KiB stream on one CPU". It adds the named fields
// in the form "io=poll/poller".
func CellLabel(c Cell, differ []string) string {
	size := FormatSize(int64(c.Size))
	if c.Messages != "" {
		size = "recorded"
	}
	words := []string{FramingPhrase(c.Framing), size, c.Pattern, PlacementPhrase(c.Placement)}
	for _, name := range differ {
		value := c.Field(name)
		if value != "" {
			words = append(words, name+"="+ShortValue(name, value))
		}
	}
	return strings.Join(words, " ")
}

// CellName describes a cell as [CellLabel] does, with the fields that have no usual value.
func CellName(c Cell) string {
	usual := UsualCell(c.Framing, c.Pattern, c.Placement, c.Size)
	if c.Messages != "" {
		usual.Payload = c.Payload
	}
	return CellLabel(c, DifferingFields([]Cell{usual, c}, "messages"))
}

// Values of a cell's fields that views and comparisons depend on.
const (
	FramingRaw       = "raw"       // the framing that adds nothing; others are compared with it
	PatternRoundtrip = "roundtrip" // the pattern in which each message is answered
	PatternMixed     = "mixed"     // large messages, and small ones to send meanwhile
	SourceHot        = "hot"       // each message is sent from the CPU's cache
	TransferVmsplice = "vmsplice"  // the writer's pages are mapped into the pipe
	SourceFresh      = "fresh"     // messages are sent from copies in turn, 16 MiB in all
)
