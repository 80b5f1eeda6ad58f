package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
	"github.com/pipebench/pipebench/results/stat"
)

func setOf(machines ...resultstest.Machine) *results.Set {
	var sets []*results.Set
	for _, m := range machines {
		sets = append(sets, m.Run())
	}
	return results.Merge(sets...)
}

// alike returns machines as fast as each other.
func alike(n int) []resultstest.Machine {
	var all []resultstest.Machine
	for i := range n {
		all = append(all, resultstest.Machine{Name: fmt.Sprintf("n%02d", i+1)})
	}
	return all
}

// slow returns n machines, the first of which are slower in some framings.
func slow(n, first int, factors map[string]float64) []resultstest.Machine {
	all := alike(n)
	for i := range first {
		all[i].Slow = factors
	}
	return all
}

// with changes some machines.
func with(
	all []resultstest.Machine, change func(i int, m *resultstest.Machine),
) []resultstest.Machine {
	for i := range all {
		change(i, &all[i])
	}
	return all
}

// The first sentences on a fleet say what is built into it, and nothing else.
func TestAFleetIsToldByItsTruth(t *testing.T) {
	const compared = "Compared with other framings, "
	raw2 := map[string]float64{"raw": 2}
	all3 := map[string]float64{"": 3}
	ndjson := map[string]float64{"ndjson": 1.5}
	chunks := map[string]float64{"chunked:61440": 1.5}
	both := map[string]float64{"raw": 2, "ndjson": 2}
	// Ten machines have another kernel and a slower raw, and one other machine a slower ndjson.
	oldKernelsRaw := func(i int, m *resultstest.Machine) {
		switch {
		case i < 10:
			m.Kernel = "6.1.7"
			m.Slow = raw2
		case i == 10:
			m.Slow = ndjson
		}
	}
	tests := []struct {
		name     string
		machines []resultstest.Machine
		want     []string
	}{
		{"equal", alike(2), []string{
			"No framing, nor raw alone, differs by a tenth beyond the noise.",
			"Everything together differs by less than 1.5 times between 2 machines.",
		}},
		{"20 equal", alike(20), []string{
			"No framing, nor raw alone, differs by a tenth beyond the noise.",
			"Everything together differs by less than 1.5 times between 20 machines.",
		}},
		{"too noisy to tell", with(slow(2, 1, ndjson), func(_ int, m *resultstest.Machine) {
			m.Noise = 0.3
		}), []string{
			"Too noisy to tell whether a framing, or raw, differs.",
		}},
		{"one too noisy", with(alike(4), func(i int, m *resultstest.Machine) {
			if i == 3 {
				m.Noise = 0.6
			}
		}), []string{
			"No framing, nor raw alone, differs by a tenth beyond the noise.",
			"Everything together differs by less than 1.5 times between 3 machines; " +
				"too noisy, not measured, or unlike from run to run: n04.",
		}},
		{"raw of one of two", slow(2, 1, raw2), []string{
			compared + "raw is 2.0 times slower on n01 than on n02.",
		}},
		{"raw of one of 8", slow(8, 1, raw2), []string{
			compared + "raw is 2.0 times slower on n01 than on 7 others.",
		}},
		{"raw of ten of 20", slow(20, 10, raw2), []string{
			compared + "raw is 2.0 times slower on n01, n02, n03, n04, n05 " +
				"and 5 more than on 10 others.",
		}},
		{"raw of all but one", slow(3, 2, raw2), []string{
			compared + "raw is 2.0 times faster on n03 than on n01 and n02.",
		}},
		{"raw at one size", with(alike(2), func(i int, m *resultstest.Machine) {
			m.SlowAt = func(c results.Cell) float64 {
				if i == 1 && c.Framing == "raw" && c.Size == 4000 {
					return 2
				}
				return 1
			}
		}), []string{
			compared + "raw is 2.0 times slower on n02 than on n01, in 1 of 2 measurements " +
				"(4,000 B).",
		}},
		{"raw of one of two, and everything there", slow(2, 1, map[string]float64{
			"": 1.2, "raw": 1.3,
		}), []string{
			compared + "raw is 1.3 times slower on n01 than on n02.",
		}},
		{"raw of the faster of two", with(slow(2, 1, map[string]float64{"raw": 1.5}),
			func(i int, m *resultstest.Machine) {
				if i == 1 {
					m.Slow = map[string]float64{"": 1.2}
				}
			}), []string{
			compared + "raw is 1.5 times slower on n01 than on n02.",
		}},
		{"everything but one measurement", with(alike(8), func(i int, m *resultstest.Machine) {
			m.SlowAt = func(c results.Cell) float64 {
				if i == 0 && c.Size == 65000 {
					return 2
				}
				return 1
			}
		}), []string{
			"Everything is 2.0 times slower on n01 than on 7 others, in 1 of 2 measurements " +
				"(65,000 B).",
		}},
		{"everything", slow(2, 1, all3), []string{
			"Everything is 3.0 times slower on n01 than on n02.",
		}},
		{"everything on 4 of 8", slow(8, 4, all3), []string{
			"Everything is 3.0 times slower on n01, n02, n03 and n04 than on " +
				"n05, n06, n07 and n08.",
		}},
		{"everything, but little", slow(8, 4, map[string]float64{"": 1.3}), []string{
			"No framing, nor raw alone, differs by a tenth beyond the noise.",
			"Everything together differs by less than 1.5 times between 8 machines.",
		}},
		{"one framing", slow(3, 1, ndjson), []string{
			compared + "ndjson is 1.5 times slower on n01 than on n02 and n03.",
		}},
		{"one framing on ten of 20", slow(20, 10, chunks), []string{
			compared + "60 KiB chunks are 1.5 times slower on n01, n02, n03, " +
				"n04, n05 and 5 more than on 10 others.",
		}},
		{"raw and a framing", slow(2, 1, both), []string{
			compared + "raw is 2.0 times slower on n01 than on n02.",
			compared + "ndjson is 2.0 times slower on n01 than on n02.",
		}},
		{"raw and a framing of one of 9", slow(9, 1, both), []string{
			compared + "raw is 2.0 times slower on n01 than on 8 others.",
			compared + "ndjson is 2.0 times slower on n01 than on 8 others.",
		}},
		{"raw slower, a framing faster", slow(3, 1, map[string]float64{"raw": 2, "ndjson": 0.6}),
			[]string{
				compared + "raw is 2.0 times slower on n01 than on n02 and n03.",
				compared + "ndjson is 1.7 times faster on n01 than on n02 and n03.",
			}},
		{"all framings, not raw", slow(2, 1, map[string]float64{
			"ndjson": 2, "content-length": 2, "length-prefix": 2, "chunked:61440": 2,
		}), []string{
			"Compared with raw, all framings are 2.0 times slower on n01 than on n02.",
		}},
		{"all framings, one of them more", slow(2, 1, map[string]float64{
			"ndjson": 3, "content-length": 2, "length-prefix": 2, "chunked:61440": 2,
		}), []string{
			compared + "ndjson is 3.0 times slower on n01 than on n02.",
			compared + "length-prefix is 2.0 times slower on n01 than on n02.",
			compared + "60 KiB chunks are 2.0 times slower on n01 than on n02.",
			compared + "content-length is 2.0 times slower on n01 than on n02.",
		}},
		{"everything, and a framing more", slow(2, 1, map[string]float64{"": 3, "ndjson": 1.5}),
			[]string{
				"Everything is 3.0 times slower on n01 than on n02.",
				compared + "ndjson is 1.5 times slower on n01 than on n02.",
			}},
		{"three causes", with(alike(4), func(i int, m *resultstest.Machine) {
			m.Slow = []map[string]float64{nil, raw2, all3, chunks}[i]
		}), []string{
			"Everything is 3.0 times slower on n03 than on n01, n02 and n04.",
			compared + "raw is 2.0 times slower on n02 than on n01, n03 and n04.",
			compared + "60 KiB chunks are 1.5 times slower on n04 than on n01, n02 and n03.",
		}},
		{"a framing beside an unusual raw", with(alike(4), func(i int, m *resultstest.Machine) {
			m.Slow = []map[string]float64{nil, ndjson, raw2, raw2}[i]
		}), []string{
			compared + "raw is 2.0 times slower on n03 and n04 than on n01 " +
				"and n02.",
			compared + "ndjson is 1.5 times slower on n02 than on n01, n03 and n04.",
		}},
		{"a framing beside a kernel's raw", with(alike(30), oldKernelsRaw), []string{
			compared + "raw is 2.0 times slower on linux 6.1 than on linux 6.12.",
			compared + "ndjson is 1.5 times slower on n11 than on 29 others.",
		}},
		{"half of the others are faster", with(alike(21), func(i int, m *resultstest.Machine) {
			m.Kernel = []string{"6.1.7", "6.8.0"}[i%2]
			m.Slow = []map[string]float64{{"": 2}, nil}[i%2]
			if i == 0 {
				m.Slow = map[string]float64{"": 2, "raw": 2}
			}
		}), []string{
			"Everything is 2.0 times faster on linux 6.8 than on linux 6.1.",
			compared + "raw is 2.0 times slower on n01 than on 20 others.",
		}},
		{"raw of one of the faster few", with(alike(5), func(i int, m *resultstest.Machine) {
			m.CPU = "slow"
			m.Slow = map[string]float64{"": 2}
			if i < 2 {
				m.CPU = "fast"
				m.Slow = nil
			}
			if i == 0 {
				m.Slow = map[string]float64{"raw": 1.5}
			}
		}), []string{
			"Everything is 2.0 times faster on fast (n01 and n02) than on slow (n03, n04 and n05).",
			compared + "raw is 1.5 times slower on n01 than on n02, n03, n04 and n05.",
		}},
		{"a kernel, on one machine more", with(alike(6), func(i int, m *resultstest.Machine) {
			m.Kernel = []string{"6.8.0", "6.1.7"}[i%2]
			m.Slow = map[string]float64{"ndjson": []float64{1.5, 1, 1.5, 1, 2, 1}[i]}
		}), []string{
			compared + "ndjson is 2.0 times slower on n05 and 1.5 times slower on n01 and n03 " +
				"than on linux 6.1 (n02, n04 and n06). Only n01, n03 and n05 have linux 6.8.",
		}},
		{"a kernel, without a gap", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Kernel = []string{"6.8.0", "6.1.7"}[i%2]
			m.Slow = map[string]float64{"ndjson": 1 + 0.06*float64(6*((i+1)%2)+i/2)}
		}), []string{
			compared + "ndjson is 1.3 times slower on linux 6.8 than on linux 6.1, and up to " +
				"1.7 times between single machines.",
		}},
		{"slight differences of two framings", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{
				"ndjson":         1 + 0.015*float64(i),
				"content-length": 1 + 0.015*float64(i*7%12),
			}
		}), []string{
			"By degrees, machines that are alike otherwise differ by up to 1.2 times in " +
				"content-length and ndjson.",
		}},
		{"where two properties meet", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Kernel = []string{"6.1.7", "6.8.0"}[i%2]
			m.CPU = []string{"one", "two"}[i/2%2]
			if m.Kernel == "6.8.0" && m.CPU == "two" {
				m.Slow = map[string]float64{"": 2}
			}
		}), []string{
			"Everything is 2.0 times slower on linux 6.8 with two than on 9 others.",
		}},
		{"a framing beside the raw of half", with(alike(20), oldKernelsRaw), []string{
			compared + "raw is 2.0 times slower on linux 6.1 than on linux 6.12.",
			compared + "ndjson is 1.5 times slower on n11 than on 19 others.",
		}},
		{"three levels", with(alike(9), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"ndjson": []float64{1, 1.4, 2.2}[i/3]}
		}), []string{
			compared + "ndjson is 2.2 times slower on n07, n08 and n09 and 1.4 " +
				"times slower on n04, n05 and n06 than on n01, n02 and n03.",
		}},
		{"a gradient", with(alike(20), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"ndjson": 1 + 0.025*float64(i)}
		}), []string{
			compared + "ndjson is 1.5 times slower on n20 than on n01, with 18 machines in " +
				"between.",
		}},
		{"everything by degrees", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"": math.Pow(1.1, float64(i))}
		}), []string{
			"Everything is 2.8 times slower on n12 than on n01, with 10 machines in between.",
		}},
		{"steep degrees", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"ndjson": math.Pow(1.3, float64(i))}
		}), []string{
			compared + "ndjson is 18 times slower on n12 than on n01, with 10 machines in " +
				"between.",
		}},
		{"speeds spread over 1 to 2", with(alike(12), func(i int, m *resultstest.Machine) {
			_, spread := math.Modf(math.Phi * float64(i))
			m.Slow = map[string]float64{"": 1 + spread}
		}), []string{
			"Everything is 1.9 times slower on n09 than on n01, with 10 machines in between.",
		}},
		{"three machines by degrees", with(alike(3), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"chunked:61440": 1 + 0.3*float64(i)}
		}), []string{
			compared + "60 KiB chunks are 1.6 times slower on n03 and 1.3 times slower on n02 " +
				"than on n01.",
		}},
		{"one far off, the others by degrees", with(alike(12),
			func(i int, m *resultstest.Machine) {
				m.Slow = map[string]float64{"ndjson": 1 + 0.025*float64(i)}
				if i == 0 {
					m.Slow = map[string]float64{"ndjson": 3}
				}
			}), []string{
			compared + "ndjson is 2.6 times slower on n01 than on 11 others.",
			compared + "ndjson is 1.2 times slower on n12 than on n02, with 9 machines in " +
				"between.",
		}},
		{"one that is slowest, the others by degrees", with(alike(12),
			func(i int, m *resultstest.Machine) {
				m.Slow = map[string]float64{"raw": 1 + 0.03*float64(i)}
				if i == 11 {
					m.Slow = map[string]float64{"raw": 1.46}
				}
			}), []string{
			compared + "raw is 1.3 times slower on n12 than on 11 others.",
			compared + "raw is 1.3 times slower on n11 than on n01, with 9 machines in between.",
		}},
		{"two kernels", with(alike(8), func(i int, m *resultstest.Machine) {
			if i%2 == 0 {
				m.Kernel = "6.1.7"
				m.Slow = ndjson
			}
		}), []string{
			compared + "ndjson is 1.5 times slower on linux 6.1 than on linux 6.12.",
		}},
		{"few of two kernels", with(alike(4), func(i int, m *resultstest.Machine) {
			if i%2 == 0 {
				m.Kernel = fmt.Sprint("6.1.", i)
				m.Slow = ndjson
			}
		}), []string{
			compared + "ndjson is 1.5 times slower on linux 6.1 (n01 and n03) than on linux " +
				"6.12 (n02 and n04).",
		}},
		{"two kernels with their processors", with(alike(8), func(i int, m *resultstest.Machine) {
			m.CPU = "Xeon"
			if i%2 == 0 {
				m.CPU = "EPYC"
				m.Kernel = "6.1.7"
				m.Slow = all3
			}
		}), []string{
			"Everything is 3.0 times slower on linux 6.1 with EPYC than on linux 6.12 with " +
				"Xeon.",
		}},
		{"two zones", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Labels = map[string]string{"zone": []string{"ams", "fra"}[i/6]}
			if i >= 6 {
				m.Slow = chunks
			}
		}), []string{
			compared + "60 KiB chunks are 1.5 times slower on zone fra than on zone ams.",
		}},
		{"not all of a kernel", with(alike(12), func(i int, m *resultstest.Machine) {
			if i%2 == 0 {
				m.Kernel = "6.1.7"
			}
			if i%2 == 0 && i > 0 {
				m.Slow = ndjson
			}
		}), []string{
			compared + "ndjson is 1.5 times slower on linux 6.1 except n01 than on linux 6.12 " +
				"and n01.",
		}},
		{"three processors", with(alike(12), func(i int, m *resultstest.Machine) {
			m.CPU = []string{"AMD", "Intel", "Ampere"}[i/4]
			m.Slow = map[string]float64{"": []float64{1, 1.5, 2.5}[i/4]}
		}), []string{
			"Everything is 2.5 times slower on Ampere and 1.5 times slower on Intel than on " +
				"AMD.",
		}},
		{"three processors, two of them with a kernel", with(alike(6),
			func(i int, m *resultstest.Machine) {
				m.CPU = []string{"AMD", "Intel", "Ampere"}[i/2]
				m.Kernel = []string{"6.1.7", "6.8.0", "6.8.0"}[i/2]
				m.Slow = map[string]float64{"": []float64{1, 1.6, 2.8}[i/2]}
			}), []string{
			"Everything is 2.8 times slower on Ampere (n05 and n06) and 1.6 times slower on " +
				"Intel (n03 and n04) than on linux 6.1 with AMD (n01 and n02). " +
				"Only n03, n04, n05 and n06 have linux 6.8.",
		}},
		{"a processor, and one that is slower than its like", with(alike(20),
			func(i int, m *resultstest.Machine) {
				m.CPU = []string{"AMD", "Intel"}[i%2]
				m.Slow = map[string]float64{"": []float64{2, 1}[i%2]}
				if i == 7 {
					m.Slow = map[string]float64{"": 1.6}
				}
			}), []string{
			"Everything is 2.0 times faster on Intel except n08 than on AMD and n08.",
		}},
		{"raw alone beside a kernel's framing", with(alike(12),
			func(i int, m *resultstest.Machine) {
				m.Kernel = []string{"6.1.0", "6.8.0"}[i%2]
				m.Slow = map[string]float64{"content-length": []float64{1, 1.4}[i%2]}
				if i == 2 {
					m.Slow = raw2
				}
			}), []string{
			compared + "raw is 2.0 times slower on n03 than on 11 others.",
			compared + "content-length is 1.4 times slower on linux 6.8 than on linux 6.1.",
		}},
		{"each a little slower than the next", with(alike(5), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"": 1 + 0.1*float64(i)}
		}), []string{
			"No framing, nor raw alone, differs by a tenth beyond the noise.",
			"Everything together differs by less than 1.5 times between 5 machines.",
		}},
		{"one size better, one worse", with(alike(2), func(i int, m *resultstest.Machine) {
			m.SlowAt = func(c results.Cell) float64 {
				switch {
				case i == 0 || c.Framing != "ndjson":
					return 1
				case c.Size == 4000:
					return 0.7
				}
				return 1.5
			}
		}), []string{
			compared + "ndjson is 1.5 times slower on n02 than on n01, in 1 of 2 measurements " +
				"(65,000 B).",
			compared + "ndjson is 1.4 times slower on n01 than on n02, in 1 of 2 measurements " +
				"(4,000 B).",
		}},
		{"two runs of one machine", with(alike(2), func(i int, m *resultstest.Machine) {
			m.Name = "srv"
			m.After = time.Duration(i) * 25 * time.Hour
			if i == 1 {
				m.Slow = raw2
			}
		}), []string{
			"The runs of srv disagree: compared with other framings, raw is 2.0 " +
				"times slower in the run of 2026-11-22 than in the run of 2026-11-21.",
		}},
		{"one run of five", with(alike(5), func(i int, m *resultstest.Machine) {
			m.Name = "srv"
			m.After = time.Duration(i) * 24 * time.Hour
			if i == 2 {
				m.Slow = ndjson
			}
		}), []string{
			"The runs of srv disagree: compared with other framings, ndjson is 1.5 times " +
				"slower in the run of 2026-11-23 than in the runs of 2026-11-21, 2026-11-22, " +
				"2026-11-24 and 2026-11-25.",
		}},
		{"runs that drift", with(alike(12), func(i int, m *resultstest.Machine) {
			m.Name = "srv"
			m.After = time.Duration(i) * 24 * time.Hour
			m.Slow = map[string]float64{"ndjson": math.Pow(1.3, float64(i))}
		}), []string{
			"The runs of srv disagree: compared with other framings, ndjson is 18 times slower " +
				"in the run of 2026-12-02 than in the run of 2026-11-21, with 10 runs in between.",
		}},
		{"a machine whose runs disagree", with(alike(6), func(i int, m *resultstest.Machine) {
			if i == 0 {
				m.Slow = all3
			}
			if i > 3 {
				m.Name = "srv"
				m.After = time.Duration(i) * 24 * time.Hour
				m.Slow = map[string]float64{"": float64(i - 3)}
			}
		}), []string{
			"Everything is 3.0 times slower on n01 than on n02, n03 and n04.",
			"The runs of srv disagree: everything is 2.0 times slower in the run of 2026-11-26 " +
				"than in the run of 2026-11-25.",
		}},
	}
	for _, tt := range tests {
		lead := Summarise(setOf(tt.machines...)).Meaning
		isOfAll := func(text string) bool { return strings.Contains(text, "verything") }
		if tt.name != "too noisy to tell" && !slices.ContainsFunc(tt.want, isOfAll) {
			unit := "machines"
			if strings.HasPrefix(tt.want[0], "The runs of") {
				unit = "runs"
			}
			tt.want = append(tt.want, fmt.Sprintf("Everything together differs by less than 1.5 "+
				"times between %d %s.", len(tt.machines), unit))
		}
		if len(lead) < len(tt.want) {
			t.Errorf("%s: got %q", tt.name, lead)
			continue
		}
		for i, want := range tt.want {
			if got := lead[i]; got != want {
				t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, want)
			}
		}
		isTold := func(text string) bool {
			return strings.Contains(text, " times ") || strings.Contains(text, " of raw's speed")
		}
		if slices.ContainsFunc(lead[len(tt.want):], isTold) {
			t.Errorf("%s: also told: %q", tt.name, lead[len(tt.want):])
		}
	}
}

