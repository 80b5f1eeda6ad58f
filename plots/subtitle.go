package plots

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// subtitle says where and on what the records were measured: a line for the
// machine, one for the cells.
func (v view) subtitle(skip ...dimension) []string {
	var out []string
	if line := v.machineLine(); line != "" {
		out = append(out, line)
	}
	return append(out, v.cellLine(skip))
}

func (v view) machineLine() string {
	ids := v.values(machine)
	if len(ids) > 1 {
		return fmt.Sprintf("%d machines", len(ids))
	}
	for _, r := range v.records {
		if e, ok := v.set.Environment(r.Run); ok {
			return describe(e)
		}
	}
	return ""
}

// describe names a machine: "lab · Intel Xeon · 2 CPUs · linux 6.12 amd64 · kvm".
func describe(e results.Environment) string {
	cpus := fmt.Sprintf("%d CPUs", e.CPUs)
	if e.CPUs == 1 {
		cpus = "1 CPU"
	}
	return joinParts(e.Hostname, e.CPU, cpus, strings.TrimSpace(e.OS+" "+e.Kernel+" "+e.Arch), e.Virtualisation)
}

func joinParts(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// cellLine says what all records have in common, of the things that decide a
// figure.
func (v view) cellLine(skip []dimension) string {
	var parts []string
	for _, d := range []dimension{"pipe", "capacity", "peer", "io", "payload", "size", "placement", "transfer", "drain", "rate", "inflight", "batch", "read_buffer", "clock", "messages", "sender"} {
		values := v.values(d)
		if len(values) == 1 && !slices.Contains(skip, d) {
			parts = append(parts, v.phrase(d, values[0]))
		}
	}
	return joinParts(parts...)
}

// phrase puts a value of a cell into words; "" says nothing.
func (v view) phrase(d dimension, value string) string {
	switch d {
	case "pipe":
		return value + " pipe"
	case "capacity":
		return "capacity " + v.capacity(value)
	case "peer":
		return map[string]string{"process": "two processes", "thread": "two threads"}[value]
	case "io":
		return "io " + value
	case "payload":
		return value + " payload"
	case "size":
		if value == "0" {
			return ""
		}
		return display(d, value) + " messages"
	case "placement":
		return "ends " + value
	}
	if value == "" {
		return ""
	}
	return string(d) + " " + display(d, value)
}

// capacity is what was read back, where all samples agree, else what was
// asked for.
func (v view) capacity(asked string) string {
	var back []int
	for _, r := range v.records {
		for _, s := range r.Samples {
			back = append(back, s.Capacity)
		}
	}
	slices.Sort(back)
	back = slices.Compact(back)
	if len(back) == 1 && back[0] > 0 {
		return results.FormatSize(int64(back[0]))
	}
	return display("capacity", asked)
}

func joinWords(words ...string) string { return strings.TrimSpace(strings.Join(words, " ")) }

// clipped cuts a text that is longer than most characters.
func clipped(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
