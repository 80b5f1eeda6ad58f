package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand returns an error about a command that does not exist. The error names commands
// with a similar name, or else all commands.
func unknownCommand(name string) error {
	if len(near(name, []string{"help"})) > 0 {
		return fmt.Errorf("unknown command %q; did you mean help?", name)
	}
	if len(near(name, []string{"version"})) > 0 {
		return fmt.Errorf("unknown command %q; did you mean --version?", name)
	}
	var names []string
	for _, group := range commandGroups {
		for _, row := range group.commands {
			names = append(names, row.name)
		}
	}
	return unknownName("command", name, names)
}

// unknownTopic returns an error about a help topic that does not exist. The error names topics with
// a similar name, or else all topics.
func unknownTopic(root *cobra.Command, name string) error {
	if strings.HasPrefix(name, "chunk") {
		return fmt.Errorf("unknown help topic %q; did you mean sending, framings or tune?", name)
	}
	if strings.EqualFold(name, "eagain") { // as EPIPE, which is like "pipes"
		return fmt.Errorf("unknown help topic %q; did you mean pipes?", name)
	}
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return unknownName("help topic", name, names)
}

func unknownName(kind, name string, known []string) error {
	if like := near(name, known); len(like) > 0 {
		return fmt.Errorf("unknown %s %q; did you mean %s?", kind, name, strings.Join(like, " or "))
	}
	return fmt.Errorf("unknown %s %q; known are %s", kind, name, strings.Join(known, ", "))
}

// near returns the names that are similar to a word.
func near(word string, names []string) []string {
	root := &cobra.Command{SuggestionsMinimumDistance: 2} // looks for similar commands only
	for _, name := range names {
		root.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return root.SuggestionsFor(word)
}

// likeFile returns a hint such as "; did you mean new.txt?". It returns "" if no file has a name
// like the missing one.
func likeFile(missing string) string {
	folder, name := filepath.Split(missing)
	entries, err := os.ReadDir(cmp.Or(folder, "."))
	if err != nil {
		return ""
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	like := near(name, names)
	if len(like) == 0 {
		return ""
	}
	return "; did you mean " + folder + strings.Join(like, " or "+folder) + "?"
}

// flagError adds a hint to an error from pflag: what to type instead, or where to read more.
func flagError(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if number, isNumber := errors.AsType[*strconv.NumError](err); isNumber {
		want := "want a whole number"
		if number.Func == "ParseBool" {
			want = "want true or false"
		}
		err = errors.New(strings.Replace(err.Error(), number.Error(), want, 1))
	}
	if !ok {
		return usageError(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
	}
	name := unknown.GetSpecifiedName()
	typed := "--" + name
	if letters := unknown.GetSpecifiedShortnames(); letters != "" { // such as -xyz
		name = letters
		typed = "-" + letters
	}
	text := "unknown flag: " + typed
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	isLetter := len(name) == 1 // too many flags resemble a single letter
	if like := near(name, flags); len(like) > 0 && !isLetter {
		text += " (did you mean --" + strings.Join(like, " or --") + "?)"
	}
	text += "; see " + cmd.CommandPath() + " --help"
	if advice := forAnother(cmd, typed); advice != "" {
		text += "; if it is another program's, " + advice
	}
	return usageError(errors.New(text))
}

// addMeantValue adds a hint to a usage error if a flag has an unknown value. The hint names known
// values that look similar.
func addMeantValue(cmd *cobra.Command, err error) error {
	status, ok := errors.AsType[*statusError](err)
	if !ok || status.code != exitUsage {
		return err
	}
	var meant []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		// A flag with a wrong value is not marked as changed.
		isTyped := f.Changed || f.Value.String() != f.DefValue
		complete, _ := cmd.GetFlagCompletionFunc(f.Name)
		if !isTyped || complete == nil {
			return
		}
		completions, _ := complete(cmd, nil, "")
		var names []string
		for _, completion := range completions {
			name, _, _ := strings.Cut(completion, "\t") // a description stands behind the tab
			names = append(names, bareValue(name))
		}
		given := strings.Trim(f.Value.String(), "[]") // pflag writes lists in brackets
		for value := range strings.SplitSeq(given, ",") {
			bare := bareValue(value)
			isKnown := bare == "" || slices.Contains(names, bare) // then its parameter is wrong
			if !isKnown && strings.Contains(err.Error(), strconv.Quote(value)) {
				meant = append(meant, near(bare, names)...)
			}
		}
	})
	if len(meant) == 0 {
		return err
	}
	meant = slices.Compact(meant)
	return usageError(fmt.Errorf("%w; did you mean %s?", err, strings.Join(meant, " or ")))
}

// bareValue returns the part of a flag's value before its parameter: "sleep" for "sleep=10ms".
func bareValue(text string) string {
	if i := strings.IndexAny(text, ":=@["); i > 0 {
		return text[:i]
	}
	return text
}

// forAnother says what to type if the flag is meant for a program that cmd starts, not for cmd. It
// returns "" if cmd starts no program.
func forAnother(cmd *cobra.Command, flag string) string {
	words := strings.Join(cmd.Flags().Args(), " ")
	if words == "" || !strings.Contains(cmd.Use, "-- ") {
		return ""
	}
	line := "put -- before that: " + cmd.CommandPath()
	if cmd.Name() != "compare" {
		return fmt.Sprintf("%s -- %s %s", line, words, flag)
	}
	isFile, err := namesResults(cmd.Flags().Arg(0))
	switch {
	case err == nil && isFile:
		return ""
	case cmd.Flags().NArg() == 1:
		return fmt.Sprintf("quote each command: '%s %s' 'NEW %s'", words, flag, flag)
	}
	return fmt.Sprintf("%s %s -- %s", line, words, flag) // added to both commands
}
