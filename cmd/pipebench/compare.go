package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/turns"
)

// compareFlags are the flags of the command "compare".
type compareFlags struct {
	gateFlags
	across bool // one of fileFlags
	pairs  int  // one of buildFlags

	same string // not a flag: says that a gate is given two equal builds; "" if it is not

	// These flags are programFlags.
	stdin        string
	counts       bool
	instructions bool
	drive        bool
	different    bool

	sharedFlags
}

func (f *compareFlags) register(cmd *cobra.Command) {
	f.part = "pair"
	flags := cmd.Flags()
	f.gateFlags.register(cmd)
	flags.BoolVar(&f.across, "across", false, "give verdicts between different machines, too, and "+
		"on times of go test -bench")
	addCount(cmd, &f.pairs, "pairs", countFlag{},
		"how many pairs to run at most (default 20, or those that fit into 45s if more)")
	flags.StringVar(&f.stdin, "stdin", "", "a file that both commands read as standard input")
	flags.BoolVar(&f.counts, "counts", false,
		"count calls and bytes alone, which a busy machine does not change")
	flags.BoolVar(&f.instructions, "instructions", false,
		"count instructions, too: under valgrind, which is 20 to 50 times slower")
	flags.BoolVar(&f.drive, "drive", false,
		"the commands are servers (MCP, LSP, JSON-RPC or lines): compare the time per message, "+
			"of 4 KiB each")
	flags.BoolVar(&f.different, "allow-different-output", false,
		"compare commands that do not print the same, or exit differently")
	flags.BoolVar(&f.detail, "detail", false, "print every figure, not what fits a screen")
	f.sharedFlags.register(cmd, noMaxTime,
		"stop after this long (default 30m for two builds of pipebench, else 1m)",
		view.FormatBench)
}

// Names of flags that only some comparisons take. Comparing two builds of pipebench takes no
// recordFlags, and comparing Go tests takes no programFlags.
var (
	fileFlags    = []string{"across"}
	commandFlags = []string{"out", "seed", "max-time"}
	buildFlags   = []string{"pairs"}
	programFlags = []string{"stdin", "counts", "instructions", "drive", "allow-different-output"}
	recordFlags  = []string{"label", "anonymous"}
)

// compareArgs requires two words before "--". The words behind "--" are added to both commands.
func compareArgs(cmd *cobra.Command, args []string) error {
	before, _ := beforeAndAfterDash(cmd, args)
	const says = "compare takes two files of results, or two commands (words for both go behind --)"
	return exactly(2, says)(cmd, before)
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	oldName, newName, more := args[0], args[1], args[2:]
	oldIsFile, err := namesResults(oldName)
	if err != nil {
		return err
	}
	newIsFile, err := namesResults(newName)
	if err != nil {
		return err
	}
	if oldIsFile != newIsFile {
		return usageError(fmt.Errorf("of %s and %s, one is results and one is a program: compare "+
			"two of one kind", oldName, newName))
	}
	if !oldIsFile {
		if err := refuseFlags(cmd, fileFlags, "is for two files, not for commands"); err != nil {
			return err
		}
		return f.compareCommands(cmd, oldName, newName, more)
	}
	if len(more) > 0 {
		return usageError(errors.New("words behind -- are for two commands, not for files"))
	}
	refused := slices.Concat(commandFlags, buildFlags, programFlags, recordFlags)
	if err := refuseFlags(cmd, refused, "is for two commands, not for files"); err != nil {
		return err
	}
	return f.compareFiles(cmd, oldName, newName)
}

// refuseFlags returns an error if one of the named flags was given.
func refuseFlags(cmd *cobra.Command, names []string, why string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return usageError(fmt.Errorf("--%s %s", name, why))
		}
	}
	return nil
}

