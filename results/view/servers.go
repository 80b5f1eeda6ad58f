package view

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// MaxNameLength is the number of characters of a foreign name that fit a legend or an axis.
const MaxNameLength = 60

// CommandName writes a command as a title, without the folders of the program.
func CommandName(command []string) string {
	if len(command) == 0 {
		return "?"
	}
	return Truncate(strings.Join(append([]string{filepath.Base(command[0])}, command[1:]...), " "), MaxNameLength)
}

// driven groups what drive found by the server that it loaded. A record of how a recorded server
// ended belongs to the recording.
func driven(s *results.Set) [][]results.Target {
	targets := stat.Filter(s.Targets, func(t results.Target) bool { return t.Evidence.Traffic == nil })
	return stat.GroupBy(targets, func(t results.Target) string { return serverName(s, t) })
}

func serverName(s *results.Set, t results.Target) string {
	return JoinParts(CommandName(t.Command), MachineTitle(s, s.Machine(t.Run)))
}

// serverSection holds the servers that drive loaded.
func serverSection(s *results.Set) Section {
	out := Section{ID: "servers", Title: "Servers"}
	rest := *s
	rest.Targets = nil
	var all []results.Target
	for _, own := range driven(s) {
		name := serverName(s, own[0])
		all = append(all, own...)
		for _, text := range slices.Concat(targetSentences(own), sizeGrowth(own), targetAdvice(own), targetNotes(own)) {
			out.Lead = append(out.Lead, name+": "+text+".")
		}
		sizes, loads := sizeTable(own), loadTable(own)
		sizes.Title, loads.Title = name+" by message size", name+" by load"
		out.Tables = append(out.Tables, sizes, loads)
		rest.Targets = append(rest.Targets, stat.Filter(own, func(t results.Target) bool { return t.Size == 0 && targetSentence(t) == "" })...)
	}
	out.Tables = append(out.Tables, targetTable(&rest))
	out.Commands = commandsOf(s, all, func(t results.Target) string { return t.Run }, "pipebench drive --find-limit -- COMMAND")
	return out
}

// sizeGrowth says whether the time of a server grows faster than the size, from the sizes at which
// the fixed cost of a message no longer counts. It says nothing if drive has, which measures that
// in pipes of every capacity, nor of fewer than three sizes.
func sizeGrowth(targets []results.Target) []string {
	var x, y []float64
	for _, t := range targets {
		if _, ok := stat.RecordedGrowth(t); ok {
			return nil
		}
		if ns := stat.MedianTime(t.Samples); t.Size >= usualSize && ns > 0 {
			x, y = append(x, float64(t.Size)), append(y, ns)
		}
	}
	fit, err := stat.FitGrowth(x, y)
	if err != nil || fit.Interval == nil {
		return nil
	}
	return []string{stat.TargetGrowth{Growth: fit, From: usualSize, To: int(slices.Max(x))}.String()}
}

// endings say how the servers ended that tap recorded.
func endings(s *results.Set) []string {
	recorded := stat.Filter(s.Targets, func(t results.Target) bool { return t.Evidence.Traffic != nil })
	return stat.Map(recorded, func(t results.Target) string {
		lasted := results.FormatDuration(float64(t.Evidence.Traffic.ElapsedNS))
		return fmt.Sprintf("%s ended after %s: %s.", CommandName(t.Command), lasted, t.Verdict)
	})
}

// Thresholds are message sizes at which something is known to change: a page and Linux's PIPE_BUF,
// the usual capacity of a pipe, and two limits that are in use for a message.
var Thresholds = []int64{4 << 10, 64 << 10, 10 << 20, 16 << 20}

