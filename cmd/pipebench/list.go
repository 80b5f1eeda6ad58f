package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/results/view"
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

// A shelf is one list of names, for one flag.
type shelf struct {
	flag, title string
	items       []item
}

type item struct {
	name, what string
	missing    error // why this machine does not have it
}

func list(w io.Writer, format view.Format) error {
	topology, err := placement.Read()
	if err != nil {
		return err
	}
	all := shelves(topology)
	if format != view.FormatTable {
		return inventory(all).Write(w, format)
	}
	fmt.Fprintf(w, "On this machine (%s/%s):\n", runtime.GOOS, runtime.GOARCH)
	for _, s := range all {
		if err := s.write(w); err != nil {
			return err
		}
	}
	return nil
}

// inventory is all shelves as one table, for a program to read.
func inventory(all []shelf) view.Table {
	t := view.Table{Title: fmt.Sprintf("On this machine (%s/%s)", runtime.GOOS, runtime.GOARCH), Columns: view.Columns("flag", "name", "what", "not here")}
	for _, s := range all {
		for _, i := range s.items {
			missing := ""
			if i.missing != nil {
				missing = i.missing.Error()
			}
			t.Append(s.flag, i.name, i.what, missing)
		}
	}
	return t
}

func shelves(t placement.Topology) []shelf {
	return []shelf{
		framingShelf(), pipeShelf(), ioShelf(), placeShelf(t),
		valueShelf("peer", "what the ends are", bench.Peers), valueShelf("pattern", "who talks", bench.Patterns),
		valueShelf("clock", "when it is read in round trips", bench.Clocks), payloadShelf(), shapeShelf(), scenarioShelf(), claimShelf(),
	}
}

func (s shelf) write(w io.Writer) error {
	fmt.Fprintf(w, "\n--%s: %s\n", s.flag, s.title)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, i := range s.items {
		what := i.what
		if i.missing != nil {
			what += fmt.Sprintf(" [not here: %v]", i.missing)
		}
		fmt.Fprintf(table, "  %s\t%s\n", i.name, what)
	}
	return table.Flush()
}

func framingShelf() shelf {
	s := shelf{flag: "framing", title: "how messages are told apart"}
	for _, f := range framers.All() {
		s.items = append(s.items, item{name: f.String(), what: describe(framingLines, f.String())})
	}
	return s
}

func pipeShelf() shelf {
	s := shelf{flag: "pipe", title: "the kernel's byte stream"}
	for _, k := range syspipe.Kinds() {
		s.items = append(s.items, item{string(k), describe(pipeLines, string(k)), k.Supported()})
	}
	return s
}

func ioShelf() shelf {
	s := shelf{flag: "io", title: "how an end waits for the kernel; one value, or writer/reader"}
	for _, io := range syspipe.IOs() {
		s.items = append(s.items, item{io.String(), describe(ioLines, io.String()), io.Supported()})
	}
	return s
}

func placeShelf(t placement.Topology) shelf {
	s := shelf{flag: "placement", title: "where the ends run"}
	for _, p := range placement.Places() {
		_, err := t.Choose(p.Name)
		s.items = append(s.items, item{p.Name, p.What, err})
	}
	return s
}

func payloadShelf() shelf {
	s := shelf{flag: "payload", title: "what generated messages are made of"}
	for _, k := range payload.Kinds() {
		s.items = append(s.items, item{name: k.Name, what: k.What})
	}
	return s
}

func shapeShelf() shelf {
	s := shelf{flag: "shape", title: "the work of another benchmark, its figure in its unit"}
	for _, shape := range measure.Shapes() {
		s.items = append(s.items, item{name: shape.Name, what: shape.What})
	}
	return s
}

func valueShelf(flag, title string, values [][2]string) shelf {
	s := shelf{flag: flag, title: title}
	for _, v := range values {
		s.items = append(s.items, item{name: v[0], what: v[1]})
	}
	return s
}

// A line for each name that the layers below know; a test holds the two
// against each other.
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
