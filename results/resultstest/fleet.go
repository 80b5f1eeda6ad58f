package resultstest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// A Fleet makes up the records of any number of machines from real records in test data. The cost
// of a framing differs a little from machine to machine.
type Fleet struct {
	platforms [][]byte
	run       []byte
	rng       *rand.Rand
	Slow      map[int]bool // indices of machines on which ndjson takes twice its time
}

// NewFleet reads the real records from testdata, the folder of the command's test data.
func NewFleet(t testing.TB, testdata string) *Fleet {
	t.Helper()
	f := &Fleet{rng: rand.New(rand.NewPCG(7, 7))}
	paths, err := filepath.Glob(filepath.Join(testdata, "platforms", "*.jsonl.gz"))
	if err != nil || len(paths) != 13 {
		t.Fatalf("%d platforms, %v", len(paths), err)
	}
	for _, path := range paths {
		f.platforms = append(f.platforms, unzipped(t, path))
	}
	f.run = unzipped(t, filepath.Join(testdata, "screens", "run.jsonl.gz"))
	return f
}

func unzipped(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var (
	runName     = regexp.MustCompile(`"run":"[^"]*"`)
	machineHash = regexp.MustCompile(`"machine":"[^"]*"`)
	hostName    = regexp.MustCompile(`"hostname":"[^"]*"`)
	elapsed     = regexp.MustCompile(`"(elapsed_ns|cpu_ns)":[0-9]+`)
	framing     = regexp.MustCompile(`"framing":"([^"]*)"`)
)

// The names of the two kinds of runs begin with these.
const (
	platformRun = "p"
	defaultRun  = "r"
)

// Machine returns the lines of the i-th machine.
func (f *Fleet) Machine(i int) []byte {
	var out bytes.Buffer
	platform := f.platforms[i%len(f.platforms)]
	f.write(&out, platform, i, platformRun)
	// The default run has the environment of the platform.
	environment, _, _ := bytes.Cut(platform, []byte("\n"))
	_, samples, _ := bytes.Cut(f.run, []byte("\n"))
	f.write(&out, environment, i, defaultRun)
	f.write(&out, samples, i, defaultRun)
	return out.Bytes()
}

// write writes lines as if they came from the i-th machine. It gives the runs names that begin with
// the prefix.
func (f *Fleet) write(out *bytes.Buffer, lines []byte, i int, prefix string) {
	machine := []byte(fmt.Sprintf(`"machine":"sha256:%064x"`, i+1))
	host := []byte(fmt.Sprintf(`"hostname":"node%04d"`, i))
	costs := make(map[string]float64)
	runs := make(map[string]int)
	for line := range bytes.Lines(lines) {
		own := runName.Find(line)
		if _, known := runs[string(own)]; !known {
			runs[string(own)] = len(runs)
		}
		name := fmt.Sprintf(`"run":"%s-%d-%d"`, prefix, i, runs[string(own)])
		line = bytes.Replace(line, own, []byte(name), 1)
		line = machineHash.ReplaceAll(line, machine)
		line = hostName.ReplaceAll(line, host)
		if m := framing.FindSubmatch(line); m != nil && prefix == defaultRun {
			line = slower(line, f.cost(costs, i, string(m[1])))
		}
		out.Write(bytes.TrimRight(line, "\n"))
		out.WriteByte('\n')
	}
}

// cost returns the factor by which a framing takes longer on a machine. It is drawn at random once
// and kept in costs.
func (f *Fleet) cost(costs map[string]float64, i int, framing string) float64 {
	if framing == "raw" {
		return 1
	}
	if costs[framing] == 0 {
		costs[framing] = math.Exp(0.02 * f.rng.NormFloat64())
		if f.Slow[i] && framing == "ndjson" {
			costs[framing] *= 2
		}
	}
	return costs[framing]
}

// slower multiplies the times of a line by a factor.
func slower(line []byte, factor float64) []byte {
	return elapsed.ReplaceAllFunc(line, func(found []byte) []byte {
		key, digits, _ := bytes.Cut(found, []byte(":"))
		n, err := strconv.ParseFloat(string(digits), 64)
		if err != nil {
			return found
		}
		return fmt.Appendf(nil, "%s:%d", key, int64(n*factor))
	})
}

// Reader returns the lines of the given number of machines. They are made while they are read.
func (f *Fleet) Reader(machines int) io.Reader {
	out, in := io.Pipe()
	go func() {
		for i := range machines {
			if _, err := in.Write(f.Machine(i)); err != nil {
				return
			}
		}
		in.Close()
	}()
	return out
}
