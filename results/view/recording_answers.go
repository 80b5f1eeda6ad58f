package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// extraAnswersText names the server's answers to no request, and the requests that it answered more
// than once. All messages must be of one server.
func extraAnswersText(s *results.Set, messages []results.Message) string {
	for _, own := range grouped(messages, func(m results.Message) string { return m.Run }) {
		unknown, again := extraAnswers(own)
		switch {
		case asksUnseen(s, own):
		case len(unknown) > 0:
			return fmt.Sprintf("%s to an id that no request had: %s.",
				results.FormatCount(len(unknown), "answer"), listed(unknown))
		case len(again) > 0:
			return fmt.Sprintf("%s answered more than once: %s.",
				results.FormatCount(len(again), "request"), listed(again))
		}
	}
	return ""
}

// asksUnseen reports whether a client may have sent a request whose id the recording does not show:
// in a gap, a batch or stray text, or far behind the beginning of a large message. All messages
// must be of one run.
func asksUnseen(s *results.Set, messages []results.Message) bool {
	run := messages[0].Run
	hasGap := slices.ContainsFunc(s.Findings, func(f results.Finding) bool {
		return f.Run == run && f.ID == results.AreaFailure+"/recording-gap"
	})
	hidesID := func(m results.Message) bool {
		return m.Dir == "request" && len(m.ID) == 0 && (m.Method == "" || m.Size > searchedSize)
	}
	return hasGap || traffic(s, messages, "request").Strays > 0 ||
		slices.ContainsFunc(messages, hidesID)
}

// extraAnswers returns the ids of answers to no request, and the names of the requests that were
// answered more than once. All messages must be of one run. It only counts, because an answer may
// be recorded before its request.
func extraAnswers(messages []results.Message) (unknown, again []string) {
	asked := make(map[string]results.Message) // the last request with this id
	open := make(map[string]int)              // requests less answers, by id
	for _, m := range messages {
		id := string(m.ID)
		switch {
		case id == "":
		case m.Dir == "request" && m.Method != "":
			asked[id] = m
			open[id]++
		case m.Dir == "reply" && m.Method == "":
			open[id]--
		}
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		request, known := asked[id]
		number := strings.Trim(id, `"`)
		_, isText := asked[number]
		switch {
		case open[id] >= 0:
		case known:
			again = append(again, requestName(request))
		case isText:
			unknown = append(unknown, Escape(id)+" (a text; the request had the number "+
				Escape(number)+")")
		default:
			unknown = append(unknown, Escape(id))
		}
	}
	return unknown, again
}
