package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/syspipe/script"
)

// flags are what a command was asked for, as it was typed. A plainCommand or a scriptCommand does it.
type flags interface {
	register(cmd *cobra.Command)
}

// A plainCommand returns what failed.
type plainCommand interface {
	run(cmd *cobra.Command, args []string) error
}

// A scriptCommand is a script: see syspipe/script.
type scriptCommand interface {
	run(cmd *cobra.Command, args []string)
}

// newCommand makes a command of its flags, where they are wanted, and of the text of that name. With
// nil it takes no arguments.
func newCommand(name string, f flags, args cobra.PositionalArgs, wanted bool) *cobra.Command {
	cmd := helped(name)
	if cmd.Args = args; args == nil {
		cmd.Args = takes(0, 0, name+" takes no arguments")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f, plain := f.(plainCommand); plain {
			return f.run(cmd, args)
		}
		return script.Run(func() { f.(scriptCommand).run(cmd, args) })
	}
	if wanted {
		f.register(cmd)
	}
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
	rest := cmd.LocalFlags()
	var out strings.Builder
	for line := range strings.Lines(cmd.Annotations[flagGroups]) {
		heading, names, _ := strings.Cut(line, ":")
		group, others := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
		rest.VisitAll(func(f *pflag.Flag) {
			into := others
			if slices.Contains(strings.Fields(names), f.Name) {
				into = group
			}
			into.AddFlag(f)
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
		guide := &cobra.Command{Use: topic, Short: title}
		guide.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeGuide(cmd, string(text)) })
		topics = append(topics, guide)
	}
	return topics
}

// writeGuide shows a guide, with its tables as narrow as the screen: what has no room beside the first
// column stands in tables below.
func writeGuide(cmd *cobra.Command, text string) {
	w, t := cmd.OutOrStdout(), view.Table{}
	for line := range strings.Lines(text + "\n") {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch row := strings.HasPrefix(line, "|"); {
		case row && t.Columns == nil:
			t.Columns = view.Columns(strings.Split(strings.Join(cells, "\n?"), "\n")...) // all but the first can be spared
		case row && strings.Trim(line, "|:- \n") != "":
			t.Append(stat.Map(cells, strings.TrimSpace)...)
		case !row:
			if t.Columns != nil {
				_ = t.Write(w, view.FormatTable, viewOptions(cmd, true)) // where it fails, so does the line
			}
			fmt.Fprint(w, line)
			t = view.Table{}
		}
	}
}

// sharedFlags are those that mean the same for every command that measures.
type sharedFlags struct {
	out        string
	format     view.Format
	quiet      bool
	noProgress bool
	seed       int64
	maxTime    time.Duration
	waitQuiet  time.Duration // 0 measures at once
	detail     bool          // print all figures, not what fits a screen
	part       string        // what lines of progress call a part of the work, "" for no name
}

const (
	beginNone = "begin no sample after this long"
	stopAfter = "stop after this long, and show what was found (default none)"
)

// register takes what --max-time is by default, what it means, and formats that not all commands have.
func (f *sharedFlags) register(cmd *cobra.Command, maxTime time.Duration, means string, own ...view.Format) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "", "a folder for the files of the run (default pipebench-out/<time>)")
	registerFormat(cmd, &f.format, own...)
	flags.BoolVar(&f.quiet, "quiet", false, "print results alone: no progress, no warnings")
	flags.BoolVar(&f.noProgress, "no-progress", false, "no bars and no lines of progress")
	flags.Int64Var(&f.seed, "seed", 1, "of the messages and of the order of samples")
	flags.DurationVar(&f.maxTime, "max-time", maxTime, means)
	flags.DurationVar(&f.waitQuiet, "wait-quiet", 0, "first wait until other programs leave the CPUs alone, this long at most")
	flags.Lookup("wait-quiet").NoOptDefVal = "10m"
}

// registerFormat adds the flag of what is printed: as all commands can, and as this one can besides.
func registerFormat(cmd *cobra.Command, format *view.Format, own ...view.Format) {
	isOwn := func(f view.Format) bool { return f == view.FormatBench }
	names := stat.Map(append(slices.DeleteFunc(view.Formats(), isOwn), own...), func(f view.Format) string { return string(f) })
	parse := func(name string) (view.Format, error) {
		if slices.Contains(names, name) {
			return view.Format(name), nil
		}
		if _, err := view.ParseFormat(name); err != nil {
			return "", fmt.Errorf("format %q is not known; known are %s", name, strings.Join(names, ", "))
		}
		return "", fmt.Errorf("it is of measurements, and %s makes none: use table, markdown, csv or json", cmd.Name())
	}
	addParsed(cmd, format, "format", string(view.FormatTable), parse, "of what is printed: "+strings.Join(names, ", "))
	complete(cmd, map[string][]string{"format": names})
}

