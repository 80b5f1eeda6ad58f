package bench

import (
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipebench/pipebench/bench/machine"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

var (
	oldProgram = flag.String("old", "", "a pipebench to set the new one beside, for TestPrecision")
	newProgram = flag.String("new", "", "the pipebench whose precision is measured")
	runsEach   = flag.Int("runs", 5, "runs of each")
	runFlags   = flag.String("flags", "", "flags of the runs, such as '--placement same'")
)

// TestPrecision shows how well a run knows its figures here and now: it runs two builds in turn, and
// prints the half-widths of "vs raw", how far these move from run to run, the time and the samples.
//
//	go test ./bench -run TestPrecision -v -timeout 20m -old OLD -new NEW -flags '--placement same'
func TestPrecision(t *testing.T) {
	if *newProgram == "" {
		t.Skip("no -new program was given")
	}
	programs := []string{*oldProgram, *newProgram}
	if *oldProgram == "" {
		programs = programs[1:]
	}
	ratios := make([]map[results.Cell][]stat.Estimate, len(programs))
	before := machine.ReadUsage()
	for run := range *runsEach {
		for i, program := range programs {
			dir := filepath.Join(t.TempDir(), "run")
			args := append([]string{"run", "--quiet", "--out", dir, "--seed", fmt.Sprint(run + 1)}, strings.Fields(*runFlags)...)
			began := time.Now()
			if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", program, err, out)
			}
			took := time.Since(began)
			set, err := results.Read(filepath.Join(dir, results.FileName))
			if err != nil {
				t.Fatal(err)
			}
			if ratios[i] == nil {
				ratios[i] = map[results.Cell][]stat.Estimate{}
			}
			fewest := math.MaxInt
			for _, row := range stat.Rows(set) {
				fewest = min(fewest, row.Samples)
				if row.ToRaw != nil && row.ToRaw.N > 0 && row.Cell.Framing != "raw" {
					ratios[i][row.Cell] = append(ratios[i][row.Cell], *row.ToRaw)
				}
			}
			fmt.Fprintf(os.Stderr, "%s, run %d: %.1f s, at least %d samples a cell\n", program, run+1, took.Seconds(), fewest)
		}
	}
	for i, program := range programs {
		for _, place := range []string{"same", "apart", "sibling", "far", "free"} {
			printPrecision(program, place, ratios[i])
		}
	}
	for _, f := range machine.ReadUsage().Since(before).Faults() {
		fmt.Fprintln(os.Stderr, f.Warning())
	}
}

// printPrecision sums up the ratios of the cells of one placement.
func printPrecision(program, place string, ratios map[results.Cell][]stat.Estimate) {
	var widths, moved []float64
	unknown, marked := 0, 0
	for cell, runs := range ratios {
		if cell.Placement != place {
			continue
		}
		var medians []float64
		for _, e := range runs {
			medians = append(medians, math.Log(e.Median))
			if e.Disturbed {
				marked++
			}
			if e.Interval == nil {
				unknown++
			} else {
				widths = append(widths, 50*(e.Interval.Hi-e.Interval.Lo)/e.Median)
			}
		}
		moved = append(moved, 100*deviationOf(medians))
	}
	if len(moved) > 0 {
		fmt.Fprintf(os.Stderr, "%s on %s: half-width of vs raw ±%.1f %% (median), ±%.1f %% (largest), none in %d, marked %d; from run to run %.1f %% (median), %.1f %% (largest)\n",
			program, place, middle(widths), largest(widths), unknown, marked, middle(moved), largest(moved))
	}
}

func deviationOf(v []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(max(1, len(v)-1)))
}

func middle(v []float64) float64 { return stat.Median(v).Median }

func largest(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return slices.Max(v)
}