// namesResults reports whether an argument names results, not a command. Results are "-", a folder,
// a FIFO, or a file that is no program.
func namesResults(word string) (bool, error) {
	if word == "-" {
		return true, nil
	}
	if info, err := os.Stat(word); err == nil {
		_, notProgram := turns.Find(word)
		if !info.Mode().IsRegular() || notProgram != nil {
			return true, nil
		}
		// Some file systems make every file executable, so look at the content, too.
		return fileBegins(word, "{", "goos:", "Benchmark")
	}
	words, err := commandWords(word)
	if err != nil {
		return false, fmt.Errorf("%s: no such file, and no command: %w", word, err)
	}
	if len(words) == 0 {
		return false, usageError(errors.New("a command is empty"))
	}
	_, err = turns.Find(words[0])
	if err != nil && filepath.Ext(words[0]) == ".jsonl" {
		return false, fmt.Errorf("%s: no such file", word)
	}
	if err != nil {
		return false, fmt.Errorf("%s: no such file, and no such command", word)
	}
	return false, nil
}

// fileBegins reports whether a file begins with one of the texts, after white space.
func fileBegins(path string, texts ...string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	head, err := io.ReadAll(io.LimitReader(file, 512))
	if err != nil {
		return false, err
	}
	begin := strings.TrimSpace(string(head))
	isBegin := func(text string) bool { return strings.HasPrefix(begin, text) }
	return slices.ContainsFunc(texts, isBegin), nil
}

// compareFiles compares two files of results, or two files with the output of go test -bench.
func (f *compareFlags) compareFiles(cmd *cobra.Command, oldPath, newPath string) error {
	c, after, err := f.compareSets(cmd, oldPath, newPath)
	if err != nil {
		return err
	}
	if err := f.checkMetrics(c); err != nil {
		return err
	}
	o := viewOptions(cmd, f.detail)
	err = view.WriteComparison(cmd.OutOrStdout(), c, f.format, o)
	if errors.Is(err, view.ErrNothing) {
		return f.judgeChanges(c)
	}
	if err != nil {
		return err
	}
	return allGates(f.judgeChanges(c), f.judge(cmd, f.format, after))
}

// compareSets compares two files. It also returns the records of the new file, or nil if the files
// hold benchmark text.
func (f *compareFlags) compareSets(
	cmd *cobra.Command, oldPath, newPath string,
) (c *stat.Comparison, newRecords *results.Set, err error) {
	if oldPath == "-" && newPath == "-" || sameContent(resultsIn(oldPath), resultsIn(newPath)) {
		return nil, nil, usageError(fmt.Errorf("%s and %s are the same: name the file of the "+
			"other version", oldPath, newPath))
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
	if err := f.readAsserts(after.Set != nil); err != nil {
		return nil, nil, err
	}
	before.Name, after.Name = oldPath, newPath
	o := stat.CompareOptions{Across: f.across, Metrics: f.metrics}
	c = stat.Compare(before, after, o)
	c.Limit = max(f.failAbove, 0)
	if len(c.Changes) > 0 && after.Set != nil && len(after.Set.Targets) > 0 {
		c.Notes = append(c.Notes,
			"the time per message: pipebench compare --drive OLD-COMMAND NEW-COMMAND")
	}
	if parts := differences(before.Set, after.Set); len(parts) > 0 && len(c.Changes) > 0 {
		c.Notes = append(c.Notes, "what differs: "+strings.Join(parts, ", "))
	}
	return c, after.Set, nil
}

// sameContent reports whether two regular files hold the same bytes.
func sameContent(oldPath, newPath string) bool {
	oldInfo, oldErr := os.Stat(oldPath)
	newInfo, newErr := os.Stat(newPath)
	if oldErr != nil || newErr != nil || oldInfo.Size() != newInfo.Size() ||
		!oldInfo.Mode().IsRegular() || !newInfo.Mode().IsRegular() {
		return false
	}
	oldText, oldErr := os.ReadFile(oldPath)
	newText, newErr := os.ReadFile(newPath)
	return oldErr == nil && newErr == nil && bytes.Equal(oldText, newText)
}

// resultsIn returns the path of the file of results in a folder. Any other path stays.
func resultsIn(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return filepath.Join(path, results.FileName)
	}
	return path
}
