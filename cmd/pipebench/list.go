package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipebench/pipebench/bench"
	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/bench/placement"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/results/view"
	"github.com/pipebench/pipebench/scenarios/claims"
	"github.com/pipebench/pipebench/scenarios/faults"
	"github.com/pipebench/pipebench/scenarios/faults/catalogue"
	"github.com/pipebench/pipebench/scenarios/measure"
	"github.com/pipebench/pipebench/scenarios/tune"
	"github.com/pipebench/pipebench/syspipe"
	"github.com/pipebench/pipebench/syspipe/script"
)

// listFlags are what list was asked for, as it was typed.
type listFlags struct{ format view.Format }

func (f *listFlags) register(cmd *cobra.Command) { registerFormat(cmd, &f.format) }

// A catalogSection lists the names that one flag takes.
type catalogSection struct {
	flag, title string
	items       []item
}

type item struct {
	name, what  string
	unsupported string // why this machine does not have it, "" where it does
}

func (f *listFlags) run(cmd *cobra.Command, _ []string) {
	w, all := cmd.OutOrStdout(), catalog(script.Must(placement.Read()))
	on := fmt.Sprintf("On this machine (%s/%s)", runtime.GOOS, runtime.GOARCH)
	if f.format != view.FormatTable { // one table, for a program to read
		t := view.Table{Title: on, Columns: view.Columns("flag", "name", "what", "unsupported")}
		for _, s := range all {
			for _, i := range s.items {
				t.Append(s.flag, i.name, i.what, i.unsupported)
			}
		}
		script.Check(t.Write(w, f.format, view.Options{}))
		return
	}
	fmt.Fprintf(w, "%s:\n", on)
	for _, s := range all {
		t := view.Table{Title: fmt.Sprintf("\n--%s: %s", s.flag, s.title), Columns: view.Columns("name", "what")}
		for _, i := range s.items {
			what := i.what
			if i.unsupported != "" {
				what += " [unsupported: " + i.unsupported + "]"
			}
			t.Append(i.name, what)
		}
		script.Check(t.Write(w, f.format, viewOptions(cmd, false)))
	}
}

// catalog returns everything that a flag can name.
func catalog(t placement.Topology) []catalogSection {
	return []catalogSection{
		{"framing", "how messages are told apart (all is every one)", stat.Map(measure.Framings(), func(name string) item {
			return item{name: name, what: describe("framing", name)}
		})},
		{"pipe", "the kernel's byte stream", stat.Map(syspipe.Kinds(), func(k syspipe.Kind) item {
			return item{string(k), describe("pipe", string(k)), faults.ErrorText(k.Supported())}
		})},
		{"io", "how an end waits for the kernel; one value, or writer/reader", stat.Map(syspipe.IOs(), func(io syspipe.IO) item {
			return item{io.String(), describe("io", io.String()), faults.ErrorText(io.Supported())}
		})},
		{"placement", "where the ends run", stat.Map(placement.Places(), func(p placement.Place) item {
			_, err := t.Choose(p.Name)
			return item{p.Name, p.What, faults.ErrorText(err)}
		})},
		{"peer", "what the ends are", stat.Map(bench.Peers, pair)},
		{"pattern", "who talks", stat.Map(bench.Patterns, pair)},
		{"clock", "when it is read in round trips", stat.Map(bench.Clocks, pair)},
		{"payload", "what generated messages are made of", stat.Map(payload.Kinds(), func(k payload.Kind) item {
			return item{name: k.Name, what: k.What}
		})},
		{"shape", "the work of another benchmark, its figure in its unit", stat.Map(measure.Shapes(), func(s measure.Shape) item {
			return item{name: s.Name, what: s.What}
		})},
		{"scenario", "ways in which stdio fails, to be reproduced (" + allScenarios + " of them, or a list)", stat.Map(faults.All(), func(s faults.Scenario) item {
			return item{name: s.Name, what: s.Title}
		})},
		{"fault", "how serve misbehaves, with the size, number or time from which on", stat.Map(catalogue.Of(catalogue.Server), misbehaviour)},
		{"faults", "what drive puts a server through", stat.Map(catalogue.Of(catalogue.Client), misbehaviour)},
		{"objective", "what tune weighs goodput and wait by", stat.Map(tune.Objectives, pair)},
		{"only", "common claims about stdio, to be judged (pipebench claims)", stat.Map(claims.All(), func(c claims.Claim) item {
			return item{name: c.ID, what: c.Text}
		})},
	}
}

// completeNames completes the names that list has for a flag, the last of several. Of others the
// shell knows nothing better than files.
func completeNames(flag string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		topology, _ := placement.Read() // without it no placement is known to be there, and all have names
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		for _, s := range catalog(topology) {
			if s.flag != flag {
				continue
			}
			return stat.Map(s.items, func(i item) string { return before + i.name + "\t" + i.what }), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

func misbehaviour(m catalogue.Misbehaviour) item { return item{name: m.Usage(), what: m.Title} }

func pair(p [2]string) item { return item{name: p[0], what: p[1]} }

// nameTexts has a line for each name that the layers below know: "pipe fifo: a pipe with a name …".
//
//go:embed names.txt
var nameTexts string

// describe finds the text of a flag's name that may have a parameter.
func describe(flag, name string) string {
	bare, _, _ := strings.Cut(strings.ReplaceAll(name, "=", ":"), ":")
	return descriptions()[flag+" "+bare]
}

var descriptions = catalogue.Texts(nameTexts)
