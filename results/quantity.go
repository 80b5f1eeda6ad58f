package results

import (
	"math"
	"strconv"
)

// FormatGoodput writes payload bytes a second with three significant digits,
// in the decimal unit that fits: "3.21 GB/s", "950 MB/s", "12.0 kB/s".
func FormatGoodput(bytesPerSecond float64) string {
	return scaled(bytesPerSecond, []scale{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}})
}

// FormatDuration writes nanoseconds with three significant digits, in the unit
// that fits: "7.60 µs", "120 ns", "1.25 s".
func FormatDuration(ns float64) string {
	return scaled(ns, []scale{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}})
}

// mostPercent is the largest share that is written out: beyond a factor of ten
// thousand its digits say nothing, and there may be a hundred of them.
const mostPercent = 1e6

// FormatPercent writes a share given in percent so that what is small but
// there does not read as nothing: "6.2 %", "0.075 %", "0 %".
func FormatPercent(percent float64) string {
	if percent > mostPercent {
		return "over 1,000,000 %"
	}
	return significant(percent, 2) + " %"
}

// A scale is a unit and how many of the smallest unit it holds.
type scale struct {
	size float64
	unit string
}

// scaled writes v in the largest unit of which it holds one, or in the
// smallest. What would round up to 1000 moves on to the next unit.
func scaled(v float64, scales []scale) string {
	for _, s := range scales {
		if math.Abs(v) >= s.size*0.9995 {
			return significant(v/s.size, 3) + " " + s.unit
		}
	}
	last := scales[len(scales)-1]
	return significant(v/last.size, 3) + " " + last.unit
}

// significant writes v with at least the given number of significant digits,
// never in exponents, whole numbers in full: 3.21, 32.1, 321, 3210.
func significant(v float64, digits int) string {
	switch {
	case math.IsNaN(v):
		return "?"
	case math.IsInf(v, 0):
		return "∞"
	case v == 0:
		return "0"
	}
	magnitude := int(math.Floor(math.Log10(math.Abs(v)))) + 1
	if rounded := math.Abs(v) * math.Pow(10, float64(digits-magnitude)); math.Round(rounded) >= math.Pow(10, float64(digits)) {
		magnitude++ // 9.996 is 10.0, not 10.00
	}
	return strconv.FormatFloat(v, 'f', max(0, digits-magnitude), 64)
}

// grouped writes a whole number with its thousands apart: "2,209,332".
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