// complete teaches the shell the values of flags. Each flag exists, so there is no error.
func complete(cmd *cobra.Command, flags map[string][]string) {
	for flag, values := range flags {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// A parsed flag is read as soon as it is given: what it cannot be is an error of usage.
type parsed struct {
	set   func(string) error
	kind  string // of value, for the help
	given string
}

func (p *parsed) String() string { return p.given }
func (p *parsed) Type() string   { return p.kind }
func (p *parsed) Set(s string) error {
	p.given = s
	return p.set(s)
}

// addParsed adds a flag whose text parse turns into a value. Without a text, which is the usual one
// if it is "", the value stays as it is.
func addParsed[T any](cmd *cobra.Command, into *T, name, usual string, parse func(string) (T, error), usage string) {
	p := &parsed{kind: "string", set: func(s string) (err error) {
		if s == "" {
			return nil
		}
		*into, err = parse(s)
		return err
	}}
	if _, number := any(into).(*int); number {
		p.kind = "int"
	}
	if err := p.Set(usual); err != nil {
		panic(fmt.Sprintf("--%s: %v", name, err)) // a defect of this program
	}
	cmd.Flags().Var(p, name, usage)
}

// addCellField adds a flag for a field of the cells that are measured, by its name in the file.
func addCellField(cmd *cobra.Command, c *results.Cell, name string) {
	f, known := results.FieldByName(name)
	if !known {
		panic("a cell has no field " + name) // a defect of this program
	}
	flag := strings.ReplaceAll(name, "_", "-")
	usage := f.Help
	if f.Default != "" {
		usage += " (default " + f.Default + ")"
	}
	kind := "string"
	if name == "touch" {
		kind = "bool"
	}
	cmd.Flags().Var(&parsed{kind: kind, set: func(s string) error { return f.Set(c, s) }}, flag, usage)
	if kind == "bool" {
		cmd.Flags().Lookup(flag).NoOptDefVal = "true"
	}
}

// addList adds a flag of a list, which goes on where the flag is given again.
func addList[T any](cmd *cobra.Command, into *[]T, name, usual string, parse func(string) ([]T, error), usage string) {
	more := func(list string) ([]T, error) {
		items, err := parse(list)
		if cmd.Flags().Changed(name) {
			items = append(*into, items...)
		}
		return items, err
	}
	addParsed(cmd, into, name, usual, more, usage)
}

// The most of what a flag counts. Requests in flight have a slot each before the first is sent.
const (
	mostInflight    = 1 << 16
	mostConnections = 1 << 10
	mostCounted     = 1 << 20
)

// addCount adds a flag of a whole number within limits.
func addCount(cmd *cobra.Command, into *int, name string, usual, least, most int, usage string) {
	parse := func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("want a number from %d to %d", least, most)
		}
		return n, nil
	}
	addParsed(cmd, into, name, strconv.Itoa(usual), parse, usage)
}

// parseSize reads a size that has to fit into an int, as lengths of messages do.
func parseSize(s string) (int, error) {
	n, err := results.ParseSize(s)
	if err == nil && n > math.MaxInt {
		err = fmt.Errorf("%q is larger than this machine's memory", s)
	}
	return int(n), err
}

// sizeOr reads a size above 0, or a word for none, which is -1.
func sizeOr(none string) func(string) (int, error) {
	return func(s string) (int, error) {
		if s == none {
			return -1, nil
		}
		n, err := parseSize(s)
		if err == nil && n < 1 {
			err = fmt.Errorf("%q leaves room for nothing", s)
		}
		return n, err
	}
}

// each reads the items of a list, one after the other.
func each[T any](parse func(string) (T, error)) func(string) ([]T, error) {
	return func(list string) ([]T, error) {
		var items []T
		for text := range strings.SplitSeq(list, ",") {
			item, err := parse(text)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	}
}

// parseShare reads "5%" or "0.05" as 0.05. Without its sign a number is below 1: who writes 5 means
// 5 %, and a gate of 500 % would never fail.
func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err := strconv.ParseFloat(number, 64)
	most := 1.0
	if percent {
		v /= 100
		most = 1000
	}
	if err != nil || !(v >= 0 && v < most) {
		return 0, fmt.Errorf("%q: want a share such as 5%%", s)
	}
	return v, nil
}

// addChoice adds a flag that takes one of some values, the first by default, and teaches them to the
// shell.
func addChoice(cmd *cobra.Command, into *string, name string, known []string, usage string) {
	parse := func(s string) (string, error) {
		if !slices.Contains(known, s) {
			return "", fmt.Errorf("want %s", strings.Join(known, " or "))
		}
		return s, nil
	}
	addParsed(cmd, into, name, known[0], parse, usage)
	complete(cmd, map[string][]string{name: known})
}