// directionTable counts the messages each way, and those above the thresholds.
func directionTable(messages []results.Message) Table {
	t := Table{Title: "What passed", Columns: Columns("direction", ">messages", ">bytes", ">a second", ">largest", ">cut by reads")}
	for _, n := range Thresholds {
		t.Columns = append(t.Columns, Columns(">over "+results.FormatSize(n))...)
	}
	for _, dir := range []string{"request", "reply"} {
		own := stat.Filter(messages, func(m results.Message) bool { return m.Dir == dir })
		if len(own) == 0 {
			continue
		}
		var sum, largest int64
		for _, m := range own {
			sum, largest = sum+m.Size, max(largest, m.Size)
		}
		lasted := own[len(own)-1].T - own[0].T
		rate := when(lasted > 0, results.FormatNumber(float64(len(own))*1e9/float64(lasted), 3))
		count := func(keep func(results.Message) bool) string { return fmt.Sprint(len(stat.Filter(own, keep))) }
		row := []string{dir, fmt.Sprint(len(own)), results.FormatGrouped(sum), rate, results.FormatSize(largest),
			count(func(m results.Message) bool { return len(m.Cuts) > 1 })}
		for _, n := range Thresholds {
			row = append(row, count(func(m results.Message) bool { return m.Size > n }))
		}
		t.Append(row...)
	}
	return t
}

// RecordingSummary says what was recorded, and what of it went wrong: requests without an answer,
// answers that are errors, times in which a side took nothing. Of a recording of nothing it says how
// it ended.
func RecordingSummary(s *results.Set) []string {
	if len(s.Messages) == 0 {
		return endings(s)
	}
	largest := slices.Max(stat.Map(s.Messages, func(m results.Message) int64 { return m.Size }))
	requests := len(stat.Filter(s.Messages, func(m results.Message) bool { return m.Dir == "request" }))
	out := []string{fmt.Sprintf("The recording has %s to the server and %d from it, the largest of %s.",
		results.FormatCount(requests, "message"), len(s.Messages)-requests, results.FormatSize(largest))}
	times, unanswered := stat.Replies(s.Messages)
	if l, err := results.NewLatency(slices.Concat(slices.Collect(maps.Values(times))...)); err == nil && l.Count > 0 {
		parts := append([]string{results.FormatCount(int(l.Count), "answer")}, quantileTexts(l, "slowest")...)
		out = append(out, "Time to the reply: "+strings.Join(parts, ", ")+".")
	}
	if n := len(unanswered); n > 0 {
		named := unanswered[:min(n, maxUnanswered)]
		ids := stat.Map(named, func(m results.Message) string { return m.Method + " " + string(m.ID) })
		if n > maxUnanswered {
			ids = append(ids, "...")
		}
		out = append(out, fmt.Sprintf("%s without an answer: %s.", results.FormatCount(n, "request"), strings.Join(ids, ", ")))
	}
	if n := len(stat.Filter(s.Messages, func(m results.Message) bool { return m.Error })); n > 0 {
		out = append(out, results.FormatCount(n, "answer")+" by an error.")
	}
	for _, side := range [][2]string{{"request", "server"}, {"reply", "client"}} {
		var sum, longest int64
		for _, m := range s.Messages {
			if m.Dir == side[0] {
				sum, longest = sum+m.Stall, max(longest, m.Stall)
			}
		}
		if sum >= NotableStall {
			out = append(out, fmt.Sprintf("The %s took nothing of what there was for %s in all, for %s at the longest.",
				side[1], results.FormatDuration(float64(sum)), results.FormatDuration(float64(longest))))
		}
	}
	return out
}

const (
	// maxUnanswered is the number of requests without an answer that are named.
	maxUnanswered = 10
	// NotableStall is the least that is said of stalls, in ns: below, they are the wake-ups of an
	// idle CPU.
	NotableStall = 1e8
)

// maxMethods is the number of methods of a recording that a table lists.
const maxMethods = 30

// replyTable holds the times to the reply, the most frequent method first.
func replyTable(messages []results.Message) Table {
	times, _ := stat.Replies(messages)
	methods := stat.ByCount(times)
	time := func(of quantile) func(string) Cell {
		return func(method string) Cell {
			l, _ := results.NewLatency(times[method]) // a histogram that it made itself always encodes
			return quantileCell(l, of)
		}
	}
	return tableOf("Time to the reply", methods[:min(len(methods), maxMethods)], []columnOf[string]{
		{"`method", textCell},
		{">replies", func(method string) Cell { return textCell(fmt.Sprint(len(times[method]))) }},
		{">p50", time(p50)},
		{">p99", time(p99)},
		{">slowest", time(longest)},
	}...)
}