// The machines that stand out have reasons.
func TestMachinesThatStandOutHaveReasons(t *testing.T) {
	const load = "other programs kept 1 of 2 CPUs busy"
	machines := with(slow(10, 1, map[string]float64{"ndjson": 2}),
		func(i int, m *resultstest.Machine) {
			m.CPU = "EPYC"
			if i == 0 {
				m.CPU = "Xeon"
			}
		})
	set := setOf(machines...)
	for i := range set.Records {
		if i < 30 { // of three machines
			set.Records[i].Warnings = []string{"load: " + load}
		}
	}
	members := stat.FleetOf(set).Members()
	sections := FleetSections(members, nil)
	rows := textOf(sections[2].Tables[0])
	if !strings.HasPrefix(rows, "n01 | unusual in speed, and in this | ") ||
		!strings.HasSuffix(rows, " | Xeon") {
		t.Errorf("rows %q", rows)
	}
	members[1].Warnings, members[2].Warnings = nil, nil
	rows = textOf(FleetSections(members, nil)[2].Tables[0])
	if !strings.HasSuffix(rows, " | Xeon; "+load) {
		t.Errorf("rows %q", rows)
	}
}

// The table has the messages that the first sentence is about, and says that there are others.
func TestTheTableShowsWhatTheFirstSentenceSays(t *testing.T) {
	machines := alike(3)
	machines[1].SlowAt = func(c results.Cell) float64 {
		if c.Framing == "ndjson" && c.Size == 4000 {
			return 1.5
		}
		return 1
	}
	members := stat.FleetOf(setOf(machines...)).Members()
	table := FleetSections(members, nil)[1].Tables[0]
	const want = "Goodput vs raw, messages of 4,000 B, one CPU alone " +
		"(one of 2 combinations measured)"
	if table.Title != want {
		t.Errorf("title %q", table.Title)
	}
}

