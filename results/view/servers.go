package view

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// maxNameLength is the number of characters of a foreign name that fit a legend or an axis.
const maxNameLength = 60

// CommandName writes a command as a title, without the folders of the program.
func CommandName(command []string) string {
	if len(command) == 0 {
		return "?"
	}
	return Truncate(strings.Join(append([]string{filepath.Base(command[0])}, command[1:]...), " "), maxNameLength)
}

// serverSection holds the servers that drive loaded. A record of how a recorded server ended belongs
// to the recording.
func serverSection(s *results.Set) Section {
	driven := *s
	driven.Targets = stat.Filter(s.Targets, func(t results.Target) bool { return !isEnding(t) })
	if len(driven.Targets) == 0 {
		return Section{}
	}
	return Section{
		ID:       "servers",
		Title:    "Servers",
		Lead:     growthSentences(driven.Targets),
		Tables:   []Table{targetTable(&driven)},
		Commands: commandsOf(s, driven.Targets, func(t results.Target) string { return t.Run }, "pipebench drive --find-limit -- COMMAND"),
	}
}

// growthSentences say of each server whether its time grows faster than the size: as drive found it
// in pipes of every capacity, or else from the sizes at which the fixed cost of a message no longer
// counts.
func growthSentences(targets []results.Target) []string {
	var out, told []string
	for _, t := range targets {
		if g, ok := growthOf(t); ok {
			where := fmt.Sprintf("From %s to %s", results.FormatSize(int64(t.Evidence.From)), results.FormatSize(int64(t.Evidence.To)))
			if t.Evidence.Capacity > 0 {
				where += " in " + results.FormatSize(int64(t.Evidence.Capacity)) + " pipes"
			}
			told = append(told, CommandName(t.Command))
			out = append(out, growthSentence(where, CommandName(t.Command), g))
		}
	}
	for _, name := range distinct(targets, func(t results.Target) string { return CommandName(t.Command) }) {
		var x, y []float64
		for _, t := range targets {
			e := stat.Median(stat.MustMetric("time").Values(t.Samples))
			if CommandName(t.Command) == name && t.Size >= tellingSize && e.Median > 0 {
				x, y = append(x, float64(t.Size)), append(y, e.Median)
			}
		}
		g, err := stat.FitGrowth(x, y)
		if err != nil || g.Interval == nil || slices.Contains(told, name) {
			continue // fewer than three sizes from 64 KiB say nothing about growth
		}
		out = append(out, growthSentence("From "+results.FormatSize(tellingSize)+" on", name, g))
	}
	return out
}

func growthSentence(where, name string, g stat.Growth) string {
	word := "no faster than linear"
	switch {
	case g.Fast():
		word = "faster than linear"
	case g.MayBeFast():
		word = "perhaps faster than linear"
	}
	return fmt.Sprintf("%s, the time of %s grows %s: as size to the power of %.2f [%.2f, %.2f].", where, name, word, g.Slope, g.Interval.Lo, g.Interval.Hi)
}

// recordingSection holds the messages that tap recorded, and how the servers ended.
func recordingSection(s *results.Set) Section {
	var endings []string
	for _, t := range s.Targets {
		if isEnding(t) {
			endings = append(endings, fmt.Sprintf("%s ended after %s: %s.", CommandName(t.Command), recordedTime(t), t.Verdict))
		}
	}
	if len(s.Messages) == 0 && len(endings) == 0 {
		return Section{}
	}
	return Section{
		ID:       "recording",
		Title:    "A recording",
		Lead:     endings,
		Tables:   []Table{directionTable(s.Messages), replyTable(s.Messages)},
		Commands: commandsOf(s, s.Messages, func(m results.Message) string { return m.Run }, "pipebench tap -o FILE -- COMMAND"),
	}
}

// Thresholds are message sizes at which something is known to change: a page and Linux's PIPE_BUF,
// the usual capacity of a pipe, and two limits that are in use for a message.
var Thresholds = []int64{4 << 10, 64 << 10, 10 << 20, 16 << 20}

// directionTable counts the messages each way, and those above the thresholds.
func directionTable(messages []results.Message) Table {
	t := Table{Title: "What passed", Columns: Columns("direction", ">messages", ">bytes", ">a second", ">largest", ">cut by reads")}
	for _, n := range Thresholds {
		t.Columns = append(t.Columns, Column{Title: "over " + results.FormatSize(n), Right: true})
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
		rate := "-"
		if lasted := own[len(own)-1].T - own[0].T; lasted > 0 {
			rate = results.FormatNumber(float64(len(own))*1e9/float64(lasted), 3)
		}
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

// trafficSummary says in a sentence what was recorded.
func trafficSummary(s *results.Set) []string {
	if len(s.Messages) == 0 {
		return nil
	}
	var largest int64
	for _, m := range s.Messages {
		largest = max(largest, m.Size)
	}
	requests := len(stat.Filter(s.Messages, func(m results.Message) bool { return m.Dir == "request" }))
	return []string{fmt.Sprintf("The recording has %s to the server and %d from it, the largest of %s.",
		results.FormatCount(requests, "message"), len(s.Messages)-requests, results.FormatSize(largest))}
}

// maxMethods is the number of methods of a recording that a table lists.
const maxMethods = 30

// replyTable holds the times to the reply, the most frequent method first.
func replyTable(messages []results.Message) Table {
	t := Table{Title: "Time to the reply", Columns: Columns("`method", ">replies", ">p50", ">p99", ">slowest")}
	times := stat.ReplyTimes(messages)
	methods := stat.ByCount(times)
	for _, method := range methods[:min(len(methods), maxMethods)] {
		l, err := results.NewLatency(times[method])
		if err != nil {
			continue // a histogram that it made itself always encodes
		}
		row := []string{method, fmt.Sprint(l.Count)}
		for _, ns := range []*int64{l.P50NS, l.P99NS, &l.MaxNS} {
			if ns == nil {
				row = append(row, "-")
			} else {
				row = append(row, results.FormatDuration(float64(*ns)))
			}
		}
		t.Append(row...)
	}
	return t
}

// isEnding returns whether a target is the record that tap leaves of how a recorded server ended.
func isEnding(t results.Target) bool { return t.Evidence.Traffic != nil }

func recordedTime(t results.Target) string {
	return results.FormatDuration(float64(t.Evidence.Traffic.ElapsedNS))
}

// growthOf returns what a target says of growth with an interval, if it is about that.
func growthOf(t results.Target) (stat.Growth, bool) {
	g, ok := stat.RecordedGrowth(t)
	return g.Growth, ok && g.Interval != nil
}
