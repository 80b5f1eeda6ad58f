package results

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// A Field describes one field of a [Cell], for flags, tables and plots.
type Field struct {
	Name    string // as it stands in the file
	Help    string // one line, for a flag or a list
	Default string // what a missing value means, in words

	kind fieldKind
	at   func(*Cell) any // returns a pointer to the field
}

// A fieldKind says how the text of a field is parsed and shown.
type fieldKind int

const (
	kindText  fieldKind = iota
	aNeeded             // text that must not be empty
	aCount              // number of messages
	aSize               // size in bytes
	aFullSize           // size in bytes, which is in the file even if it is 0
	aDecimal            // a number of zero or more
	aRate               // rate in bytes per second
	anOffset            // a position within a page of memory
	aWait               // a duration
	aSource             // "hot" or "fresh"
	aHash               // a hash, of which only the beginning is shown
	aSwitch             // true or false
)

// fields lists all fields of a cell, sorted by name. Each has a text for help, a text about missing
// values, a kind, and a function that returns a pointer to the field.
var fields = []Field{
	{"batch", "messages that leave in one system call, in streams", "one",
		aCount, func(c *Cell) any { return &c.Batch }},
	{"capacity", "pipe capacity to ask for", "left to the system",
		aFullSize, func(c *Cell) any { return &c.Capacity }},
	{"closes_after", "messages after which the reader of a stream closes its end", "never",
		aCount, func(c *Cell) any { return &c.ClosesAfter }},
	{"drain", "bytes per second that the reader of a stream limits itself to, such as 200MB/s",
		"no limit", aRate, func(c *Cell) any { return &c.Drain }},
	{"frame_wait",
		"mixed: the size of frames follows the pipe's rate, so that one takes about this long",
		"frames have the framing's size", aWait, func(c *Cell) any { return &c.FrameWait }},
	{"framing", "framing, such as ndjson or chunked:16KiB", "",
		aNeeded, func(c *Cell) any { return &c.Framing }},
	{"inflight", "closed loop: unanswered messages at a time, in round trips", "one",
		aCount, func(c *Cell) any { return &c.Inflight }},
	{"io", "how the ends wait: one value for both, or writer/reader", "",
		aNeeded, func(c *Cell) any { return &c.IO }},
	{"messages", "hash of the recording that is replayed", "generated messages",
		aHash, func(c *Cell) any { return &c.Messages }},
	{"pattern", "what passes between the ends", "",
		aNeeded, func(c *Cell) any { return &c.Pattern }},
	{"payload", "what generated messages are made of", "",
		aNeeded, func(c *Cell) any { return &c.Payload }},
	{"payload_offset", "where in a page of memory messages begin; 0 is as Go allocates",
		"drawn for each start of the workers",
		anOffset, func(c *Cell) any { return &c.PayloadOffset }},
	{"pipe", "kind of pipe", "", aNeeded, func(c *Cell) any { return &c.Pipe }},
	{"placement", "where the ends run", "", aNeeded, func(c *Cell) any { return &c.Placement }},
	{"rate", "open loop: messages due per second, whether or not the pipe takes them",
		"as fast as the pipe takes them", aDecimal, func(c *Cell) any { return &c.Rate }},
	{"read_buffer", "bytes the reader asks for at once", "256 KiB",
		aSize, func(c *Cell) any { return &c.ReadBuffer }},
	{"read_offset", "where in a page of memory the reader's buffers begin", "128",
		anOffset, func(c *Cell) any { return &c.ReadOffset }},
	{"size", "message size", "", aFullSize, func(c *Cell) any { return &c.Size }},
	{"source", "fresh: each message is another of 16 MiB of copies", SourceHot,
		aSource, func(c *Cell) any { return &c.Source }},
	{"touch", "the reader looks at every byte of each message", "it does not",
		aSwitch, func(c *Cell) any { return &c.Touch }},
	{"transfer", "vmsplice: hand over pages instead of copies, in raw streams", "copied",
		kindText, func(c *Cell) any { return &c.Transfer }},
	{"work", "CPU time that the reader spends after each read, in ns per byte", "none",
		aDecimal, func(c *Cell) any { return &c.Work }},
	{"write_size", "most bytes that one write hands over", "whole messages",
		aSize, func(c *Cell) any { return &c.WriteSize }},
}

// Fields returns all fields that a cell can have, sorted by name.
func Fields() []Field { return slices.Clone(fields) }

// FieldByName finds a field by its name in the file.
func FieldByName(name string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// CellFieldNames lists the names of all fields that a cell can have, sorted.
func CellFieldNames() []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Name)
	}
	return out
}

