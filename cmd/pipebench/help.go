package main

import (
	"embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpTexts has a text for each command: its usage in the first line, its purpose in the second, a
// description, examples, and the groups of its flags.
//
//go:embed help/*.txt
var helpTexts embed.FS

// withHelp makes a command that has nothing but its help.
func withHelp(name string) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text is a mistake in this program
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

// flagGroups is the annotation with the headings under which a command's help has its flags, one
// per line: "What is sent: framing size". Flags that no line names stand under the last heading.
const flagGroups = "flag groups"

// helpWidth is how wide the help is at most.
const helpWidth = 80

// commandGroups are the commands in the order of the help of pipebench itself.
var commandGroups = []struct {
	title string
	names []string
}{
	{"Measure a pipe", []string{"run", "tune", "probe"}},
	{"Test a program", []string{"check", "drive", "inspect"}},
	{"Stand at an end", []string{"serve", "call", "tap"}},
	{"Look and compare", []string{"compare", "report"}},
}

// writeRootHelp shows what pipebench is, and its commands.
func writeRootHelp(w io.Writer, root *cobra.Command) {
	fmt.Fprintln(w, root.Long)
	for _, group := range commandGroups {
		fmt.Fprintf(w, "\n%s\n", group.title)
		for _, name := range group.names {
			cmd, _, err := root.Find([]string{name})
			if err != nil || cmd == root || cmd.Hidden {
				continue
			}
			fmt.Fprintf(w, "  %-9s %s\n", name, cmd.Short)
		}
	}
	fmt.Fprintf(w, "\nStart with: pipebench run\n\n")
	fmt.Fprintf(w, "pipebench COMMAND --help has examples. pipebench help TOPIC explains:\n")
	for _, cmd := range root.Commands() {
		if cmd.IsAdditionalHelpTopicCommand() && !cmd.Hidden {
			fmt.Fprintf(w, "  %-12s %s\n", cmd.Name(), cmd.Short)
		}
	}
	fmt.Fprintf(w, "\nExit status: 0 done, 1 could not run, 2 usage, 3 a gate failed, "+
		"4 no verdict,\n130 interrupted.\n")
}

// writeUsage shows how a command is used: its line, its examples and its flags.
func writeUsage(cmd *cobra.Command) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "Usage:\n  %s\n", cmd.UseLine())
	if cmd.Example != "" {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	writeFlags(w, cmd)
	return nil // what cannot be written the output remembers
}

// writeFlags writes the flags of a command under their headings.
func writeFlags(w io.Writer, cmd *cobra.Command) {
	rest := cmd.LocalFlags()
	heading := "Flags"
	for line := range strings.Lines(cmd.Annotations[flagGroups]) {
		title, names, _ := strings.Cut(line, ":")
		var group *pflag.FlagSet
		group, rest = splitFlags(rest, strings.Fields(names))
		fmt.Fprintf(w, "\n%s:\n%s", title, group.FlagUsagesWrapped(helpWidth))
		heading = "Results and time"
	}
	if rest.HasAvailableFlags() {
		fmt.Fprintf(w, "\n%s:\n%s", heading, rest.FlagUsagesWrapped(helpWidth))
	}
}

// splitFlags returns the flags that are named, and the others.
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