// The rows of the first table are told apart on a screen of 80 columns, too.
func TestRowsAreToldApart(t *testing.T) {
	machines := with(alike(40), func(i int, m *resultstest.Machine) {
		m.Kernel = []string{"6.1.0", "6.8.0"}[i%2]
		m.CPU = []string{"AMD EPYC 7763", "Intel(R) Xeon(R) Gold 6338"}[i/2%2]
		m.Slow = map[string]float64{"": []float64{1, 2}[i%2]}
	})
	table := FleetSections(stat.FleetOf(setOf(machines...)).Members(), nil)[0].Tables[0]
	parts, dropped := table.fit(80, false)
	if len(dropped) > 0 || len(parts[0].Rows) != 4 {
		t.Errorf("left out: %q, rows %v", dropped, parts[0].Rows)
	}
	const slowest = "n02, n06, n10, n14, n18 and 5 more | 0.50 | linux 6.8 | AMD EPYC 7763\n"
	if got := textOf(table); !strings.HasPrefix(got, slowest) {
		t.Errorf("rows %q", got)
	}
}

// A row is called by the properties in the sentences, and by names if its machines share none.
func TestRowsHaveThePropertiesOfTheSentences(t *testing.T) {
	machines := with(alike(20), func(i int, m *resultstest.Machine) {
		m.Kernel = []string{"6.1.0", "6.8.0"}[i%2]
		m.Slow = map[string]float64{"ndjson": []float64{1, 1.5}[i%2]}
		if i == 0 {
			m.Kernel = "6.5.0"
		}
	})
	members := stat.FleetOf(setOf(machines...)).Members()
	rows := "\n" + textOf(FleetSections(members, nil)[1].Tables[0])
	for _, want := range []string{"\nlinux 6.8 | 10 |", "\nlinux 6.1 | 9 |", "\nn01 |"} {
		if !strings.Contains(rows, want) {
			t.Errorf("%q is missing in\n%s", want, rows)
		}
	}
	c := newComparison(members)
	if got := c.row([]int{0, 1, 2}).Title; got != "n01 and 2 more" {
		t.Errorf("machines of three kernels are called %q", got)
	}
}

