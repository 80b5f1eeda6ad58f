package main

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pipebench/pipebench/results/view"
)

// helpTexts has a text for each command. It begins with the usage, the purpose and a description.
// The examples stand below a line "Examples:", and the groups of flags below a line "Flags:".
//
//go:embed help/*.txt
var helpTexts embed.FS

// withHelp makes a command that has nothing but its help text.
func withHelp(name string) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic("each command needs a text: " + err.Error())
	}
	use, rest, _ := strings.Cut(string(text), "\n")
	short, rest, _ := strings.Cut(rest, "\n")
	long, rest, _ := strings.Cut(rest, "\nExamples:\n")
	examples, groups, _ := strings.Cut(rest, "\nFlags:\n")
	return &cobra.Command{
		Use:         use,
		Short:       short,
		Long:        strings.TrimSpace(long),
		Example:     strings.TrimRight(examples, "\n"),
		Annotations: map[string]string{flagGroups: strings.TrimSpace(groups)},
	}
}

// flagGroups is the key of the annotation that groups a command's flags in the help. Each line of
// its value is a group, such as "What is sent: framing size".
const flagGroups = "flag groups"

type commandRow struct {
	name      string // of the command, and of its help text
	newRunner func() runner
	args      cobra.PositionalArgs // checks the arguments
}

// commandGroups are all commands, in the groups and the order in which "pipebench --help" shows
// them.
var commandGroups = []struct {
	title    string
	commands []commandRow
}{
	{"Measure a pipe", []commandRow{
		{"run", func() runner { return &runFlags{} }, exactly(0, "run takes no arguments")},
		{"tune", func() runner { return &tuneFlags{} }, anyArgs},
		{"probe", func() runner { return &probeFlags{} }, anyArgs},
	}},
	{"Test a program", []commandRow{
		{"check", func() runner { return &checkFlags{} },
			oneOrMore("which command? put it behind --, as in: pipebench check -- my-program")},
		{"drive", func() runner { return &driveFlags{} },
			oneOrMore("which command? put it behind --, as in: pipebench drive -- cat")},
		{"inspect", func() runner { return &inspectFlags{} },
			exactly(1, "inspect takes the number of one process")},
	}},
	{"Stand at an end", []commandRow{
		{"serve", func() runner { return &serveFlags{} }, exactly(0, "serve takes no arguments")},
		{"call", func() runner { return &callFlags{} },
			oneOrMore("which server? pipebench call -- COMMAND [ARGUMENT...]")},
		{"tap", func() runner { return &tapFlags{} }, tapArgs},
	}},
	{"Look and compare", []commandRow{
		{"compare", func() runner { return &compareFlags{} }, compareArgs},
		{"report", func() runner { return &reportFlags{} },
			oneOrMore("which file? give the results.jsonl of one run or more")},
	}},
}

// addHelpCommand adds cobra's command "help", and makes that command fail if the topic is unknown.
func addHelpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // cannot fail: cobra has just added it
	}
	help.RunE = func(_ *cobra.Command, args []string) error {
		topic, more, err := root.Find(args)
		foundNone := err != nil || len(args) > 0 && topic == root || len(more) > 0
		if foundNone {
			return usageError(unknownTopic(root, strings.Join(args, " ")))
		}
		topic.InitDefaultHelpFlag()
		topic.InitDefaultVersionFlag()
		return topic.Help()
	}
}

func writeRootHelp(w io.Writer, root *cobra.Command, o view.Options) {
	writeText(w, root.Long, o)
	for _, group := range commandGroups {
		fmt.Fprintf(w, "\n%s\n", group.title)
		for _, row := range group.commands {
			cmd, _, err := root.Find([]string{row.name})
			if err == nil {
				fmt.Fprintf(w, "  %-9s %s\n", row.name, cmd.Short)
			}
		}
	}
	fmt.Fprintf(w, "\nStart with: pipebench run\n\n")
	fmt.Fprintf(w, "pipebench COMMAND --help has examples. pipebench help TOPIC explains:\n")
	for _, cmd := range root.Commands() {
		if title := cmd.Annotations[topicTitle]; title != "" {
			fmt.Fprintf(w, "  %-12s %s\n", cmd.Name(), title)
		}
	}
	fmt.Fprintln(w)
	writeText(w, "Exit status: 0 done, 1 could not run, 2 usage, 3 a gate failed, "+
		"4 no verdict, 130 interrupted.", o)
}

// writeHelp shows the description of a command, and then its usage.
func writeHelp(cmd *cobra.Command) {
	w := cmd.OutOrStdout()
	o := viewOptions(cmd, true)
	if !cmd.HasParent() {
		writeRootHelp(w, cmd, o)
		return
	}
	writeText(w, cmp.Or(cmd.Long, cmd.Short), o)
	fmt.Fprintf(w, "\n%s", cmd.UsageString())
}

// writeUsage shows how a command is used: the line to type, the examples and the flags.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	writeFlags(w, cmd)
	return nil // the output remembers a failed write
}

func writeFlags(w io.Writer, cmd *cobra.Command) {
	width := viewOptions(cmd, true).Columns()
	others := cmd.LocalFlags() // those that are in no group
	othersHeading := "Flags"
	for line := range strings.Lines(cmd.Annotations[flagGroups]) {
		othersHeading = "Results and time"
		heading, names, _ := strings.Cut(line, ":")
		var group *pflag.FlagSet
		group, others = splitFlags(others, strings.Fields(names))
		fmt.Fprintf(w, "\n%s:\n%s", heading, group.FlagUsagesWrapped(width))
	}
	if others.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s:\n%s", othersHeading, others.FlagUsagesWrapped(width))
	}
}

// splitFlags divides a set of flags into the named flags and all others.
func splitFlags(all *pflag.FlagSet, names []string) (named, others *pflag.FlagSet) {
	named = pflag.NewFlagSet("", pflag.ContinueOnError)
	others = pflag.NewFlagSet("", pflag.ContinueOnError)
	all.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(names, f.Name) {
			named.AddFlag(f)
		} else {
			others.AddFlag(f)
		}
	})
	return named, others
}
