package view

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

const (
	// longStall is the shortest wait to write, in ns, for which the reader is blamed. A busy reader
	// may take 100 ms for a large message.
	longStall = 1e9

	// The tap command surely finds the id and the method of a message of up to searchedSize bytes.
	searchedSize = 2 << 20
)

// The function causes lists what may have ended a conversation, or have made a client and a server
// wait for each other, with the surest cause first. All messages must be of one server.
func causes(s *results.Set, messages []results.Message) []string {
	cut := cutText(s, messages)
	said := []string{cut}
	server, serverStopped := stoppedText(s, messages, "request")
	client, clientStopped := stoppedText(s, messages, "reply")
	waits := nonEmpty([]string{server, client})
	if len(waits) == 2 {
		waits[1] += " If they waited at once: let each side read while it writes."
	}
	if serverStopped && clientStopped {
		said = append(said, strings.Join(waits, " "))
		waits = nil
	}
	for _, t := range s.Targets {
		if t.Evidence.Traffic != nil && failed(t, messages) {
			said = append(said, "The server"+Escape(endText(s, t)))
		}
	}
	if cut == "" { // a cut leaves the rest as text
		said = append(said, strayText(s, messages))
	}
	said = append(said, waits...)
	return nonEmpty(append(said,
		unfinishedText(s, messages),
		extraAnswersText(s, messages),
		owedText(messages),
	))
}

// owedText names the requests from the server that the client did not answer.
func owedText(messages []results.Message) string {
	open := unanswered(stat.ServerCalls(messages))
	if len(open) == 0 {
		return ""
	}
	them := "it"
	if len(open) > 1 {
		them = "them"
	}
	return fmt.Sprintf("The client did not answer %s; the server may wait for %s.",
		requestNames(open), them)
}

// stoppedText says how long the sender of messages in direction dir had to wait because the
// receiver did not read. The text is "" if the sender did not wait long. If stopped is true, the
// receiver read no more at all.
func stoppedText(
	s *results.Set, messages []results.Message, dir string,
) (text string, stopped bool) {
	longest := int64(0)            // of the messages that passed
	sums := make(map[string]int64) // of the waits of these messages, by run
	for _, m := range messages {
		stall := m.Stall
		if m.Dir != dir {
			stall = 0 // sums still needs the run, which may have no message in direction dir
		}
		longest = max(longest, stall)
		sums[m.Run] += stall
	}
	endless := int64(0) // the longest wait of a message that never passed completely
	for run, sum := range sums {
		endless = max(endless, traffic(s, run, dir).StalledNS-sum)
	}
	if max(longest, endless) < longStall {
		return "", false
	}
	did := "stopped reading"
	if longest > endless {
		did = "was slow to read"
	}
	reader := "server"
	writer := "client"
	if dir == "reply" {
		reader, writer = writer, reader
	}
	return fmt.Sprintf("The %s %s: the %s waited %s to write.", reader, did, writer,
		results.FormatDuration(float64(max(longest, endless)))), longest <= endless
}

// traffic returns the counts of one direction of a recorded run. All counts are zero if some
// messages were not recorded.
func traffic(s *results.Set, run, dir string) results.DirectionTraffic {
	t := recordedTarget(s, run)
	if t == nil {
		return results.DirectionTraffic{}
	}
	counts := t.Evidence.Traffic.Requests
	if dir == "reply" {
		counts = t.Evidence.Traffic.Replies
	}
	if counts.Gaps > 0 {
		return results.DirectionTraffic{}
	}
	return counts
}

