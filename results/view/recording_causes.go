package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

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
	toServer := traffic(s, messages, "request")
	toClient := traffic(s, messages, "reply")
	cut := cutText(s, messages)
	waits := nonEmpty([]string{
		stoppedText(toServer, messages, "request"), stoppedText(toClient, messages, "reply"),
	})
	if len(waits) == 2 {
		waits = append(waits, "If they waited at once: let each side read while it writes.")
	}
	said := []string{cut, strings.Join(waits, " ")}
	for _, t := range s.Targets {
		if t.Evidence.Traffic != nil && failed(t, messages) {
			said = append(said, "The server"+Escape(endText(s, t)))
		}
	}
	if cut == "" { // a cut leaves the rest as text
		said = append(said, strayText(toClient, "reply"), strayText(toServer, "request"))
	}
	return nonEmpty(append(said,
		unfinishedText(toServer, "request"),
		unfinishedText(toClient, "reply"),
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
	return "The client did not answer " + requestNames(open) + ", for which the server may wait."
}

// stoppedText says how long the sender of messages in direction dir had to wait because the
// receiver did not read. The text is "" if the sender did not wait long.
func stoppedText(t results.DirectionTraffic, messages []results.Message, dir string) string {
	longest := int64(0)    // of the messages that passed
	endless := t.StalledNS // of a message that never passed completely
	for _, m := range messages {
		if m.Dir == dir {
			longest = max(longest, m.Stall)
			endless -= m.Stall
		}
	}
	if max(longest, endless) < longStall {
		return ""
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
		results.FormatDuration(float64(max(longest, endless))))
}

// traffic returns the counts of one direction that the sentences need, of all recorded runs of the
// messages. It leaves out runs of which some messages were not recorded.
func traffic(s *results.Set, messages []results.Message, dir string) results.DirectionTraffic {
	var sum results.DirectionTraffic
	for _, own := range grouped(messages, func(m results.Message) string { return m.Run }) {
		target := recordedTarget(s, own[0].Run)
		if target == nil {
			continue
		}
		t := target.Evidence.Traffic.Requests
		if dir == "reply" {
			t = target.Evidence.Traffic.Replies
		}
		if t.Gaps > 0 {
			continue
		}
		sum.StalledNS += t.StalledNS
		sum.Strays += t.Strays
		sum.BareHeaders += t.BareHeaders
		sum.FirstStray = cmp.Or(sum.FirstStray, t.FirstStray)
		if t.Announced > 0 || t.Came > 0 {
			sum.Announced = t.Announced
			sum.Came = t.Came
		}
	}
	return sum
}

// cutText names the first message that a wrong Content-Length cut.
func cutText(s *results.Set, messages []results.Message) string {
	type direction struct{ run, dir string }
	count := make(map[direction]int)
	for _, m := range messages {
		d := direction{m.Run, m.Dir}
		count[d]++
		if !isCut(s, m) {
			continue
		}
		fault := "is not JSON"
		if m.Body == "" {
			fault = "has no method and no id"
		}
		why := "its Content-Length may be wrong: it has to count bytes, not characters"
		if HasHeader([]byte(m.Body)) {
			why = "the header of another message is in it. Two writers mix their messages: lock " +
				"around header and body. Or one was not written to its end"
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
func strayText(t results.DirectionTraffic, dir string) string {
	if t.BareHeaders > 0 {
		const says = "LF alone ends lines in %s %s: readers that look for CR LF wait for ever. " +
			"End each line of a header with CR LF (\\r\\n)."
		headers := results.FormatCount(int(t.BareHeaders), "header")
		return fmt.Sprintf(says, headers, sideText(dir))
	}
	if t.Strays == 0 {
		return ""
	}
	first := ""
	if t.FirstStray != "" {
		first = fmt.Sprintf(", the first: %q", t.FirstStray)
	}
	const says = "Text that is no message came %s at %s%s. Strict readers break at it."
	places := results.FormatCount(int(t.Strays), "place")
	return fmt.Sprintf(says, sideText(dir), places, first)
}

// unfinishedText names a last message of which less came than its header announces, or a last line
// without a newline.
func unfinishedText(t results.DirectionTraffic, dir string) string {
	switch {
	case t.Announced == 0 && t.Came == 0:
		return ""
	case t.Announced == 0: // a line
		const says = "The last line %s has no newline: %s came, and a reader of lines may wait " +
			"for its end."
		return fmt.Sprintf(says, sideText(dir), stat.FormatBytes(t.Came))
	}
	const says = "The last message %s announces %s; %s came: its length is wrong, or the rest " +
		"was not written."
	return fmt.Sprintf(says, sideText(dir), stat.FormatBytes(t.Announced),
		results.FormatGrouped(t.Came))
}

// sideText says where messages in direction dir go.
func sideText(dir string) string {
	if dir == "reply" {
		return "from the server"
	}
	return "to the server"
}

// isCut reports whether a message is not exactly one JSON-RPC message, as far as the recording
// shows. The lines of a log may be mistaken for messages: only with headers that give their
// lengths it is known.
func isCut(s *results.Set, m results.Message) bool {
	t := recordedTarget(s, m.Run)
	switch {
	case t == nil || t.Protocol != "lsp" && t.Protocol != "headers":
		return false
	case m.Body != "":
		return !json.Valid([]byte(m.Body))
	}
	return m.Method == "" && len(m.ID) == 0 && m.Size > 0 && m.Size <= searchedSize
}

// recordedTarget returns the record of what passed in a recorded run, and of how the server ended
// unless it runs. It returns nil if the recording was cut off.
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
