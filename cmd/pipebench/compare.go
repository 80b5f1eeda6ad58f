package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// compareFlags are what compare was asked for, as it was typed.
type compareFlags struct {
	gateFlags
	across bool // for files
	pairs  int  // for builds

	// For two commands that are not builds of pipebench.
	stdin        string
	counts       bool
	instructions bool
	drive        bool
	different    bool

	sharedFlags // for commands, except the flags for what is printed
}

// metricWall is the metric by which people ask for a verdict on elapsed time.
const metricWall = "wall"

func (f *compareFlags) register(cmd *cobra.Command) {
	f.part = "pair"
	flags := cmd.Flags()
	f.gateFlags.register(cmd)
	flags.BoolVar(&f.across, "across", false, "give verdicts between different machines, too")
	addCount(cmd, &f.pairs, "pairs", 0, 0, mostCounted,
		"how many pairs to run at most (default 20, or more while that takes no 45s)")
	flags.StringVar(&f.stdin, "stdin", "", "a file that both commands read as standard input")
	flags.BoolVar(&f.counts, "counts", false,
		"count calls and bytes alone, which a busy machine does not change")
	flags.BoolVar(&f.instructions, "instructions", false,
		"count instructions, too: under valgrind, which is 20 to 50 times slower")
	flags.BoolVar(&f.drive, "drive", false,
		"the commands are servers (MCP, LSP, JSON-RPC or lines): compare the time per message")
	flags.BoolVar(&f.different, "allow-different-output", false,
		"compare commands that do not print the same, or exit differently")
	flags.BoolVar(&f.detail, "detail", false, "print every figure, not what fits a screen")
	f.sharedFlags.register(cmd, 0,
		"begin no pair that would end after this long (default 30m for two builds, else 1m)",
		view.FormatBench)
}

// Flags that belong to one of the ways to compare.
var (
	fileFlags    = []string{"across"}
	commandFlags = []string{"out", "seed", "max-time"}
	buildFlags   = []string{"pairs"}
	ownFlags     = []string{ // for programs
		"stdin", "counts", "instructions", "drive", "allow-different-output",
	}
	recordFlags = []string{"label", "anonymous"} // for the records of two programs
)

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	oldName, newName, more := args[0], args[1], args[2:]
	for i, name := range f.metrics {
		if name == metricWall {
			f.metrics[i] = "time"
		}
	}
	oldIsFile, err := namesResults(oldName)
	if err != nil {
		return err
	}
	newIsFile, err := namesResults(newName)
	if err != nil {
		return err
	}
	if oldIsFile != newIsFile {
		return usage(fmt.Errorf("%s is results and %s is a program: compare two of one kind",
			choose(oldIsFile, oldName, newName), choose(oldIsFile, newName, oldName)))
	}
	if oldIsFile {
		if len(more) > 0 {
			return usage(errors.New("words behind -- are for two commands, not for files"))
		}
		refused := slices.Concat(commandFlags, buildFlags, ownFlags, recordFlags)
		if err := refuseFlags(cmd, refused, "is for two commands, not for files"); err != nil {
			return err
		}
		return f.compareFiles(cmd, oldName, newName)
	}
	if err := refuseFlags(cmd, fileFlags, "is for two files, not for commands"); err != nil {
		return err
	}
	return f.compareCommands(cmd, oldName, newName, more)
}

// asksForProgram reports whether a flag was given that is only for programs.
func (f *compareFlags) asksForProgram(cmd *cobra.Command) bool {
	return slices.ContainsFunc(ownFlags, cmd.Flags().Changed)
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// refuseFlags returns an error if one of the named flags was given.
func refuseFlags(cmd *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usage(fmt.Errorf("--%s %s", name, why))
		}
	}
	return nil
}

// namesResults reports whether a word names results, and not a command. Standard input,
// a folder, a FIFO, and a file that is no program are results.
func namesResults(word string) (bool, error) {
	if word == "-" {
		return true, nil
	}
	program := word
	words, noCommand := commandWords(word)
	if noCommand == nil && len(words) > 0 {
		program = words[0]
	}
	_, notFound := turns.Find(program)
	info, err := os.Stat(word)
	switch {
	case err != nil && noCommand == nil && len(words) == 0:
		return false, usage(errors.New("a command is empty"))
	case err != nil && noCommand != nil:
		return false, fmt.Errorf("%s: no such file, and no command: %w", word, noCommand)
	case err != nil && notFound != nil:
		return false, fmt.Errorf("%s: no such file, and no such command%s", word, likeFile(word))
	case err != nil:
		return false, nil // a command in PATH
	case !info.Mode().IsRegular() || notFound != nil:
		return true, nil
	}
	// Some file systems make every file executable.
	return begins(word, "{", "goos:", "Benchmark")
}

// begins reports whether a file begins with one of several texts, but for white space.
func begins(path string, texts ...string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false, err
	}
	text := strings.TrimSpace(string(head[:n]))
	for _, begin := range texts {
		if strings.HasPrefix(text, begin) {
			return true, nil
		}
	}
	return false, nil
}

