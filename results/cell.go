package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Cell is one point of a sweep: all of it asked for, nothing of it measured.
//
// The first nine fields are always in the file. The others are there only off their default, so
// that a field added later changes the [Cell.Key] of no cell in an older file.
type Cell struct {
	Framing   string `json:"framing"`   // a framers spec: "ndjson", "chunked:61440"
	Size      int    `json:"size"`      // message bytes; 0 where a recording's messages have their own sizes
	Pipe      string `json:"pipe"`      // "anonymous", "fifo", "socketpair", "named", "unix", "seqpacket", "pty", "ring"
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
	Leave      int     `json:"leave,omitempty"`       // messages after which the reader stops and closes its end; 0 is never
	Messages   string  `json:"messages,omitempty"`    // hash of the recording that is replayed
	Clock      string  `json:"clock,omitempty"`       // "sample": in round trips it is read at a sample's ends alone, so that no trip has a time of its own; empty is after each trip
	Sender     string  `json:"sender,omitempty"`      // what the sender does beyond the framing: "watermark=16384" (unread bytes), "wait=200µs"; empty is nothing
}

// Key identifies a cell across runs, machines and versions: its fields as they stand in the file,
// sorted by name, "capacity=0 framing=ndjson io=blocking …".
func (c Cell) Key() string {
	var parts []string
	for _, f := range c.Fields() {
		parts = append(parts, f.Name+"="+f.Value)
	}
	return strings.Join(parts, " ")
}

// A Field is one field of a cell as it stands in the file.
type Field struct{ Name, Value string }

// cellFields are the fields of a cell sorted by their names in the file. As with all that is not a
// plain value, only who asks for them waits until they are made: a worker starts in a few milliseconds.
var cellFields = sync.OnceValue(func() []cellField {
	var out []cellField
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Cell]()) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, cellField{name, i, option == "omitempty"})
	}
	slices.SortFunc(out, func(a, b cellField) int { return strings.Compare(a.name, b.name) })
	return out
})

type cellField struct {
	name      string
	index     int
	omitempty bool
}

// Fields lists what of a cell stands in the file, sorted by name.
func (c Cell) Fields() []Field {
	out := make([]Field, 0, len(cellFields()))
	v := reflect.ValueOf(c)
	for _, f := range cellFields() {
		if value, there := f.text(v); there {
			out = append(out, Field{f.name, value})
		}
	}
	return out
}

// text writes the field of a cell, without the exponents that a large rate would get, if it stands in
// the file.
func (f cellField) text(cell reflect.Value) (text string, there bool) {
	v := cell.Field(f.index)
	switch {
	case f.omitempty && v.IsZero():
		return "", false
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), true
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), true
	}
	return v.String(), true
}

// UnmarshalJSON reads a cell, and refuses one with a field that is not known here: without it the
// cell would pass for another.
func (c *Cell) UnmarshalJSON(text []byte) error {
	type plain Cell
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var p plain
	if err := d.Decode(&p); err != nil {
		return fmt.Errorf("cell: %w", err)
	}
	*c = Cell(p)
	return nil
}

// Field returns a field of the cell as [Cell.Fields] lists it, "" where it is not there.
func (c Cell) Field(name string) string {
	i := slices.IndexFunc(cellFields(), func(f cellField) bool { return f.name == name })
	if i < 0 {
		return ""
	}
	value, _ := cellFields()[i].text(reflect.ValueOf(c))
	return value
}

// IsWaiting reports whether the cell asks what a writer meets that does not block, and how it waits:
// its io is "poll/blocking", say. Views show such cells apart from those that compare framings.
func (c Cell) IsWaiting() bool {
	return c.Pattern != PatternRoundtrip && strings.HasSuffix(c.IO, "/blocking")
}

// ChunkSize returns the size in a framing's spec, in bytes; 0 if it has none.
func ChunkSize(framing string) int {
	_, size, _ := strings.Cut(framing, ":")
	n, _ := strconv.Atoi(size) // 0 of what is no number
	return n
}

// DifferingFields names the fields in which cells differ, but for those named.
func DifferingFields(cells []Cell, but ...string) []string {
	var out []string
	for _, name := range CellFieldNames() {
		differs := func(c Cell) bool { return c.Field(name) != cells[0].Field(name) }
		if !slices.Contains(but, name) && slices.ContainsFunc(cells, differs) {
			out = append(out, name)
		}
	}
	return out
}

// ShortValue returns a field's value as a person reads it.
func ShortValue(name, value string) string {
	switch name {
	case "capacity":
		if value == "0" {
			return "default"
		}
		fallthrough
	case "size", "read_buffer", "drain":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return FormatSize(n) + map[bool]string{true: "/s"}[name == "drain"]
		}
	case "messages":
		return ShortID(value)
	}
	return cmp.Or(value, "-")
}

// ShortID returns enough of a hash to tell it from its neighbours.
func ShortID(id string) string {
	id, _ = strings.CutPrefix(id, "sha256:")
	return id[:min(len(id), 8)]
}

// CellLabel returns "ndjson 64 KiB stream same", and then the fields named.
func CellLabel(c Cell, differ []string) string {
	words := []string{c.Framing, FormatSize(int64(c.Size)), c.Pattern, c.Placement}
	for _, name := range differ {
		words = append(words, name+"="+ShortValue(name, c.Field(name)))
	}
	return strings.Join(words, " ")
}

// CellFieldNames lists the names of all fields that a cell can have, sorted.
func CellFieldNames() []string {
	var out []string
	for _, f := range cellFields() {
		out = append(out, f.name)
	}
	return out
}

// Values of a cell's fields that views and comparisons depend on.
const (
	FramingRaw       = "raw"       // the framing that adds nothing: the floor of every comparison
	PatternRoundtrip = "roundtrip" // the pattern in which each message is answered
)