// There is no row of all machines if none of them need be near their median.
func TestMachinesInHalvesHaveNoRowTogether(t *testing.T) {
	for _, tt := range []struct {
		slow int
		want bool
	}{{2, true}, {6, false}} {
		set := setOf(slow(12, tt.slow, map[string]float64{"raw": 1.4})...)
		rows := textOf(FleetSections(stat.FleetOf(set).Members(), nil)[1].Tables[0])
		if got := strings.HasPrefix(rows, "all | 12 |"); got != tt.want {
			t.Errorf("%d of 12 are slow:\n%s", tt.slow, rows)
		}
	}
}

// A row that has a part of the machines with its properties says of how many.
func TestRowsCountMachinesWithTheirProperties(t *testing.T) {
	machines := with(alike(20), func(i int, m *resultstest.Machine) {
		m.Kernel = []string{"6.1.0", "6.8.0"}[i%2]
		m.Slow = map[string]float64{"ndjson": []float64{1, 1.5}[i%2]}
		if i == 1 {
			m.Slow = map[string]float64{"ndjson": 1.5, "content-length": 2}
		}
	})
	members := stat.FleetOf(setOf(machines...)).Members()
	rows := "\n" + textOf(FleetSections(members, nil)[1].Tables[0])
	for _, want := range []string{"\nlinux 6.8 | 9 of 10 |", "\nlinux 6.1 | 10 |"} {
		if !strings.Contains(rows, want) {
			t.Errorf("%q is missing in\n%s", want, rows)
		}
	}
}

