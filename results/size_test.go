package results_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestFormatSize(t *testing.T) {
	for bytes, want := range map[int64]string{
		0: "0 B", 1: "1 B", 64: "64 B", 1023: "1,023 B", 1024: "1 KiB", 4096: "4 KiB",
		61440: "60 KiB", 61441: "61,441 B", 1 << 20: "1 MiB", 1<<20 + 1: "1,048,577 B",
		3 << 19: "1,536 KiB", 1 << 30: "1 GiB",
	} {
		if got := results.FormatSize(bytes); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64 // -1: an error
	}{
		{"64", 64}, {"64B", 64}, {"4KiB", 4096}, {"4k", 4096}, {"4K", 4096}, {"65kB", 65_000},
		{"4 KiB", 4096},
		{"1MiB", 1 << 20}, {"1.5MB", 1_500_000}, {"2GB", 2_000_000_000}, {"1.5k", 1536},
		{" 2g ", 2 << 30}, {"0", 0},
		{"", -1}, {"-1", -1}, {"KiB", -1}, {"4 apples", -1}, {"0.3", -1}, {"1e3", -1},
		{"99999999999g", -1},
	} {
		got, err := results.ParseSize(tt.in)
		if (err != nil) != (tt.want < 0) || err == nil && got != tt.want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", tt.in, got, err, tt.want)
		}
	}
}

func TestAByteRateThatIsWrongSaysWhy(t *testing.T) {
	for in, want := range map[string]string{
		"20 parsecs": `unit "parsecs" is not known`, "99999999999GB/s": "too large",
		"0.5B/s": "not a whole number", "fast": "such as 200MB/s",
	} {
		if n, err := results.ParseByteRate(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseByteRate(%q) = %d, %v, want an error with %q", in, n, err, want)
		}
	}
}

func TestSizesReadBackAsWritten(t *testing.T) {
	for range 1000 {
		n := rand.Int64N(1 << (1 + rand.IntN(50)))
		if got, err := results.ParseSize(results.SizeArgument(n)); err != nil || got != n {
			t.Fatalf("%d is written %q and read back as %d, %v",
				n, results.SizeArgument(n), got, err)
		}
	}
}

func TestQuantities(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{results.FormatGoodput(3.2149e9), "3.21 GB/s"},
		{results.FormatGoodput(9.996e9), "10.0 GB/s"},
		{results.FormatGoodput(999.96e6), "1.00 GB/s"},
		{results.FormatGoodput(950e6), "950 MB/s"},
		{results.FormatGoodput(6.1e6), "6.10 MB/s"},
		{results.FormatGoodput(0), "0 B/s"},
		{results.FormatDuration(7600), "7.60 µs"},
		{results.FormatDuration(120), "120 ns"},
		{results.FormatDuration(0.5), "0.500 ns"},
		{results.FormatDuration(1.25e9), "1.25 s"},
		{results.FormatDuration(7.3e12), "7300 s"},
		{results.FormatPercent(0.0746), "0.075 %"},
		{results.FormatPercent(6.23), "6.2 %"},
		{results.FormatPercent(123.4), "123 %"},
		{results.FormatPercent(0), "0 %"},
		{results.FormatGrouped(0), "0"},
		{results.FormatGrouped(999), "999"},
		{results.FormatGrouped(1000), "1,000"},
		{results.FormatGrouped(2209332), "2,209,332"},
		{results.FormatGrouped(-123456), "-123,456"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestAPercentageIsNeverAHundredDigits(t *testing.T) {
	for percent, want := range map[float64]string{
		0.075: "0.075 %", 4200: "4200 %",
		2e6: "over 1,000,000 %", 1e300: "over 1,000,000 %",
	} {
		if got := results.FormatPercent(percent); got != want {
			t.Errorf("%v: got %q, want %q", percent, got, want)
		}
	}
}
