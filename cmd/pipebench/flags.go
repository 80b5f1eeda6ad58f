package main

import (
	"cmp"
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

// sharedFlags are the flags that all measuring commands have, with the same meaning in each.
type sharedFlags struct {
	out        string
	format     view.Format
	quiet      bool
	noProgress bool
	seed       int64
	labels     map[string]string
	anonymous  bool // records name no host and no user
	maxTime    time.Duration
	detail     bool   // each command registers it with its own help text
	part       string // not a flag: how lines of progress call a part of the work; "": no name
}

const noMaxTime = 0 // no limit: the default of --max-time in most commands
const stopAfter = "stop after this long, and show what was found (default none)"

// register adds the flags. ownFormats are output formats that only this command has.
func (f *sharedFlags) register(
	cmd *cobra.Command, maxTime time.Duration, maxTimeUsage string, ownFormats ...view.Format,
) {
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "out", "o", "",
		"a folder for the files of the run (default pipebench-out/<time>); \"-\": records go to "+
			"standard output as they come, and all else to standard error")
	registerFormat(cmd, &f.format, ownFormats...)
	flags.BoolVar(&f.quiet, "quiet", false, "print results alone: no progress, no warnings")
	flags.BoolVar(&f.noProgress, "no-progress", false, "no bars and no lines of progress")
	addParsed(cmd, &f.labels, "label", "", f.parseLabel, "KEY=VALUE: what the run is called in "+
		"its records; may be repeated (CI, Slurm and Kubernetes add their own)")
	flags.BoolVar(&f.anonymous, "anonymous", false,
		"records have hashes in place of the names of hosts and of users' folders")
	flags.Int64Var(&f.seed, "seed", 1, "seed of what is random: messages and the order of samples")
	addDuration(cmd, &f.maxTime, "max-time", maxTime, maxTimeUsage)
}

// registerFormat adds the flag for the output format. ownFormats are formats that only this command
// has.
func registerFormat(cmd *cobra.Command, format *view.Format, ownFormats ...view.Format) {
	var names []string
	for _, f := range view.Formats() {
		if f != view.FormatBench { // only some commands have it: see ownFormats
			names = append(names, string(f))
		}
	}
	for _, f := range ownFormats {
		names = append(names, string(f))
	}
	parse := func(s string) (view.Format, error) {
		f := view.Format(s)
		err := oneOf(names, s)
		if err != nil && f == view.FormatJUnit {
			err = fmt.Errorf("check alone has it: %w", err)
		}
		return f, err
	}
	usage := "how the results are printed: " + strings.Join(names, ", ")
	addParsed(cmd, format, "format", names[0], parse, usage)
	complete(cmd, map[string][]string{"format": names})
}

// addDuration adds a flag for a duration that cannot be negative. usual is the default.
func addDuration(
	cmd *cobra.Command, into *time.Duration, name string, usual time.Duration, usage string,
) {
	text := ""
	if usual > 0 {
		text = usual.String()
	}
	addParsed(cmd, into, name, text, parseTime, usage)
}

// addTimeout adds a flag for a timeout. The user types 0 for no timeout, and *into then becomes -1.
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
	if err != nil || t < 0 {
		return 0, errors.New("want a time of 0 or more, such as 3s or 500ms")
	}
	return t, nil
}

// complete makes the shell's completion offer these values for these flags.
func complete(cmd *cobra.Command, flags map[string][]string) {
	for flag, values := range flags {
		fixed := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		_ = cmd.RegisterFlagCompletionFunc(flag, fixed) // each flag exists, so there is no error
	}
}

// A parsedValue is the value of a flag whose text is parsed by a function of ours.
type parsedValue struct {
	set  func(string) error
	kind string // the type of value that the help names
	text string // the text that was given
}

func (p *parsedValue) String() string { return p.text }
func (p *parsedValue) Type() string   { return p.kind }
func (p *parsedValue) Set(s string) error {
	p.text = s
	return p.set(s)
}

// addParsed adds a flag whose text is turned into *into by the function parse. usual is the default
// text. If the text is "", *into stays unchanged.
func addParsed[T any](
	cmd *cobra.Command, into *T, name, usual string, parse func(string) (T, error), usage string,
) {
	set := func(s string) error {
		if s == "" {
			return errors.New("a value is missing")
		}
		value, err := parse(s)
		if err != nil {
			return err
		}
		*into = value
		return nil
	}
	value := &parsedValue{kind: "string", set: set}
	switch any(into).(type) {
	case *int:
		value.kind = "int"
	case *time.Duration:
		value.kind = "duration"
	}
	if usual != "" {
		if err := value.Set(usual); err != nil {
			panic(fmt.Sprintf("--%s: %v", name, err)) // a defect of this program
		}
	}
	cmd.Flags().Var(value, name, usage)
}