// Text returns the field's value as the file has it, or "" if the file leaves out the field.
func (f Field) Text(c Cell) string {
	switch field := f.at(&c).(type) {
	case *string:
		return *field
	case *bool:
		if *field {
			return "true"
		}
	case *int:
		if *field != 0 || f.kind == aFullSize {
			return strconv.Itoa(*field)
		}
	case *int64:
		if *field != 0 {
			return strconv.FormatInt(*field, 10)
		}
	case *float64:
		if *field != 0 { // without the exponent that a large number would get
			return strconv.FormatFloat(*field, 'f', -1, 64)
		}
	}
	return ""
}

// number returns the field's value, or 0 if the field is no number.
func (f Field) number(c Cell) float64 {
	switch field := f.at(&c).(type) {
	case *int:
		return float64(*field)
	case *int64:
		return float64(*field)
	case *float64:
		return *field
	}
	return 0
}

// Compare orders two cells by their numbers in the field or, if the field is no number, by their
// texts.
func (f Field) Compare(a, b Cell) int {
	return cmp.Or(cmp.Compare(f.number(a), f.number(b)), cmp.Compare(f.Text(a), f.Text(b)))
}

// Show turns a result of [Field.Text] into a text for people: "65536" becomes "64 KiB".
func (f Field) Show(text string) string {
	if text == "" {
		return "-"
	}
	switch f.kind {
	case aSize, aFullSize:
		n, err := strconv.ParseInt(text, 10, 64)
		if n == 0 && f.Default != "" {
			return "default"
		}
		if err == nil {
			return FormatSize(n)
		}
	case aRate:
		n, err := strconv.ParseFloat(text, 64)
		if err == nil {
			return FormatLabel(n, "B/s")
		}
	case aHash:
		return ShortID(text)
	}
	return text
}

// ShortValue is [Field.Show] of the field with the given name.
func ShortValue(name, text string) string {
	f, _ := FieldByName(name)
	return f.Show(text)
}

// Set sets the field of a cell to a value that a person typed, such as "64KiB".
func (f Field) Set(c *Cell, s string) error {
	var err error
	switch field := f.at(c).(type) {
	case *string:
		*field, err = f.parseText(s)
	case *int:
		*field, err = f.parseNumber(s)
	case *int64:
		*field, err = ParseByteRate(s)
	case *float64:
		*field, err = strconv.ParseFloat(s, 64)
		isNumber := *field >= 0 && !math.IsInf(*field, 0) // NaN >= 0 is false
		if err != nil || !isNumber {
			err = fmt.Errorf("want a plain number of 0 or more, such as 1: %s", f.Help)
		}
	case *bool:
		*field, err = strconv.ParseBool(s)
		if err != nil {
			err = errors.New("want true or false")
		}
	}
	return err
}

// parseText checks a value that a person typed and returns it as the file has it. For the default,
// it returns "".
func (f Field) parseText(s string) (string, error) {
	switch f.kind {
	case anOffset:
		if s == "" {
			return "", nil
		}
		_, err := ParseOffset(s)
		return s, err
	case aWait:
		if s == "" || s == "0" {
			return "", nil
		}
		d, err := ParseFrameWait(s)
		return d.String(), err
	case aSource:
		switch s {
		case "", SourceHot:
			return "", nil
		case SourceFresh:
			return s, nil
		}
		return "", fmt.Errorf("source %q is unknown; known are hot and fresh", s)
	}
	return s, nil
}

// The largest values that a person may ask for.
const (
	mostCounted = 1_000_000 // messages
	largestSize = 1 << 30   // bytes
)

// parseNumber reads a count or a size.
func (f Field) parseNumber(s string) (int, error) {
	if f.kind == aCount {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > mostCounted {
			return 0, fmt.Errorf("%q: want a number from 0 to %d", s, mostCounted)
		}
		return n, nil
	}
	n, err := ParseSize(s)
	if err == nil && n > largestSize {
		return 0, fmt.Errorf("size %q is above %s", s, FormatSize(largestSize))
	}
	return int(n), err
}

// PageOffsets is the upper bound of [Cell.PayloadOffset] and [Cell.ReadOffset], in bytes. It does
// not depend on the size of the system's pages.
const PageOffsets = 4096

// ParseOffset reads a position within a page of memory, in bytes.
func ParseOffset(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= PageOffsets || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("offset %q: want a position within a page, 0 to %d", s, PageOffsets-1)
	}
	return n, nil
}

// ParseFrameWait reads a duration above zero.
func ParseFrameWait(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("frame wait %q: want a duration above zero, such as 5ms", s)
	}
	return d, nil
}
