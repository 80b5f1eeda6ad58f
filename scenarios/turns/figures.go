package turns

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// A Figure is one thing in which two commands are compared.
type Figure struct {
	Name     string
	Unit     string // as [results.FormatUnit] takes it; "" of a count
	Old, New []float64

	// Ratio is new over old, with the limits that hold at every stop but for one time in a hundred;
	// of a count they are the ratio itself. 0 is not known.
	Ratio, Lo, Hi float64

	Informs bool // no gate waits for it
	Verdict stat.Verdict
}

// Figures lists what the starts came to: what is counted first, then times. Wall says which of the
// times is judged.
func (p Pairs) Figures(wall bool) []Figure {
	all := []Figure{
		p.count("reads", "", func(s Start) int64 { return s.Counts.Reads }),
		p.count("writes", "", func(s Start) int64 { return s.Counts.Writes }),
		p.count("bytes read", "B", func(s Start) int64 { return s.Counts.ReadBytes }),
		p.count("bytes written", "B", func(s Start) int64 { return s.Counts.WrittenBytes }),
	}
	inform := []Figure{
		p.count("page faults", "", func(s Start) int64 { return s.Counts.Faults }),
		p.count("forced switches", "", func(s Start) int64 { return s.Counts.Forced }),
		p.count("peak memory", "B", func(s Start) int64 { return s.Peak }),
	}
	for _, f := range inform {
		f.Informs = true
		all = append(all, f)
	}
	all = append(all,
		p.time("CPU time", wall, false, func(s Start) float64 { return s.CPU }),
		p.time("time", !wall, true, func(s Start) float64 { return s.Wall }))
	return slices.DeleteFunc(all, func(f Figure) bool { return len(f.Old) == 0 })
}

// count compares a count by its range. One that varies between starts of a command has its range
// widened by itself at both ends: a few starts do not show all of it.
func (p Pairs) count(name, unit string, of func(Start) int64) Figure {
	f := Figure{Name: name, Unit: unit}
	for i := range p.CountedOld {
		old, new := p.CountedOld[i], p.CountedNew[i]
		if !old.Counted || !new.Counted || name == "peak memory" && min(of(old), of(new)) == 0 {
			return Figure{}
		}
		f.Old = append(f.Old, float64(of(old)))
		f.New = append(f.New, float64(of(new)))
	}
	if len(f.Old) == 0 {
		return f
	}
	oldLeast, oldMost := slices.Min(f.Old), slices.Max(f.Old)
	newLeast, newMost := slices.Min(f.New), slices.Max(f.New)
	slack := max(oldMost-oldLeast, newMost-newLeast)
	switch {
	case newLeast > oldMost+slack:
		f.Verdict = stat.More
	case newMost < oldLeast-slack:
		f.Verdict = stat.Fewer
	default:
		f.Verdict = stat.NoChange
	}
	if from := median(f.Old); from > 0 {
		f.Ratio = median(f.New) / from
		f.Lo, f.Hi = f.Ratio, f.Ratio
	}
	return f
}

func median(values []float64) float64 { return stat.Median(values).Median }

// time compares a time by the logarithms of the pairs' ratios.
func (p Pairs) time(name string, informs, wall bool, of func(Start) float64) Figure {
	f := Figure{Name: name, Unit: "ns", Informs: informs, Verdict: stat.TooNoisy}
	for i := range p.Old {
		f.Old = append(f.Old, of(p.Old[i]))
		f.New = append(f.New, of(p.New[i]))
	}
	logs := p.Logs(wall)
	if len(logs) < stat.LeastPairs {
		return f
	}
	lo, hi, ok := stat.Sequence(logs, stat.DefaultAlpha)
	if !ok {
		return f
	}
	f.Ratio, f.Lo, f.Hi = math.Exp((lo+hi)/2), math.Exp(lo), math.Exp(hi)
	switch {
	case lo > 0:
		f.Verdict = stat.Slower
	case hi < 0:
		f.Verdict = stat.Faster
	case f.Lo > 1-stat.Tolerance && f.Hi < 1+stat.Tolerance:
		f.Verdict = stat.NoChange
	}
	return f
}

// Within returns how large a change of the figure may be, as a share.
func (f Figure) Within() float64 { return max(1-f.Lo, f.Hi-1) }

// Format writes the middle of a side's values, or their range if a count varies.
func (f Figure) Format(values []float64) string {
	write := func(v float64) string {
		if f.Unit == "ns" {
			return results.FormatDuration(v)
		}
		return results.FormatGrouped(int64(v))
	}
	least, most := slices.Min(values), slices.Max(values)
	if f.Unit == "ns" || least == most {
		return write(median(values))
	}
	return write(least) + " to " + write(most)
}

// Change writes the change, with its interval if it is timed.
func (f Figure) Change() string {
	switch {
	case f.Ratio == 0:
		return ""
	case f.Lo == f.Hi:
		return signed(f.Ratio) + " %"
	}
	return fmt.Sprintf("%s %% (%s to %s)", signed(f.Ratio), signed(f.Lo), signed(f.Hi))
}

func signed(ratio float64) string {
	text := results.FormatNumber(100*(ratio-1), 3)
	if ratio > 1 {
		return "+" + text
	}
	return text
}

// Calls names the cause of calls that changed: "2,331 reads of 4 KiB instead of 153 of 64 KiB". It
// is "" if none changed.
func Calls(figures []Figure) string {
	byName := make(map[string]Figure)
	for _, f := range figures {
		byName[f.Name] = f
	}
	var parts []string
	for _, kind := range []struct{ calls, bytes string }{
		{"reads", "bytes read"}, {"writes", "bytes written"},
	} {
		calls, bytes := byName[kind.calls], byName[kind.bytes]
		if calls.Verdict != stat.More && calls.Verdict != stat.Fewer {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s of %s instead of %s of %s",
			calls.Format(calls.New), kind.calls, each(bytes.New, calls.New),
			calls.Format(calls.Old), each(bytes.Old, calls.Old)))
	}
	return strings.Join(parts, ", and ")
}

// each writes how many bytes a call moves in the mean: as a power of two if it nearly is one.
func each(bytes, calls []float64) string {
	if median(calls) == 0 {
		return "none"
	}
	mean := median(bytes) / median(calls)
	power := math.Exp2(math.Round(math.Log2(max(mean, 1))))
	if math.Abs(mean/power-1) < 0.05 {
		mean = power
	}
	return results.FormatSize(int64(mean))
}

// Findings turns figures into findings. about is the command line of the new version.
func Findings(figures []Figure, about []string) []results.Finding {
	var out []results.Finding
	for _, f := range figures {
		verdict := results.OK
		switch {
		case f.Informs:
			verdict = results.Noted
		case f.Verdict == stat.Slower, f.Verdict == stat.More:
			verdict = results.Fails
		case f.Verdict == stat.TooNoisy:
			verdict = results.CannotTell
		}
		found := fmt.Sprintf("%s, %s: %s instead of %s",
			f.Name, f.Verdict, f.Format(f.New), f.Format(f.Old))
		if change := f.Change(); change != "" {
			found += ", " + change
		}
		finding := results.Finding{
			ID:      results.AreaCompare + "/" + strings.ReplaceAll(f.Name, " ", "-"),
			Title:   f.Name,
			About:   about,
			Verdict: verdict,
			Found:   found,
			Unit:    f.Unit,
			Evidence: results.MustEvidence(map[string][]float64{
				"old": f.Old, "new": f.New,
			}),
		}
		if f.Ratio > 0 {
			finding.Value = f.Ratio
		}
		out = append(out, finding)
	}
	return out
}