// However narrow the screen is, the table has the framing in which machines differ.
func TestTheFramingThatDiffersIsShownFirst(t *testing.T) {
	members := stat.FleetOf(setOf(slow(2, 1, map[string]float64{"ndjson": 1.5})...)).Members()
	table := FleetSections(members, nil)[1].Tables[0]
	parts, _ := table.fit(30, false)
	if c := parts[0].Columns; c[len(c)-1].Title != "ndjson" {
		t.Errorf("columns %+v", c)
	}
}

// The columns of raw and of the framings that sentences are about are left out last, also if a
// framing differs on so few of many machines that the range of most of them does not show it.
func TestWhatSentencesAreAboutIsShownFirst(t *testing.T) {
	machines := with(alike(20), func(i int, m *resultstest.Machine) {
		switch i {
		case 1:
			m.Slow = map[string]float64{"content-length": 1.4, "chunked:61440": 1.5}
		case 2:
			m.Slow = map[string]float64{"content-length": 1.4}
		}
	})
	members := stat.FleetOf(setOf(machines...)).Members()
	table := FleetSections(members, nil)[1].Tables[0]
	parts, _ := table.fit(75, false)
	var titles []string
	for _, c := range parts[0].Columns {
		titles = append(titles, c.Title)
	}
	const want = "machines|number|raw|60 KiB chunks|content-length"
	if got := strings.Join(titles, "|"); got != want {
		t.Errorf("columns %s", got)
	}
}

