package view_test

import (
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/view"
)

// atlasOf are machines of which two answer alike: but for times, which never are.
func atlasOf() *results.Set {
	finding := func(step string, value any) results.Probe {
		return results.Probe{Step: step, Value: value, Unit: map[bool]string{true: "B"}[value != true], How: "try " + step}
	}
	first := on("a", finding("capacity/stated", 65536.0), finding("capacity/fill/511", 65408.0), finding("capacity/fill/2049", 32784.0),
		finding("capacity/fill/61440", 65536.0), finding("slot", 4096.0), finding("interleave/4096/read-4096", "too few"),
		finding("interleave/4096/read-65536", true), finding("broken/after-0/notice", 500.0),
		finding("interleave/61440/read-4096", true), results.Probe{Step: "deadlock", Value: "hangs"})
	alike := on("b", first.Probes...)
	alike.Environments[0].Arch, alike.Environments[0].Imitation = "arm64", "emulated by QEMU"
	alike.Probes[7].Value = 900.0
	alike.Probes[6].Value, alike.Probes[8].Value = "too few", false // say nothing, so differ from nothing
	large := on("c", finding("interleave/61440/read-4096", false), finding("capacity/accepted", 65536.0), finding("slot", 16384.0), finding("capacity/fill/61440", 61439.0))
	large.Environments[0].Imitation, large.Environments[0].PageSize = "emulated by QEMU", 16384
	return results.Merge(first, alike, large, on("d", finding("limit/of-nothing-asked", 1.0)))
}

func TestTheAtlasPutsSystemsThatAnswerAlikeInAColumn(t *testing.T) {
	p := view.Atlas(atlasOf(), []view.DocumentedSystem{documented("macos")}, true)
	var heads []string
	for _, c := range p.Tables[0].Columns {
		heads = append(heads, c.Title)
	}
	want := "question|A B linux · pages of 0 B · some emulated|C linux · amd64 · pages of 16 KiB · emulated by QEMU|macos*"
	if got := strings.Join(heads, "|"); got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
	if got := strings.Join(p.Header, "\n"); strings.Count(got, "\n") != 3 || !strings.Contains(got, "C  linux  amd64 · pages of 16 KiB") {
		t.Errorf("machines:\n%s", got)
	}
	rows := map[string]string{}
	for _, row := range p.Tables[0].Rows {
		var texts []string
		for _, c := range row[1:] {
			texts = append(texts, c.Text)
		}
		rows[row[0].Text] = strings.Join(texts, " | ")
	}
	for question, want := range map[string]string{
		"A new pipe holds": "65536 B | 65536 B | -",
		"Writes of one size fill it with as little as":              "32784 B (2049 B each) | ≠ 61439 B (61440 B each) | -",
		"A chunk of 60 KiB fits into it whole":                      "yes | ≠ no | -",
		"A full one takes a byte again once there were read":        "4096 B | ≠ 16384 B | ≠ 1 B",
		"Writes of 4,096 B of two programs mix":                     "yes | - | -",
		"Writes of 60 KiB of two programs mix":                      "yes | not seen | -",
		"The writer is told of it after":                            "500 B | - | -",
		"A parent that only writes to an echoing child hangs after": "hangs | - | -",
	} {
		if rows[question] != want {
			t.Errorf("%s: got %q, want %q", question, rows[question], want)
		}
	}
}

// Each cell leads to a record: by its step, the experiment and the run.
func TestTheAtlasSaysHowEachAnswerWasFound(t *testing.T) {
	p := view.Atlas(atlasOf(), []view.DocumentedSystem{documented("macos")}, true)
	for _, want := range []string{"slot: try slot (run a)", "slot: try slot (run c)", "slot: documented (POSIX)"} {
		if text := written(t, p, view.FormatMarkdown); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
		if html, err := p.Tables[0].HTML(); err != nil || !strings.Contains(string(html), `title="`+want+`"`) {
			t.Errorf("no title %q in %s: %v", want, html, err)
		}
	}
	if short := view.Atlas(atlasOf(), nil, false); len(short.Tables) != 2 {
		t.Errorf("without detail and systems: %d tables", len(short.Tables))
	}
}

// A stream has a row for the systems that answer alike: whatever a pseudo-terminal held just then. A
// system that lacks it has a row that says so.
func TestTheAtlasHasARowForEachKindOfStream(t *testing.T) {
	stream := func(pipe string, step string, value any) results.Probe {
		return results.Probe{Pipe: pipe, Step: step, Value: value, How: "try " + step}
	}
	var sets []*results.Set
	for machine, holds := range []float64{1000, 2000, 0} {
		set := on(string(rune('a'+machine)), stream("", "slot", 4096.0))
		found := []results.Probe{stream("pty", "capacity/accepted", holds), stream("unix", "capacity/accepted", 1000*float64(machine))}
		if holds == 0 {
			found = []results.Probe{stream("pty", "kind", "unsupported")}
		}
		for _, p := range found {
			p.Kind, p.Run = results.KindProbe, set.Environments[0].Run
			set.Probes = append(set.Probes, p)
		}
		sets = append(sets, set)
	}
	var rows []string
	for _, row := range view.Atlas(results.Merge(sets...), nil, true).Tables[1].Rows {
		rows = append(rows, row[0].Text+" "+row[1].Text+": "+row[2].Text)
	}
	want := "pty · a pseudo-terminal A B: 1000\npty · a pseudo-terminal C: unsupported\nunix · a Unix socket A: 0\nunix · a Unix socket B: 1000"
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("rows\n%s\nwant\n%s", got, want)
	}
}
