package results

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// FormatGoodput writes bytes per second with three significant digits: "3.21 GB/s", "950 MB/s",
// "12.0 kB/s". Its units are powers of 1000.
func FormatGoodput(bytesPerSecond float64) string { return scaled(bytesPerSecond, scales["B/s"]) }

// FormatDuration writes nanoseconds with three significant digits: "7.60 µs", "120 ns", "1.25 s".
func FormatDuration(ns float64) string { return scaled(ns, scales["ns"]) }

// mostPercent is the largest percentage that is written as a number.
const mostPercent = 1e6

// FormatPercent writes a share in percent: "6.2 %", "0 %". A small share does not look like zero:
// "0.075 %".
func FormatPercent(percent float64) string {
	if percent > mostPercent {
		return "over 1,000,000 %"
	}
	return FormatNumber(percent, 2) + " %"
}

type scale struct {
	size float64
	unit string
}

// scales lists the units in which a quantity can be written, the largest first. The keys are the
// base units.
var scales = map[string][]scale{
	"B":   {{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}},
	"B/s": {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}},
	"ns":  {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}},
	"":    {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}},
}

// FormatLabel writes a value in short form: "64 KiB", "1.5 GB/s", "20 µs". It rounds every value,
// also a size, and drops trailing zeros.
func FormatLabel(v float64, unit string) string {
	units, known := scales[unit]
	switch {
	case !known:
		units = []scale{{1, unit}}
	case v == 0:
		return "0"
	}
	number, unit, _ := strings.Cut(scaled(v, units), " ")
	if strings.Contains(number, ".") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return strings.TrimSpace(number + " " + unit)
}

// scaled writes v in the largest unit that is not larger than v. If all are larger, it takes the
// smallest unit.
func scaled(v float64, units []scale) string {
	// A value of 0.9995 of a unit or more rounds to 1.00 of that unit.
	fits := func(u scale) bool { return math.Abs(v) >= u.size*0.9995 || u.size == 1 }
	u := units[slices.IndexFunc(units, fits)]
	return FormatNumber(v/u.size, 3) + " " + u.unit
}

// FormatNumber writes v with the given number of significant digits, but always its whole integer
// part: "3.21", "32.1", "3210".
func FormatNumber(v float64, digits int) string {
	switch {
	case math.IsNaN(v):
		return "?"
	case math.IsInf(v, 0):
		return "∞"
	case v == 0:
		return "0"
	}
	magnitude := int(math.Floor(math.Log10(math.Abs(v)))) + 1 // digits before the decimal point
	shifted := math.Abs(v) * math.Pow(10, float64(digits-magnitude))
	if math.Round(shifted) >= math.Pow(10, float64(digits)) {
		magnitude++ // 9.996 is 10.0, not 10.00
	}
	return strconv.FormatFloat(v, 'f', max(0, digits-magnitude), 64)
}

// FormatGrouped writes a whole number with commas between the thousands: "2,209,332".
func FormatGrouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// FormatSize writes a number of bytes exactly: "64 B", "60 KiB", "61,441 B".
func FormatSize(bytes int64) string {
	units := scales["B"]
	fits := func(u scale) bool { return bytes%int64(u.size) == 0 && (bytes != 0 || u.size == 1) }
	u := units[slices.IndexFunc(units, fits)]
	return FormatGrouped(bytes/int64(u.size)) + " " + u.unit
}

// SizeArgument writes a number of bytes as a flag takes it: "64KiB", "61441B".
func SizeArgument(bytes int64) string {
	return strings.NewReplacer(" ", "", ",", "").Replace(FormatSize(bytes))
}

// byteUnits are the units of sizes and of rates.
var byteUnits = map[string]float64{
	"": 1, "b": 1,
	"kb": 1e3, "kib": 1 << 10,
	"mb": 1e6, "mib": 1 << 20,
	"gb": 1e9, "gib": 1 << 30,
}

var bytesForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)$`)

// ParseSize parses a size that a person typed: "64", "4KiB", "4k", "1.5MB" (1,500,000 bytes).
func ParseSize(s string) (int64, error) {
	n, err := parseBytes(s, "ib")
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	return n, nil
}

// ParseByteRate parses a number of bytes per second: "50000000", "200MB/s", "20MB".
func ParseByteRate(s string) (int64, error) {
	plain, _ := strings.CutSuffix(strings.TrimSpace(s), "/s")
	n, err := parseBytes(plain, "b")
	if err != nil {
		return 0, fmt.Errorf("rate %q (want bytes per second, such as 200MB/s): %w", s, err)
	}
	return n, nil
}

// parseBytes reads a number of bytes. To a unit of a single letter, such as "k", it adds rest.
func parseBytes(s, rest string) (int64, error) {
	m := bytesForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, errors.New("want a number of bytes such as 64, 4KiB or 1MiB")
	}
	name := strings.ToLower(m[2])
	if len(name) == 1 && name != "b" {
		name += rest
	}
	unit, known := byteUnits[name]
	if !known {
		return 0, fmt.Errorf("unit %q is not known; known are B, k, kB, KiB, M, MB, MiB, G, GB "+
			"and GiB", m[2])
	}
	n, err := strconv.ParseFloat(m[1], 64)
	bytes := n * unit
	switch {
	case err != nil:
		return 0, err
	case bytes > 1<<53: // a float64 cannot hold every whole number above this
		return 0, errors.New("too large")
	case bytes != math.Trunc(bytes):
		return 0, errors.New("not a whole number of bytes")
	}
	return int64(bytes), nil
}

// FormatUnit writes a figure with its unit, as most tables show it.
func FormatUnit(v float64, unit string) string {
	switch unit {
	case "B/s", "ns":
		return scaled(v, scales[unit])
	case "%":
		return FormatPercent(v)
	case "ns/MiB":
		return FormatDuration(v) + "/MiB"
	case "":
		return FormatNumber(v, 3)
	case "B":
		if v == math.Trunc(v) {
			return FormatSize(int64(v))
		}
		if v >= 1000 {
			return FormatGrouped(int64(math.Round(v))) + " B"
		}
		return strconv.FormatFloat(v, 'f', 1, 64) + " B"
	}
	return FormatNumber(v, 3) + " " + unit
}

// FormatExact works as [FormatUnit] does, but writes whole bytes without a larger unit: "61,440 B".
func FormatExact(v float64, unit string) string {
	if unit == "B" && v == math.Trunc(v) {
		return FormatGrouped(int64(v)) + " B"
	}
	return FormatUnit(v, unit)
}

// FormatCount returns a number and its noun: "0 plots", "1 plot", "3 processes".
func FormatCount(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		what += "es"
	default:
		what += "s"
	}
	return FormatGrouped(int64(n)) + " " + what
}