// addCellField adds a flag that sets one field of c. The parameter field is the name of that field
// in result files, such as read_buffer for the flag --read-buffer.
func addCellField(cmd *cobra.Command, c *results.Cell, field string) {
	f, known := results.FieldByName(field)
	if !known {
		panic("a cell has no field " + field) // a defect of this program
	}
	flag := strings.ReplaceAll(field, "_", "-")
	usage := f.Help
	if f.Default != "" {
		usage += " (default " + f.Default + ")"
	}
	value := &parsedValue{kind: "string", set: func(s string) error { return f.Set(c, s) }}
	if field == "touch" {
		value.kind = "bool"
	}
	cmd.Flags().Var(value, flag, usage)
	if value.kind == "bool" { // --touch alone means --touch=true
		cmd.Flags().Lookup(flag).NoOptDefVal = "true"
	}
}

// addList adds a flag for a list. It may be given several times.
func addList[T any](
	cmd *cobra.Command, into *[]T, name string, parse func(string) ([]T, error), usage string,
) {
	parseMore := func(list string) ([]T, error) {
		items, err := parse(list)
		if cmd.Flags().Changed(name) { // the flag was given before
			items = append(*into, items...)
		}
		return items, err
	}
	addParsed(cmd, into, name, "", parseMore, usage)
}

// The largest numbers that flags take. mostInflight is limited because memory for all requests in
// flight is reserved at once.
const (
	mostInflight    = 1 << 16
	mostConnections = 1 << 10
	mostCounted     = 1 << 20 // for all other flags
)

// A countFlag says which whole numbers a flag accepts.
type countFlag struct {
	usual int // the default
	least int
	most  int // 0: mostCounted
}

func addCount(cmd *cobra.Command, into *int, name string, c countFlag, usage string) {
	most := cmp.Or(c.most, mostCounted)
	parse := func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < c.least || n > most {
			return 0, fmt.Errorf("want a number from %d to %d", c.least, most)
		}
		return n, nil
	}
	addParsed(cmd, into, name, strconv.Itoa(c.usual), parse, usage)
}

// parseSize reads a size that fits into an int, because lengths of messages are ints.
func parseSize(s string) (int, error) {
	n, err := results.ParseSize(s)
	if err == nil && n > math.MaxInt {
		err = fmt.Errorf("%q is larger than this machine's memory", s)
	}
	return int(n), err
}

// sizeOr returns a function that parses a size above 0. For the word in noLimit, such as "none",
// that function returns -1.
func sizeOr(noLimit string) func(string) (int, error) {
	return func(s string) (int, error) {
		if s == noLimit {
			return -1, nil
		}
		n, err := parseSize(s)
		if err == nil && n < 1 {
			err = fmt.Errorf("%q leaves room for nothing", s)
		}
		return n, err
	}
}

// parseShare reads "5%" or "0.05" as 0.05. Without a percent sign, the number must be below 1:
// whoever writes 5 means 5 %.
func parseShare(s string) (float64, error) {
	number, isPercent := strings.CutSuffix(s, "%")
	share, err := strconv.ParseFloat(number, 64)
	limit := 1.0
	if isPercent {
		share /= 100
		limit = 1000
	}
	isInRange := share >= 0 && share < limit // false for NaN
	if err != nil || !isInRange {
		return 0, errors.New("want a share such as 5%")
	}
	return share, nil
}

// addChoice adds a flag that takes one of the known values, by default the first.
func addChoice(cmd *cobra.Command, into *string, name string, known []string, usage string) {
	parse := func(s string) (string, error) { return s, oneOf(known, s) }
	addParsed(cmd, into, name, known[0], parse, usage)
	complete(cmd, map[string][]string{name: known})
}

// oneOf returns an error that lists the known values if s is none of them.
func oneOf(known []string, s string) error {
	if slices.Contains(known, s) {
		return nil
	}
	last := len(known) - 1
	return fmt.Errorf("want %s or %s", strings.Join(known[:last], ", "), known[last])
}