// Shares of an unusual raw are left out, of few machines and of many, and a note says so.
func TestSharesOfAnUnusualRawAreLeftOut(t *testing.T) {
	for _, n := range []int{4, 20} {
		set := setOf(slow(n, 1, map[string]float64{"raw": 2})...)
		section := FleetSections(stat.FleetOf(set).Members(), nil)[1]
		const want = "Where raw is unusual, shares of it are left out."
		if !slices.Contains(section.Notes, want) {
			t.Errorf("%d machines: notes %q", n, section.Notes)
		}
		for _, row := range section.Tables[0].Rows {
			if row[0].Text == "n01" && strings.Contains(row[3].Text, "±") {
				t.Errorf("%d machines: row %v", n, row)
			}
		}
	}
}

// Shares stay if no raw is unlike that of most machines: by degrees, or on half of them.
func TestSharesOfARawThatIsNotUnusualAreShown(t *testing.T) {
	for _, tt := range []struct {
		name string
		raw  func(i int) float64
	}{
		{"by degrees", func(i int) float64 { return 1 + 0.03*float64(i) }},
		{"half", func(i int) float64 { return float64(1 + i%2) }},
	} {
		machines := with(alike(12), func(i int, m *resultstest.Machine) {
			m.Slow = map[string]float64{"raw": tt.raw(i)}
		})
		section := FleetSections(stat.FleetOf(setOf(machines...)).Members(), nil)[1]
		if slices.Contains(section.Notes, "Where raw is unusual, shares of it are left out.") {
			t.Errorf("%s: notes %q", tt.name, section.Notes)
		}
		for _, row := range section.Tables[0].Rows {
			if len(row) < 4 || strings.Trim(row[3].Text, "-") == "" {
				t.Errorf("%s: row %v", tt.name, row)
			}
		}
	}
}

