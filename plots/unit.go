package plots

import (
	"math"
	"strconv"
)

// A Unit says how the values of an axis are written.
type Unit string

// Units. Sizes are binary (KiB = 1024), rates and times decimal
// (1 GB/s = 10^9 B/s), as everywhere in pipebench.
const (
	Bytes   Unit = "B"
	Rate    Unit = "B/s"
	Nanos   Unit = "ns"
	PerByte Unit = "ns/B"
	Percent Unit = "%"
	Times   Unit = "×"
	Number  Unit = ""
)

// prefixes of a unit, the largest first.
type prefix struct {
	factor float64
	name   string
}

var (
	bytePrefixes  = []prefix{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
	ratePrefixes  = []prefix{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}
	timePrefixes  = []prefix{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}
	countPrefixes = []prefix{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
)

// Format writes a value with its unit: "64 KiB", "1.5 GB/s", "20 µs", "0.1 %".
func (u Unit) Format(v float64) string {
	switch u {
	case Bytes:
		return scaled(v, bytePrefixes)
	case Rate:
		return scaled(v, ratePrefixes)
	case Nanos:
		return scaled(v, timePrefixes)
	case Number:
		return scaled(v, countPrefixes)
	case Percent:
		return short(v) + " %"
	case Times:
		return short(v) + "×"
	default:
		return short(v) + " " + string(u)
	}
}

func scaled(v float64, prefixes []prefix) string {
	if v == 0 {
		return "0"
	}
	for _, p := range prefixes {
		if math.Abs(v) >= p.factor*(1-1e-9) {
			return joined(short(v/p.factor), p.name)
		}
	}
	return joined(short(v), prefixes[len(prefixes)-1].name)
}

func joined(number, unit string) string {
	if unit == "" {
		return number
	}
	return number + " " + unit
}

// short writes three significant digits at most, never with an exponent.
func short(v float64) string {
	switch {
	case v == 0: // and -0
		return "0"
	case !finite(v):
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
