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
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/proc"
)

var (
	oldProgram = flag.String("old", "", "a pipebench to set the new one beside, for TestPrecision")
	newProgram = flag.String("new", "", "the pipebench whose precision is measured")
	runsEach   = flag.Int("runs", 5, "runs of each")
	runFlags   = flag.String("flags", "", "flags of the runs, such as '--placement same'")
	busy       = flag.Int(
		"busy", 0,
		"busy processes beside a second run of the -new program, whose ratios are held against the first's",
	)
)

// TestPrecision shows how well a run knows its figures here and now: it runs two builds in turn,
// and prints the half-widths of "vs raw", how far these move from run to run, the time and the
// samples. Of ends that do not block the figures are counts, which have no part in that. With
// -busy 4 each run of the new one is followed by one beside four busy processes, and the last line
// says how many cells have ratios within a tenth of the quiet run's, or are marked.
//
//	go test ./bench -run TestPrecision$ -v -timeout 20m -old OLD -new NEW -flags '--placement same'
func TestPrecision(t *testing.T) {
	if *newProgram == "" {
		t.Skip("no -new program was given")
	}
	programs := []string{*newProgram}
	if *oldProgram != "" {
		programs = []string{*oldProgram, *newProgram}
	}
	ratios := make([]map[results.Cell][]stat.Estimate, len(programs))
	cells, near := 0, 0 // of the runs beside busy processes
	before := machine.ReadUsage()
	for run := range *runsEach {
		for i, program := range programs {
			got := ratiosOf(t, program, run)
			if ratios[i] == nil {
				ratios[i] = map[results.Cell][]stat.Estimate{}
			}
			for cell, e := range got {
				ratios[i][cell] = append(ratios[i][cell], e)
			}
			if *busy == 0 || program != *newProgram {
				continue
			}
			loaded := besideBusy(
				t, func() map[results.Cell]stat.Estimate { return ratiosOf(t, program, run) },
			)
			for cell, quiet := range got {
				e, measured := loaded[cell]
				cells++
				if measured && (e.Disturbed ||
					math.Abs(math.Log(e.Median/quiet.Median)) <= math.Log(1.1)) {
					near++
				}
			}
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
	if *busy > 0 {
		fmt.Fprintf(
			os.Stderr,
			"beside %d busy processes: %d of %d cells within 10 %% of the quiet run, or marked\n",
			*busy, near, cells,
		)
	}
}

// ratiosOf runs a program, and returns "vs raw" of the cells whose ends block.
func ratiosOf(t *testing.T, program string, run int) map[results.Cell]stat.Estimate {
	t.Helper()
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
	fewest, ratios := math.MaxInt, map[results.Cell]stat.Estimate{}
	for _, row := range stat.Rows(set) {
		if row.Cell.IO != syspipe.Blocking.String() || row.Cell.Drain > 0 ||
			row.Cell.ClosesAfter > 0 {
			continue
		}
		fewest = min(fewest, row.Samples)
		if row.ToRaw != nil && row.ToRaw.N > 0 && row.Cell.Framing != "raw" {
			ratios[row.Cell] = *row.ToRaw
		}
	}
	fmt.Fprintf(
		os.Stderr, "%s, run %d: %.1f s, at least %d samples a cell\n", program, run+1,
		took.Seconds(), fewest,
	)
	return ratios
}

// besideBusy does something while as many processes as asked for never wait.
func besideBusy[T any](t *testing.T, do func() T) T {
	t.Helper()
	for range *busy {
		p := proc.Command("sh", "-c", "while :; do :; done")
		defer p.Close()
		if err := p.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return do()
}

// printPrecision sums up the ratios of the cells of one placement.
func printPrecision(program, place string, ratios map[results.Cell][]stat.Estimate) {
	var widths, moved []float64
	unknown, marked, wide := 0, 0, 0
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
				if widths[len(widths)-1] > 25 && !e.Disturbed {
					wide++
				}
			}
		}
		moved = append(moved, 100*deviationOf(medians))
	}
	if len(moved) > 0 {
		fmt.Fprintf(os.Stderr, "%s on %s: half-width of vs raw ±%.1f %% (median), ±%.1f %% (largest), beyond ±25 %% (shown with ?) %d of %d, none in %d, marked disturbed %d; from run to run %.1f %% (median), %.1f %% (largest)\n",
			program, place, middle(widths), largest(widths), wide, len(widths), unknown, marked, middle(moved), largest(moved))
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