// The first table has a column for a label in a sentence. There is no table if neither the speeds
// nor the properties of the machines differ.
func TestTheFirstTableHasTheLabelsOfTheSentences(t *testing.T) {
	machines := with(alike(12), func(i int, m *resultstest.Machine) {
		m.Labels = map[string]string{"zone": []string{"eu-a", "eu-b", "us-a"}[i%3], "node": m.Name}
		if i%3 == 2 {
			m.Slow = map[string]float64{"": 2}
		}
	})
	table := FleetSections(stat.FleetOf(setOf(machines...)).Members(), nil)[0].Tables[0]
	if got := textOf(table); !strings.HasPrefix(got, "n03, n06, n09 and n12 | 0.50 | us-a\n") {
		t.Errorf("rows %q", got)
	}
	onlyNdjson := slow(3, 1, map[string]float64{"ndjson": 1.5})
	for _, machines := range [][]resultstest.Machine{alike(3), onlyNdjson} {
		sections := FleetSections(stat.FleetOf(setOf(machines...)).Members(), nil)
		if len(sections[0].Tables) > 0 {
			t.Errorf("tables %+v", sections[0].Tables)
		}
	}
}

// A sentence does not name the few measurements in which it was not seen: noise may hide it there.
func TestASentenceCountsMeasurements(t *testing.T) {
	var d stat.Difference
	for _, size := range []int{4000, 65_000} {
		for _, placement := range []string{"same", "cross"} {
			d.Compared = append(d.Compared, results.UsualCell("ndjson", "stream", placement, size))
		}
	}
	d.Cells = d.Compared[:3]
	if got := measurementsOf(d); got != "3 of 4 measurements" {
		t.Errorf("got %q", got)
	}
	d.Cells = d.Compared
	d.Compared = append(d.Compared, results.UsualCell("ndjson", "roundtrip", "same", 4000))
	if got := measurementsOf(d); got != "4 of 5 measurements (streams)" {
		t.Errorf("got %q", got)
	}
}
