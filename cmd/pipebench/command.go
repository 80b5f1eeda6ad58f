package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// flags are what a command was asked for, as it was typed.
type flags interface {
	register(cmd *cobra.Command)
	run(cmd *cobra.Command, args []string) error
}

// newCommand makes a command of its flags and of the text of that name. With nil it takes no arguments.
func newCommand(name string, f flags, args cobra.PositionalArgs) *cobra.Command {
	cmd := helped(name)
	if cmd.Args = args; args == nil {
		cmd.Args = takes(0, 0, name+" takes no arguments")
	}
	cmd.RunE = f.run
	f.register(cmd)
	return cmd
}

const anyNumber = -1 // of arguments

// takes demands a number of arguments, and flags that go together.
func takes(least, most int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch n := len(args); {
		case most == anyNumber && n < least:
			return usage(errors.New(says))
		case most != anyNumber && (n < least || n > most):
			return usage(fmt.Errorf("%s, but was given %d; see %s --help", says, n, cmd.CommandPath()))
		}
		return usage(cmd.ValidateFlagGroups())
	}
}

// beforeDash demands a number of arguments before --, behind which are flags for run.
func beforeDash(n int, says string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 {
			args = args[:dash]
		}
		return takes(n, n, says+" (flags for run go behind --)")(cmd, args)
	}
}

// helpTexts say what each command does: its usage in a line, its purpose in another, a description,
// and examples.
//
//go:embed help/*.txt
var helpTexts embed.FS

// helped makes a command that has nothing but its help.
func helped(name string) *cobra.Command {
	text, err := helpTexts.ReadFile("help/" + name + ".txt")
	if err != nil {
		panic(err) // a command without a text is a defect of this program
	}
	use, rest, _ := strings.Cut(string(text), "\n")
	short, rest, _ := strings.Cut(rest, "\n")
	long, rest, _ := strings.Cut(rest, "\nExamples:\n")
	examples, groups, _ := strings.Cut(rest, "\nFlags:\n")
	return &cobra.Command{
		Use: use, Short: short, Long: strings.TrimSpace(long),
		Example:     strings.TrimRight(examples, "\n"),
		Annotations: map[string]string{flagGroups: strings.TrimSpace(groups)},
	}
}

// flagGroups are the headings under which a command's help has its flags, a line each: "What is sent:
// framing size". Flags that no line names stand under the last heading.
const flagGroups = "flag groups"

// helpWidth is how wide the help is at most.
const helpWidth = 100

// groupedFlags writes the flags of a command under their headings.
func groupedFlags(cmd *cobra.Command) string {
	rest := pflag.NewFlagSet("", pflag.ContinueOnError)
	rest.AddFlagSet(cmd.LocalFlags())
	var out strings.Builder
	for line := range strings.Lines(cmd.Annotations[flagGroups]) {
		heading, names, _ := strings.Cut(line, ":")
		group := pflag.NewFlagSet("", pflag.ContinueOnError)
		others := pflag.NewFlagSet("", pflag.ContinueOnError)
		rest.VisitAll(func(f *pflag.Flag) {
			if slices.Contains(strings.Fields(names), f.Name) {
				group.AddFlag(f)
			} else {
				others.AddFlag(f)
			}
		})
		rest = others
		fmt.Fprintf(&out, "%s:\n%s\n", heading, group.FlagUsagesWrapped(helpWidth))
	}
	heading := "Flags"
	if out.Len() > 0 {
		heading = "Results and time"
	}
	return out.String() + heading + ":\n" + strings.TrimRight(rest.FlagUsagesWrapped(helpWidth), "\n")
}

// atTerminal tells a person at a terminal what a command waits for that reads standard input.
func atTerminal(cmd *cobra.Command, hint string) {
	if file, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprintln(cmd.ErrOrStderr(), hint)
	}
}

//go:embed docs/*.md
var guideFiles embed.FS

// newGuides returns a help topic for each guide in docs: `pipebench help TOPIC` shows it. The first
// line of a guide is its title. One with the name of a command of root is called NAME-guide.
func newGuides(root *cobra.Command) []*cobra.Command {
	var topics []*cobra.Command
	names, _ := fs.Glob(guideFiles, "docs/*.md") // the pattern is right, and that is all that can fail
	for _, name := range names {
		text, _ := guideFiles.ReadFile(name)
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		topic := strings.TrimSuffix(strings.TrimPrefix(name, "docs/"), ".md")
		if cmd, _, err := root.Find([]string{topic}); err == nil && cmd != root {
			topic += "-guide"
		}
		topics = append(topics, &cobra.Command{Use: topic, Short: title, Long: strings.TrimSpace(string(text))})
	}
	return topics
}
