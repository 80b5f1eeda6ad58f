package results

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Field describes one field of a [Cell]. Keys, flags, benchmark names, tables and plots are made
// from the one list of them, [Fields].
type Field struct {
	Name    string // in the file
	Help    string // one line, for a flag or a list
	Default string // what a cell is that does not have the field, in words

	Text func(Cell) string         // the value as it stands in the file; "" if it is left out there
	Show func(text string) string  // a value of Text as a person reads it
	Set  func(*Cell, string) error // reads the value as a person types it

	required bool               // every cell has it, and as text it is not empty
	number   func(Cell) float64 // the value, if it is a number: not negative, and finite
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

// ShortValue returns the value of a field as a person reads it.
func ShortValue(name, text string) string {
	f, known := FieldByName(name)
	if !known {
		return showText(text)
	}
	return f.Show(text)
}

// PageOffsets is how many offsets a page of memory has that [Cell.PayloadOffset] and
// [Cell.ReadOffset] may ask for, in bytes. What copies cost depends on offsets modulo this,
// whatever the system's pages are.
const PageOffsets = 4096

var fields = []Field{
	count("batch", "messages that leave in one system call, in streams", "one",
		func(c *Cell) *int { return &c.Batch }),
	size("capacity", "pipe capacity to ask for", "left to the system",
		func(c *Cell) *int { return &c.Capacity }).always(),
	count("closes_after", "messages after which the reader of a stream closes its end", "never",
		func(c *Cell) *int { return &c.ClosesAfter }),
	drainField(),
	frameWaitField(),
	required("framing", "framing, such as ndjson or chunked:16KiB",
		func(c *Cell) *string { return &c.Framing }),
	count("inflight", "closed loop: unanswered messages at a time, in round trips", "one",
		func(c *Cell) *int { return &c.Inflight }),
	required("io", "how the ends wait: one value for both, or writer/reader",
		func(c *Cell) *string { return &c.IO }),
	messagesField(),
	text("older", "older files: what a cell cannot be any more", "nothing",
		func(c *Cell) *string { return &c.Older }),
	required("pattern", "what passes between the ends",
		func(c *Cell) *string { return &c.Pattern }),
	required("payload", "what generated messages are made of",
		func(c *Cell) *string { return &c.Payload }),
	offset("payload_offset", "where in a page of memory messages begin; 0 is as Go allocates",
		"drawn for each start of the workers",
		func(c *Cell) *string { return &c.PayloadOffset }),
	required("pipe", "kind of pipe", func(c *Cell) *string { return &c.Pipe }),
	required("placement", "where the ends run", func(c *Cell) *string { return &c.Placement }),
	decimal("rate", "open loop: messages due per second, whether or not the pipe takes them",
		"as fast as the pipe takes them",
		func(c *Cell) *float64 { return &c.Rate }),
	size("read_buffer", "bytes the reader asks for at once", "256 KiB",
		func(c *Cell) *int { return &c.ReadBuffer }),
	offset("read_offset", "where in a page of memory the reader's buffers begin", "128",
		func(c *Cell) *string { return &c.ReadOffset }),
	size("size", "message size", "", func(c *Cell) *int { return &c.Size }).always(),
	sourceField(),
	touchField(),
	text("transfer", "vmsplice: hand over pages instead of copies, in raw streams", "copied",
		func(c *Cell) *string { return &c.Transfer }),
	decimal("work", "CPU time that the reader spends after each read, in ns per byte", "none",
		func(c *Cell) *float64 { return &c.Work }),
	size("write_size", "most bytes that one write hands over", "whole messages",
		func(c *Cell) *int { return &c.WriteSize }),
}

// text describes a field that is text, left out of the file if it is empty.
func text(name, help, usual string, at func(*Cell) *string) Field {
	return Field{
		Name: name, Help: help, Default: usual,
		Text: func(c Cell) string { return *at(&c) },
		Show: showText,
		Set: func(c *Cell, s string) error {
			*at(c) = s
			return nil
		},
	}
}

// required describes text that every cell has.
func required(name, help string, at func(*Cell) *string) Field {
	f := text(name, help, "", at)
	f.required = true
	return f
}

// integer describes a field that is a whole number, left out of the file if it is 0.
func integer(name, help, usual string, at func(*Cell) *int) Field {
	return Field{
		Name: name, Help: help, Default: usual,
		Text: func(c Cell) string {
			n := *at(&c)
			if n == 0 {
				return ""
			}
			return strconv.Itoa(n)
		},
		number: func(c Cell) float64 { return float64(*at(&c)) },
	}
}

// mostCounted bounds what a person may ask for as a number of messages.
const mostCounted = 1_000_000

// count describes a number of messages.
func count(name, help, usual string, at func(*Cell) *int) Field {
	f := integer(name, help, usual, at)
	f.Show = showText
	f.Set = func(c *Cell, s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > mostCounted {
			return fmt.Errorf("%q: want a number from 0 to %d", s, mostCounted)
		}
		*at(c) = n
		return nil
	}
	return f
}

// largestSize bounds what a person may ask for as a number of bytes: 1 GiB.
const largestSize = 1 << 30

// size describes a number of bytes.
func size(name, help, usual string, at func(*Cell) *int) Field {
	f := integer(name, help, usual, at)
	f.Show = showSize
	f.Set = func(c *Cell, s string) error {
		n, err := ParseSize(s)
		if err != nil {
			return err
		}
		if n > largestSize {
			return fmt.Errorf("size %q is above %s", s, FormatSize(largestSize))
		}
		*at(c) = int(n)
		return nil
	}
	return f
}

// always is the field, but in the file even if it is 0.
func (f Field) always() Field {
	text, show := f.Text, f.Show
	f.Text = func(c Cell) string {
		if s := text(c); s != "" {
			return s
		}
		return "0"
	}
	f.Show = func(s string) string {
		if s == "0" && f.Default != "" {
			return "default"
		}
		return show(s)
	}
	return f
}

// decimal describes a number above 0, left out of the file if it is 0. It is written without the
// exponents that a large one would get.
func decimal(name, help, usual string, at func(*Cell) *float64) Field {
	return Field{
		Name: name, Help: help, Default: usual,
		Text: func(c Cell) string {
			v := *at(&c)
			if v == 0 {
				return ""
			}
			return strconv.FormatFloat(v, 'f', -1, 64)
		},
		number: func(c Cell) float64 { return *at(&c) },
		Show:   showText,
		Set: func(c *Cell, s string) error {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return fmt.Errorf("%q: want a number that is not negative", s)
			}
			*at(c) = v
			return nil
		},
	}
}

