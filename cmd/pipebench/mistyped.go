package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// unknownCommand returns an error about a command that does not exist. The error names commands
// with a similar name, or else all commands.
func unknownCommand(name string) error {
	names := []string{"help", "--version"}
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
	var names []string
	for _, cmd := range root.Commands() {
		if !cmd.Hidden {
			names = append(names, cmd.Name())
		}
	}
	return unknownName("help topic", name, names)
}

func unknownName(kind, name string, known []string) error {
	like := near(name, known)
	if len(like) == 0 { // such as tune for tunning
		beginning := name[:min(3, len(name))]
		isOther := func(k string) bool { return !strings.HasPrefix(k, beginning) }
		like = slices.DeleteFunc(slices.Clone(known), isOther)
	}
	if len(like) > 0 {
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
	if len(cmd.Flags().Args()) > 0 && strings.Contains(cmd.Use, "-- ") {
		text += "; flags of another program stand behind --"
		if strings.Contains(cmd.Use, "-- WORDS") { // a command is one quoted argument
			text += " or in the quotes of its command"
		}
	}
	return usageError(errors.New(text))
}

// bareValue returns the part of a flag's value before its parameter: "sleep" for "sleep=10ms".
func bareValue(text string) string {
	if i := strings.IndexAny(text, ":=@["); i > 0 {
		return text[:i]
	}
	return text
}
