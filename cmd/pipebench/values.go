package main

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/catalogue"
	"github.com/pipebench/pipebench/scenarios/claims"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/tune"
	"github.com/pipebench/pipebench/syspipe"
)

// A valueList has the names that a flag accepts, for `help values` and the shell's completion.
type valueList struct {
	flag, title string
	values      []value
}

// A value is one name that a flag accepts.
type value struct {
	name, what  string
	unsupported error // why this machine does not have it, nil if it does
}

// framingTexts, pipeTexts and ioTexts describe names without parameters: "chunked" for
// "chunked:4KiB".
var (
	framingTexts = map[string]string{
		"raw": "nothing on the wire, both ends know the size: the floor of every " +
			"comparison",
		"ndjson":          "one message per line",
		"ndjson-bytewise": "the same, read one byte per call: slow, as documents print it",
		"ndjson-rescan": "the same, the whole buffer searched again after each 4 KiB read: " +
			"slow, as documents print it",
		"content-length": "a Content-Length header before each message, as language servers do",
		"chunked":        "lines id:index:total:data of at most the given size each",
		"adaptive":       "a bare line if the message fits the size, chunks above it",
		"length-prefix":  "four bytes of length before each message: what a framing can reach",
		"chunked+zstd":   "chunks of compressed data",
	}
	pipeTexts = map[string]string{
		"anonymous":  "pipe(2), CreatePipe on Windows: what a shell's | is",
		"fifo":       "a pipe with a name in the file system",
		"socketpair": "a pair of UNIX sockets: what Node.js gives its children",
		"named":      "a Windows named pipe, overlapped",
		"pty":        "a pseudo-terminal: what a program shown in a terminal writes to",
	}
	ioTexts = map[string]string{
		"poller":   "Go's netpoller parks the goroutine: what os.Pipe does",
		"blocking": "the system call waits: raw calls on a locked thread",
		"poll":     "poll(2) when the call says not now",
		"spin":     "the call again, at once",
		"sleep":    "the call again after a pause, as one widely used SDK does",
	}
)

// valueLists returns all lists of names. The topology of the CPUs says where this machine cannot
// place the two ends of a pipe.
func valueLists(t placement.Topology) []valueList {
	return []valueList{
		{"framing", "how messages are told apart (all is every one)",
			valuesOf(measure.Framings(), func(name string) value {
				return value{name: name, what: framingTexts[bareValue(name)]}
			})},
		{"pipe", "the kernel's byte stream",
			valuesOf(syspipe.Kinds(), func(k syspipe.Kind) value {
				name := string(k)
				return value{name: name, what: pipeTexts[name], unsupported: k.Supported()}
			})},
		{"io", "how an end waits for the kernel; one value, or writer/reader",
			valuesOf(syspipe.IOs(), func(io syspipe.IO) value {
				name := io.String()
				what := ioTexts[bareValue(name)]
				return value{name: name, what: what, unsupported: io.Supported()}
			})},
		{"placement", "where the ends run",
			valuesOf(placement.Places(), func(p placement.Place) value {
				_, err := t.Choose(p.Name)
				return value{name: p.Name, what: p.What, unsupported: err}
			})},
		{"pattern", "who talks", valuesOf(bench.Patterns, pairValue)},
		{"payload", "what generated messages are made of",
			valuesOf(payload.Kinds(), func(k payload.Kind) value {
				return value{name: k.Name, what: k.What}
			})},
		{"preset", "what run measures, as a list of cells with a name",
			valuesOf(measure.Presets(), func(p measure.Preset) value {
				return value{name: p.Name, what: p.What}
			})},
		{"only", "ways in which stdio fails (pipebench probe --failures)",
			valuesOf(failures.All(), func(f failures.Failure) value {
				return value{name: f.Name, what: f.Title}
			})},
		{"fault", "how serve misbehaves, and from which size, number or time on",
			valuesOf(catalogue.Faults(), func(s catalogue.Situation) value {
				return value{name: s.Usage(), what: s.Title}
			})},
		{"objective", "how tune weighs goodput and wait", valuesOf(tune.Objectives, pairValue)},
		{"only", "common claims about stdio (pipebench probe --claims)",
			valuesOf(claims.All(), func(c claims.Claim) value {
				return value{name: c.ID, what: c.Says}
			})},
	}
}

// valuesOf describes each thing of a list as a value.
func valuesOf[T any](things []T, describe func(T) value) []value {
	var list []value
	for _, thing := range things {
		list = append(list, describe(thing))
	}
	return list
}

func pairValue(pair [2]string) value { return value{name: pair[0], what: pair[1]} }

// writeValues shows all lists of names.
func writeValues(cmd *cobra.Command) {
	w := cmd.OutOrStdout()
	topology, err := placement.Read()
	if err != nil {
		writeNotice(cmd.ErrOrStderr(), "pipebench: placements are unknown: "+err.Error())
	}
	fmt.Fprintf(w, "On this machine (%s/%s):\n", runtime.GOOS, runtime.GOARCH)
	for _, list := range valueLists(topology) {
		t := view.Table{
			Title:   fmt.Sprintf("\n--%s: %s", list.flag, list.title),
			Columns: []view.Column{{Title: "name", Key: true}, {Title: "what", Key: true}},
		}
		for _, v := range list.values {
			what := v.what
			if v.unsupported != nil {
				what += fmt.Sprintf(" [unsupported: %v]", v.unsupported)
			}
			t.Append(v.name, what)
		}
		if err := t.Write(w, view.FormatTable, viewOptions(cmd, false)); err != nil {
			return // the output remembers the error, and the command fails
		}
	}
}

// completeNames returns the function that completes the value of a flag, with a name in valueLists
// or else with a file. Of several values with commas between them, it completes the last.
func completeNames(flag string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		topology, _ := placement.Read() // an error changes only which placements are unsupported
		earlier := typed[:strings.LastIndexByte(typed, ',')+1]
		var completions []string
		for _, list := range valueLists(topology) {
			if list.flag != flag {
				continue
			}
			for _, v := range list.values {
				completions = append(completions, earlier+v.name+"\t"+v.what)
			}
		}
		if len(completions) == 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return completions, cobra.ShellCompDirectiveNoFileComp
	}
}
