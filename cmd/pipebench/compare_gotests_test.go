package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goTests builds two Go test binaries, old.test and new.test, with the benchmarks of each.
func goTests(t *testing.T, old, new string) (folder string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs")
	}
	folder = t.TempDir()
	for side, benchmarks := range map[string]string{"old": old, "new": new} {
		source := filepath.Join(folder, side)
		if err := os.Mkdir(source, 0o777); err != nil {
			t.Fatal(err)
		}
		text := "package mine\n\nimport \"testing\"\n\n"
		for _, name := range strings.Fields(benchmarks) {
			text += "func Benchmark" + name + "(b *testing.B) { for b.Loop() {} }\n"
		}
		for name, text := range map[string]string{"go.mod": "module mine\n", "mine_test.go": text} {
			if err := os.WriteFile(filepath.Join(source, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w",
			"-o", filepath.Join(folder, side+".test"), ".")
		cmd.Dir = source
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go test -c: %v\n%s", err, said)
		}
	}
	return folder
}

// Go test binaries are compared by their benchmarks, or not at all: their starts alone do no work.
func TestGoTestBinariesNeedABenchmark(t *testing.T) {
	t.Parallel()
	folder := goTests(t, "Mine Gone", "Mine")
	if err := os.Mkdir(filepath.Join(folder, "same"), 0o777); err != nil {
		t.Fatal(err)
	}
	const same = "same/old.test"
	err := os.Link(filepath.Join(folder, "old.test"), filepath.Join(folder, same))
	if err != nil {
		t.Fatal(err)
	}
	const short = "-test.benchtime=1x"
	for _, tt := range []struct {
		args     []string
		exitCode int
		says     string
	}{
		{[]string{"--counts"}, exitUsage, "old.test is a Go test binary, and no benchmark was " +
			"asked for: add -- -test.bench ."},
		{[]string{"--", short}, exitUsage, "no benchmark was asked for"},
		{[]string{"--", "-test.bench", "Mnie", short}, exitUsage,
			".test -test.bench Mnie -test.benchtime=1x: no benchmark matches; it has Benchmark"},
		{[]string{"--", "-test.bench", "Mine/size=9", short}, exitUsage,
			"no benchmark matches; it has BenchmarkMine"},
		{[]string{"--fail-above", "10000%", "--max-time", "5s", "--", "-test.bench", ".", short},
			exitInconclusive, "old.test has "},
		{[]string{"--fail-above", "5%", "--metric", "ns/op", "--", "-test.bench", "Gone", short},
			exitUsage, "nothing to compare: only "},
		{[]string{"--", "-test.bench", "Gone", short}, exitUsage, "nothing to compare: "},
		{[]string{"--metric", "allocs/op", "--", "-test.bench", "Mine", short}, exitUsage,
			"compared are ns/op; give -test.benchmem for memory"},
		{[]string{"--counts", "--", "-test.run", "."}, exitDone, "new.test against old.test"},
		{[]string{"--", "-test.bench", ".", "-mine"}, exitFailed,
			".test: exit status 2: flag provided but not defined: -mine"},
		{[]string{"--fail-above", "5%", "--", "-test.bench", ".", "-mine"}, exitInconclusive,
			"; the new one fails, too: "},
		{[]string{"--fail-above", "5%", "--max-time", "1s", "--", "-test.bench", "Mine",
			"-test.benchtime=1h"}, exitInconclusive, "was over; give it a longer --max-time " +
			"or fewer benchmarks, or a shorter -test.benchtime"},
		{[]string{same, "--fail-above", "5%"}, exitUsage, "was asked for"},
		{[]string{same, "--fail-above", "5%", "--", "-test.bench", "Nothing"}, exitUsage,
			" -test.bench Nothing -test.benchtime=1x: no benchmark matches; it has"},
		{[]string{same, "--fail-above", "5%", "--", "-test.bench", "Mine"}, exitDone,
			"the same program, byte for byte"},
		{[]string{same, "--fail-above", "5%", "--metric", "nsop", "--", "-test.bench", "Mine"},
			exitUsage, "--metric nsop: not compared between the two; compared are ns/op"},
	} {
		args := append([]string{"compare", "old.test"}, tt.args...)
		if tt.args[0] != same {
			args = slices.Insert(args, 2, "new.test")
		}
		cmd := command(t, commandEnv+"=1", args...)
		cmd.Dir = folder
		cmd.Env = append(cmd.Env, "PIPEBENCH_RECORDS_ONLY=1")
		said, _ := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		plain := strings.Join(strings.Fields(string(said)), " ")
		if code != tt.exitCode || !strings.Contains(plain, tt.says) {
			t.Errorf("%q: exit %d, want %d and %q:\n%s", tt.args, code, tt.exitCode, tt.says, said)
		}
	}
}
