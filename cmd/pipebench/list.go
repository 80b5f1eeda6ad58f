package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/syspipe"
)

func newList() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the framings, pipes, and all else that a run can be asked for",
		Example: `  pipebench list
  pipebench list --format csv | grep ^placement`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return list(cmd.OutOrStdout(), view.Format(format))
		},
	}
	registerFormat(cmd, &format)
	noBench(cmd, &format)
	return cmd
}

// A catalogSection lists the names that one flag takes.
type catalogSection struct {
	flag, title string
	items       []item
}

type item struct {
	name, what  string
	unsupported error // why this machine does not have it
}

func list(w io.Writer, format view.Format) error {
	topology, err := placement.Read()
	if err != nil {
		return err
	}
	on := fmt.Sprintf("On this machine (%s/%s)", runtime.GOOS, runtime.GOARCH)
	all := catalog(topology)
	if format != view.FormatTable { // one table, for a program to read
		t := view.Table{Title: on, Columns: view.Columns("flag", "name", "what", "unsupported")}
		for _, s := range all {
			for _, i := range s.items {
				why := ""
				if i.unsupported != nil {
					why = i.unsupported.Error()
				}
				t.Append(s.flag, i.name, i.what, why)
			}
		}
		return t.Write(w, format)
	}
	fmt.Fprintf(w, "%s:\n", on)
	for _, s := range all {
		const wide = 100 // columns of text, so that most descriptions take one line
		t := view.Table{Title: fmt.Sprintf("\n--%s: %s", s.flag, s.title), Columns: []view.Column{{Title: "name"}, {Title: "what", Width: wide}}}
		for _, i := range s.items {
			what := i.what
			if i.unsupported != nil {
				what += fmt.Sprintf(" [unsupported: %v]", i.unsupported)
			}
			t.Append(i.name, what)
		}
		if err := t.Write(w, format); err != nil {
			return err
		}
	}
	return nil
}

// catalog returns everything that a flag can name.
func catalog(t placement.Topology) []catalogSection {
	all := []catalogSection{
		{flag: "framing", title: "how messages are told apart"},
		{flag: "pipe", title: "the kernel's byte stream"},
		{flag: "io", title: "how an end waits for the kernel; one value, or writer/reader"},
		{flag: "placement", title: "where the ends run"},
		pairs("peer", "what the ends are", bench.Peers),
		pairs("pattern", "who talks", bench.Patterns),
		pairs("clock", "when it is read in round trips", bench.Clocks),
		{flag: "payload", title: "what generated messages are made of"},
		{flag: "shape", title: "the work of another benchmark, its figure in its unit"},
		{flag: "scenario", title: "ways in which stdio fails, to be reproduced (" + allScenarios + " of them, or a list)"},
		{flag: "only", title: "claims that documents make, to be judged (pipebench claims)"},
	}
	add := func(flag string, i item) {
		at := slices.IndexFunc(all, func(s catalogSection) bool { return s.flag == flag })
		all[at].items = append(all[at].items, i)
	}
	for _, f := range framers.All() {
		add("framing", item{name: f.String(), what: describe(framingLines, f.String())})
	}
	for _, k := range syspipe.Kinds() {
		add("pipe", item{string(k), describe(pipeLines, string(k)), k.Supported()})
	}
	for _, io := range syspipe.IOs() {
		add("io", item{io.String(), describe(ioLines, io.String()), io.Supported()})
	}
	for _, p := range placement.Places() {
		_, err := t.Choose(p.Name)
		add("placement", item{p.Name, p.What, err})
	}
	for _, k := range payload.Kinds() {
		add("payload", item{name: k.Name, what: k.What})
	}
	for _, shape := range measure.Shapes() {
		add("shape", item{name: shape.Name, what: shape.What})
	}
	for _, f := range faults.All() {
		add("scenario", item{name: f.Name, what: f.Title})
	}
	for _, c := range claims.All() {
		add("only", item{name: c.ID, what: c.Text})
	}
	return all
}

// pairs makes a section of names with what they mean.
func pairs(flag, title string, values [][2]string) catalogSection {
	s := catalogSection{flag: flag, title: title}
	for _, v := range values {
		s.items = append(s.items, item{name: v[0], what: v[1]})
	}
	return s
}

// A line for each name that the layers below know; a test holds the two against each other.
var (
	framingLines = map[string]string{
		"raw":             "nothing on the wire, both ends know the size: the floor of every comparison",
		"ndjson":          "a message a line",
		"ndjson-bytewise": "the same, read one byte a call: slow as documents print it",
		"ndjson-rescan":   "the same, the whole buffer searched again after each 4 KiB read: slow as documents print it",
		"content-length":  "a Content-Length header before each message, as language servers do",
		"chunked":         "id:index:total:data lines of at most the given size each",
		"adaptive":        "a bare line where the message fits the size, chunks above",
		"length-prefix":   "four bytes of length before each message: what a framing can reach",
		"chunked+zstd":    "chunks of compressed data",
	}
	pipeLines = map[string]string{
		"anonymous":  "pipe(2), CreatePipe on Windows: what a shell's | is",
		"fifo":       "a pipe with a name in the file system",
		"socketpair": "a pair of UNIX sockets: what Node.js gives its children",
		"named":      "a Windows named pipe, overlapped",
	}
	ioLines = map[string]string{
		"poller":   "Go's netpoller parks the goroutine: what os.Pipe does",
		"blocking": "the system call waits: raw calls on a locked thread",
		"poll":     "poll(2) when the call says not now",
		"spin":     "the call again, at once",
		"sleep":    "the call again after a pause, as one widely used SDK does",
	}
)

// describe finds the line of a name that may have a parameter.
func describe(lines map[string]string, name string) string {
	bare, _, _ := strings.Cut(strings.ReplaceAll(name, "=", ":"), ":")
	return lines[bare]
}