// cutText names the first message that a wrong Content-Length cut.
func cutText(s *results.Set, messages []results.Message) string {
	type direction struct{ run, dir string }
	count := make(map[direction]int)
	for _, m := range messages {
		d := direction{m.Run, m.Dir}
		count[d]++
		if !hasLengths(s, m.Run) || !isCut(m) {
			continue
		}
		fault := "is not JSON"
		if m.Body == "" {
			fault = "has no method and no id"
		}
		why := "its Content-Length may count characters instead of bytes"
		switch {
		case len(m.ID) > 0 || m.Method != "": // it holds a whole object, and more
			why = "its Content-Length may be larger than the message"
		case HasHeader([]byte(m.Body)):
			why = "the header of another message is in it. Two writers mix their messages: lock " +
				"around header and body. Or one was not written to its end"
		case m.Body != "" && utf8.RuneCountInString(m.Body) == len(m.Body):
			why = "its Content-Length may be too small"
		}
		return fmt.Sprintf("Message %d %s, of %s, %s: %s.",
			count[d], sideText(m.Dir), stat.FormatBytes(m.Size), fault, why)
	}
	return ""
}

var innerHeader = regexp.MustCompile(`(?i)content-length: *\d+\r?\n`)

// HasHeader reports whether the header of another message is in this one. It is not JSON then,
// which escapes the ends of lines in texts.
func HasHeader(message []byte) bool { return innerHeader.Match(message) }

// strayText says how often a side wrote headers that strict readers do not accept, or text between
// its messages.
func strayText(s *results.Set, messages []results.Message) string {
	for _, run := range grouped(messages, func(m results.Message) string { return m.Run }) {
		for _, dir := range []string{"reply", "request"} {
			t := traffic(s, run[0].Run, dir)
			if t.BareHeaders > 0 {
				const says = "LF alone ends lines in %s %s: readers that look for CR LF wait for " +
					"ever. End each line of a header with CR LF (\\r\\n)."
				headers := results.FormatCount(int(t.BareHeaders), "header")
				return fmt.Sprintf(says, headers, sideText(dir))
			}
			if t.Strays == 0 {
				continue
			}
			first := ""
			if t.FirstStray != "" {
				first = fmt.Sprintf(", the first: %q", t.FirstStray)
			}
			const says = "Text that is no message came %s at %s%s. Strict readers break at it."
			places := results.FormatCount(int(t.Strays), "place")
			return fmt.Sprintf(says, sideText(dir), places, first)
		}
	}
	return ""
}

// unfinishedText names a last message of which less came than its header announces.
func unfinishedText(s *results.Set, messages []results.Message) string {
	for _, run := range grouped(messages, func(m results.Message) string { return m.Run }) {
		for _, dir := range []string{"request", "reply"} {
			t := traffic(s, run[0].Run, dir)
			if t.Announced > 0 {
				const says = "The last message %s announces %s; %s came: its length is wrong, or " +
					"the rest was not written."
				return fmt.Sprintf(says, sideText(dir), stat.FormatBytes(t.Announced),
					results.FormatGrouped(t.Came))
			}
		}
	}
	return ""
}

// sideText says where messages in direction dir go.
func sideText(dir string) string {
	if dir == "reply" {
		return "from the server"
	}
	return "to the server"
}

// isCut reports whether a message is not exactly one JSON-RPC message, as far as the recording
// shows.
func isCut(m results.Message) bool {
	if m.Body != "" {
		return !json.Valid([]byte(m.Body))
	}
	return m.Method == "" && len(m.ID) == 0 && m.Size > 0 && m.Size <= searchedSize
}

// hasLengths reports whether a header gives the length of each message of a run. Lines of a log
// cannot be mistaken for messages then.
func hasLengths(s *results.Set, run string) bool {
	t := recordedTarget(s, run)
	return t != nil && (t.Protocol == "lsp" || t.Protocol == "headers")
}

// recordedTarget returns the record of how the server of a recorded run ended. It returns nil if
// the recording was cut off.
func recordedTarget(s *results.Set, run string) *results.Target {
	for i, t := range s.Targets {
		if t.Run == run && t.Evidence.Traffic != nil {
			return &s.Targets[i]
		}
	}
	return nil
}

// recordedCommand returns the command that started the recorded server, or "COMMAND" if it is not
// known.
func recordedCommand(s *results.Set, run string) string {
	e, _ := s.Environment(run)
	if _, command, ok := strings.Cut(e.Command, " -- "); ok {
		return Escape(command)
	}
	t := recordedTarget(s, run)
	if t == nil {
		return "COMMAND"
	}
	return Escape(strings.Join(t.Command, " "))
}