// compareFiles compares two files of results, or two texts of go test -bench.
func (f *compareFlags) compareFiles(cmd *cobra.Command, oldPath, newPath string) error {
	c, after, err := f.compareSets(cmd, oldPath, newPath)
	if err != nil {
		return err
	}
	if err := f.checkMetrics(c); err != nil {
		return err
	}
	if len(c.Changes) == 0 {
		return nothingInCommon(c, oldPath, newPath, after == nil)
	}
	o := viewOptions(cmd, f.detail)
	if err := view.WriteComparison(cmd.OutOrStdout(), c, f.format, o); err != nil {
		return err
	}
	return allGates(f.judgeChanges(c), f.judge(cmd, f.format, after))
}

// nothingInCommon returns the error for two sides without a common cell. It says what each side has
// instead.
func nothingInCommon(c *stat.Comparison, oldPath, newPath string, isText bool) error {
	if len(c.Notes) > 0 && len(c.OnlyOld)+len(c.OnlyNew) == 0 {
		return fmt.Errorf("nothing of the two can be judged: %s", strings.Join(c.Notes, "; "))
	}
	kind := "cell"
	if isText {
		kind = "benchmark"
	}
	if isText && len(c.OnlyOld) > 0 && len(c.OnlyNew) > 0 {
		old, oldCPUs := splitCPUs(c.OnlyOld[0])
		new, newCPUs := splitCPUs(c.OnlyNew[0])
		if old == new {
			return fmt.Errorf("no benchmark is in both; GOMAXPROCS was %s and %s", oldCPUs, newCPUs)
		}
	}
	return fmt.Errorf("no %s is in both: %s has %s, %s has %s",
		kind, oldPath, someNames(c.OnlyOld), newPath, someNames(c.OnlyNew))
}

// splitCPUs splits the GOMAXPROCS off the name of a benchmark; it is 1 if the name has none.
func splitCPUs(benchmark string) (name, cpus string) {
	at := strings.LastIndex(benchmark, "-")
	_, err := strconv.ParseUint(benchmark[at+1:], 10, 32)
	if at < 0 || err != nil {
		return benchmark, "1"
	}
	return benchmark[:at], benchmark[at+1:]
}

func someNames(names []string) string {
	switch len(names) {
	case 0:
		return "none of its own"
	case 1:
		return names[0]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// compareSets compares two files that were measured at different times. It also returns what the
// new file holds, nil for benchmark text.
func (f *compareFlags) compareSets(
	cmd *cobra.Command, oldPath, newPath string,
) (*stat.Comparison, *results.Set, error) {
	if err := refuseSameFile(oldPath, newPath); err != nil {
		return nil, nil, err
	}
	before, err := interruptibly(cmd.Context(), oldPath, stat.ReadDataset)
	if err != nil {
		return nil, nil, err
	}
	after, err := interruptibly(cmd.Context(), newPath, stat.ReadDataset)
	if err != nil {
		return nil, nil, err
	}
	if (before.Set == nil) != (after.Set == nil) {
		return nil, nil, fmt.Errorf("%s and %s are of two kinds, records and benchmark text, "+
			"which name their figures differently: compare two of one kind", oldPath, newPath)
	}
	before.Name, after.Name = oldPath, newPath
	o := stat.CompareOptions{Across: f.across, Metrics: f.metrics}
	c := stat.Compare(before, after, o)
	c.Limit = max(f.failAbove, 0)
	if note := labelsNote(before.Set, after.Set); note != "" && len(c.Changes) > 0 {
		c.Notes = append(c.Notes, note)
	}
	return c, after.Set, nil
}

// refuseSameFile returns an error if two words name one file of results, or two files with the same
// content.
func refuseSameFile(oldPath, newPath string) error {
	if oldPath == "-" && newPath == "-" {
		return usage(errors.New("standard input is given twice: name a file for one side"))
	}
	oldFile, oldInfo := resultsFile(oldPath)
	newFile, newInfo := resultsFile(newPath)
	switch {
	case oldInfo == nil || newInfo == nil:
		return nil
	case os.SameFile(oldInfo, newInfo):
		return usage(fmt.Errorf("%s is given twice: name the file of the other version", oldPath))
	case sameContent(oldFile, newFile):
		return usage(fmt.Errorf("%s and %s have the same content: one is a copy of the other",
			oldPath, newPath))
	}
	return nil
}

// sameContent reports whether two regular files hold the same bytes.
func sameContent(oldPath, newPath string) bool {
	oldInfo, oldErr := os.Stat(oldPath)
	newInfo, newErr := os.Stat(newPath)
	if oldErr != nil || newErr != nil || oldInfo.Size() != newInfo.Size() ||
		!oldInfo.Mode().IsRegular() || !newInfo.Mode().IsRegular() {
		return false
	}
	old, oldErr := os.ReadFile(oldPath)
	new, newErr := os.ReadFile(newPath)
	return oldErr == nil && newErr == nil && bytes.Equal(old, new)
}

// resultsFile returns the file that a word names, itself or by its folder; nil if there is none.
func resultsFile(path string) (string, os.FileInfo) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, results.FileName)
		info, err = os.Stat(path)
	}
	if err != nil {
		return path, nil
	}
	return path, info
}
