package results

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// FormatSize writes a number of bytes as exactly as it is: "64 B", "60 KiB",
// "1 MiB", and "61441 B" where no larger unit divides it.
func FormatSize(bytes int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if bytes != 0 && bytes%u.bytes == 0 {
			return fmt.Sprintf("%d %s", bytes/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d B", bytes)
}

var sizeText = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)$`)

// sizeUnits are what a size may end with. They count in 1024s whatever their
// spelling.
var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
}

// ParseSize reads a size as a person types it: "64", "4KiB", "4k", "1.5MB",
// "1 MiB". Units are always powers of 1024; a part of a byte is an error.
func ParseSize(s string) (int64, error) {
	m := sizeText.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, fmt.Errorf("size %q: want a number of bytes such as 64, 4KiB or 1MiB", s)
	}
	unit, ok := sizeUnits[strings.ToLower(m[2])]
	if !ok {
		return 0, fmt.Errorf("size %q: unit %q is not known; known are B, KiB, MiB and GiB", s, m[2])
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	bytes := n * unit
	if bytes > 1<<53 {
		return 0, fmt.Errorf("size %q: too large", s)
	}
	if bytes != math.Trunc(bytes) {
		return 0, fmt.Errorf("size %q: not a whole number of bytes", s)
	}
	return int64(bytes), nil
}
