package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// sharedFlags are those that mean the same for every command that measures.
type sharedFlags struct {
	out        string
	format     view.Format
	quiet      bool
	noProgress bool
	seed       int64
	labels     map[string]string
	anonymous  bool // records name no host and no user
	maxTime    time.Duration
	detail     bool   // print all figures, not only those that fit a screen
	part       string // the name of a part of the work in lines of progress; "": none
}

const stopAfter = "stop after this long, and show what was found (default none)"

// register adds the flags. maxTime is the default of --max-time, means is its help text, and own
// are formats that not all commands have.
func (f *sharedFlags) register(
	cmd *cobra.Command, maxTime time.Duration, means string, own ...view.Format,
) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "",
		"a folder for the files of the run (default pipebench-out/<time>); \"-\": records go to "+
			"standard output as they come, and all else to standard error")
	registerFormat(cmd, &f.format, own...)
	flags.BoolVar(&f.quiet, "quiet", false, "print results alone: no progress, no warnings")
	flags.BoolVar(&f.noProgress, "no-progress", false, "no bars and no lines of progress")
	addParsed(cmd, &f.labels, "label", "", f.parseLabel, "KEY=VALUE: what the run is called in "+
		"its records; may be repeated (CI, Slurm and Kubernetes add their own)")
	flags.BoolVar(&f.anonymous, "anonymous", false,
		"records have hashes in place of the names of hosts and of users' folders")
	flags.Int64Var(&f.seed, "seed", 1, "of the messages and of the order of samples")
	addDuration(cmd, &f.maxTime, "max-time", maxTime, means)
}

// registerFormat adds the flag for the format of what is printed. own are formats that this command
// has in addition to those of all commands.
func registerFormat(cmd *cobra.Command, format *view.Format, own ...view.Format) {
	var names []string
	for _, f := range view.Formats() {
		if f != view.FormatBench {
			names = append(names, string(f))
		}
	}
	for _, f := range own {
		names = append(names, string(f))
	}
	text := (*string)(format)
	addChoice(cmd, text, "format", names, "of what is printed: "+strings.Join(names, ", "))
}

// addDuration adds a flag for a duration that cannot be negative.
func addDuration(
	cmd *cobra.Command, into *time.Duration, name string, usual time.Duration, usage string,
) {
	text := ""
	if usual > 0 {
		text = usual.String()
	}
	addParsed(cmd, into, name, text, parseTime, usage)
}

// addTimeout adds a flag for a timeout; on the command line 0 means no timeout. In the options a
// negative value means that, and 0 means the default.
func addTimeout(
	cmd *cobra.Command, into *time.Duration, name string, usual time.Duration, usage string,
) {
	parse := func(s string) (time.Duration, error) {
		t, err := parseTime(s)
		if t == 0 {
			t = -1
		}
		return t, err
	}
	addParsed(cmd, into, name, usual.String(), parse, usage)
}

func parseTime(s string) (time.Duration, error) {
	t, err := time.ParseDuration(s)
	if err == nil && t < 0 {
		err = errors.New("a time cannot be negative")
	}
	return t, err
}

// complete gives the values of flags to the completion of the shell. Each flag exists, so there is
// no error.
func complete(cmd *cobra.Command, flags map[string][]string) {
	for flag, values := range flags {
		fixed := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		_ = cmd.RegisterFlagCompletionFunc(flag, fixed)
	}
}

// A parsed flag is parsed as soon as it is given, so that an impossible value is a usage error.
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

// addParsed adds a flag whose text parse turns into a value. usual is the default text. If the text
// is "", the value stays as it is.
func addParsed[T any](
	cmd *cobra.Command, into *T, name, usual string, parse func(string) (T, error), usage string,
) {
	set := func(s string) error {
		if s == "" {
			return nil
		}
		value, err := parse(s)
		if err != nil {
			return err
		}
		*into = value
		return nil
	}
	p := &parsed{kind: "string", set: set}
	switch any(into).(type) {
	case *int:
		p.kind = "int"
	case *time.Duration:
		p.kind = "duration"
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
	set := func(s string) error { return f.Set(c, s) }
	cmd.Flags().Var(&parsed{kind: kind, set: set}, flag, usage)
	if kind == "bool" {
		cmd.Flags().Lookup(flag).NoOptDefVal = "true"
	}
}

// addList adds a flag for a list. If the flag is given again, it adds to the list.
func addList[T any](
	cmd *cobra.Command, into *[]T, name, usual string,
	parse func(string) ([]T, error), usage string,
) {
	more := func(list string) ([]T, error) {
		items, err := parse(list)
		if cmd.Flags().Changed(name) {
			items = append(*into, items...)
		}
		return items, err
	}
	addParsed(cmd, into, name, usual, more, usage)
}

// Upper limits of flags for a number. Memory for every request in flight is reserved before the
// first is sent.
const (
	mostInflight    = 1 << 16
	mostConnections = 1 << 10
	mostCounted     = 1 << 20
)

// addCount adds a flag for a whole number within limits.
func addCount(
	cmd *cobra.Command, into *int, name string, usual, least, most int, usage string,
) {
	parse := func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("want a number from %d to %d", least, most)
		}
		return n, nil
	}
	addParsed(cmd, into, name, strconv.Itoa(usual), parse, usage)
}

// parseSize reads a size that must fit into an int, because lengths of messages are ints.
func parseSize(s string) (int, error) {
	n, err := results.ParseSize(s)
	if err == nil && n > math.MaxInt {
		err = fmt.Errorf("%q is larger than this machine's memory", s)
	}
	return int(n), err
}

// sizeOr returns a parser for a size above 0. It also accepts a word that means no limit, the
// parameter none, and gives -1 for it.
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

// parseShare reads "5%" or "0.05" as 0.05. Without a percent sign the number must be below 1: a
// person who writes 5 means 5 %, and a gate of 500 % would never fail.
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

// addChoice adds a flag that takes one of some values, the first by default, and adds them to the
// completion of the shell.
func addChoice(cmd *cobra.Command, into *string, name string, known []string, usage string) {
	parse := func(s string) (string, error) {
		if !slices.Contains(known, s) {
			last := len(known) - 1
			others := strings.Join(known[:last], ", ")
			return "", fmt.Errorf("want %s or %s", others, known[last])
		}
		return s, nil
	}
	addParsed(cmd, into, name, known[0], parse, usage)
	complete(cmd, map[string][]string{name: known})
}