// offset describes a position within a page of memory.
func offset(name, help, usual string, at func(*Cell) *string) Field {
	f := text(name, help, usual, at)
	f.Set = func(c *Cell, s string) error {
		if s != "" {
			if _, err := ParseOffset(s); err != nil {
				return err
			}
		}
		*at(c) = s
		return nil
	}
	return f
}

// ParseOffset reads a position within a page of memory, in bytes.
func ParseOffset(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= PageOffsets || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("offset %q: want a position within a page, 0 to %d", s, PageOffsets-1)
	}
	return n, nil
}

// drainField describes a rate of bytes, whose units are decimal as everywhere.
func drainField() Field {
	return Field{
		Name:    "drain",
		Help:    "bytes per second that the reader of a stream limits itself to, such as 200MB/s",
		Default: "no limit",
		Text: func(c Cell) string {
			if c.Drain == 0 {
				return ""
			}
			return strconv.FormatInt(c.Drain, 10)
		},
		number: func(c Cell) float64 { return float64(c.Drain) },
		Show: func(s string) string {
			n, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return showText(s)
			}
			return FormatLabel(n, "B/s")
		},
		Set: func(c *Cell, s string) error {
			n, err := ParseByteRate(s)
			if err != nil {
				return err
			}
			c.Drain = n
			return nil
		},
	}
}

// messagesField describes the hash of a recording. A flag gives the recording's path instead.
func messagesField() Field {
	f := text("messages", "hash of the recording that is replayed", "generated messages",
		func(c *Cell) *string { return &c.Messages })
	f.Show = func(s string) string { return showText(ShortID(s)) }
	return f
}

// sourceField describes where messages lie before they are sent.
func sourceField() Field {
	f := text("source", "fresh: messages are sent from 64 MiB of copies in turn",
		SourceHot, func(c *Cell) *string { return &c.Source })
	f.Set = func(c *Cell, s string) error {
		switch s {
		case "", SourceHot:
			c.Source = ""
		case SourceFresh:
			c.Source = SourceFresh
		default:
			return fmt.Errorf("source %q is unknown; known are hot and fresh", s)
		}
		return nil
	}
	return f
}

// frameWaitField describes how long a small message may wait for a frame of a large one.
func frameWaitField() Field {
	f := text("frame_wait",
		"mixed: the size of frames follows the pipe's rate, so that one takes about this long",
		"frames have the framing's size", func(c *Cell) *string { return &c.FrameWait })
	f.Set = func(c *Cell, s string) error {
		c.FrameWait = ""
		if s == "" || s == "0" {
			return nil
		}
		d, err := ParseFrameWait(s)
		if err != nil {
			return err
		}
		c.FrameWait = d.String()
		return nil
	}
	return f
}

// ParseFrameWait reads a duration above zero.
func ParseFrameWait(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("frame wait %q: want a duration above zero, such as 5ms", s)
	}
	return d, nil
}

func touchField() Field {
	return Field{
		Name:    "touch",
		Help:    "the reader looks at every byte of each message",
		Default: "it does not",
		Text: func(c Cell) string {
			if !c.Touch {
				return ""
			}
			return "true"
		},
		Show: showText,
		Set: func(c *Cell, s string) error {
			v, err := strconv.ParseBool(s)
			if err != nil {
				return errors.New("want true or false")
			}
			c.Touch = v
			return nil
		},
	}
}

func showText(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func showSize(s string) string {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return showText(s)
	}
	return FormatSize(n)
}

// byteRateUnits are what a rate of bytes may end with, before "/s". They count in 1000s, as rates
// are shown; those with an i count in 1024s.
var byteRateUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1e3, "kb": 1e3, "kib": 1 << 10,
	"m": 1e6, "mb": 1e6, "mib": 1 << 20,
	"g": 1e9, "gb": 1e9, "gib": 1 << 30,
}

// ParseByteRate reads a number of bytes per second: "50000000", "200MB/s", "20MB".
func ParseByteRate(s string) (int64, error) {
	plain := strings.TrimSpace(strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), "/s"))
	digits := strings.TrimRight(plain, "abcdefghijklmnopqrstuvwxyz ")
	unit, known := byteRateUnits[strings.TrimSpace(plain[len(digits):])]
	n, err := strconv.ParseFloat(digits, 64)
	rate := n * unit
	if !known || err != nil || !(rate >= 0 && rate <= 1<<53) || rate != math.Trunc(rate) {
		return 0, fmt.Errorf("rate %q: want bytes per second, such as 200MB/s", s)
	}
	return int64(rate), nil
}
