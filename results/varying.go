package results

import (
	"slices"
	"strconv"
	"strings"
)

// varying names the fields in which cells differ, but for those named.
func varying(cells []Cell, but ...string) []string {
	values := make(map[string]map[string]bool)
	for _, c := range cells {
		for _, f := range c.Fields() {
			if values[f.Name] == nil {
				values[f.Name] = make(map[string]bool)
			}
		}
	}
	var out []string
	for name, seen := range values {
		for _, c := range cells {
			seen[fieldOf(c, name)] = true
		}
		if len(seen) > 1 && !slices.Contains(but, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// fieldOf is a field of a cell by its name in the file, "" where it is not
// there.
func fieldOf(c Cell, name string) string {
	for _, f := range c.Fields() {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// shortValue is a field's value as a person reads it.
func shortValue(name, value string) string {
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
		return shortID(value)
	}
	if value == "" {
		return "-"
	}
	return value
}

// shortID is enough of a hash to tell it from its neighbours.
func shortID(id string) string {
	id, _ = strings.CutPrefix(id, "sha256:")
	return id[:min(len(id), 8)]
}
