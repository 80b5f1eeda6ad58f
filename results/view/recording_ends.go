package view

import (
	"fmt"
	"slices"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// failed reports whether a recorded server ended by itself while its client stayed, with an error
// or with work left. That ended the conversation. Without a message of the server, it is false.
func failed(t results.Target, messages []results.Message) bool {
	own := selected(messages, func(m results.Message) bool { return m.Run == t.Run })
	traffic := t.Evidence.Traffic
	inputEnded := traffic.Requests.EndedNS
	serverEnded := traffic.ElapsedNS
	if traffic.OutputOpenNS < longStall || t.Verdict == "exit 0" {
		serverEnded = min(serverEnded, traffic.Replies.EndedNS) // 0: some output was not taken
	}
	clientLeft := serverEnded == 0 || inputEnded > 0 && inputEnded <= serverEnded
	if len(own) == 0 || clientLeft {
		return false
	}
	switch t.Verdict {
	case results.VerdictRunning:
		return false
	case "signal SIGTERM", "signal SIGINT", "signal SIGHUP", "exit 143", "exit 130":
		return false // it was told to end
	case "exit 0":
		return traffic.Replies.Announced > 0 || len(unanswered(stat.Calls(own))) > 0
	}
	return true
}

// endText says how a recorded server ended. The text follows the name of the server.
func endText(s *results.Set, t results.Target) string {
	lasted := t.Evidence.Traffic.ElapsedNS
	before := ""
	if failed(t, s.Messages) {
		before = ", before its input did"
	}
	text := fmt.Sprintf(" ended after %s%s: %s.", results.FormatDuration(float64(lasted)), before,
		t.Verdict)
	if open := t.Evidence.Traffic.OutputOpenNS; open >= longStall {
		text += fmt.Sprintf(" Its output stayed open %s after that: a process that it left "+
			"behind holds it.", results.FormatDuration(float64(open)))
	}
	inputEnded := t.Evidence.Traffic.Requests.EndedNS
	if inputEnded == 0 || lasted-inputEnded < longStall {
		return text
	}
	text += fmt.Sprintf(" It stayed %s after the end of its input",
		results.FormatDuration(float64(lasted-inputEnded)))
	isOwn := func(c stat.Call) bool { return c.Request.Run == t.Run }
	if slices.ContainsFunc(unanswered(stat.Calls(s.Messages)), isOwn) {
		return text + ", with a request open."
	}
	return text + ". Next: pipebench check --server --only end-idle -- " +
		recordedCommand(s, t.Run)
}
