package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

// unansweredText names the requests that got no answer. Unless the cause is named already, it says
// how to look for it. The server was started with the given command.
func unansweredText(messages []results.Message, file, command string, isNamed bool) string {
	open := unanswered(stat.Calls(messages))
	if len(open) == 0 {
		return ""
	}
	text := results.FormatCount(len(open), "request") + " without an answer: " + requestNames(open)
	first := open[0]
	isFirst := first.Before.Size == 0 // the client sent nothing before it
	if !isFirst {
		text += ", "
		if len(open) > 1 {
			text += "the first "
		}
		text += "right after " + messageName(first.Before, messages)
	}
	text += ". "
	cause := cmp.Or(untakenText(open, messages), nullErrorText(first.Request, messages),
		questionText(first.Request, messages))
	if cause == "" && !isNamed {
		cause = cmp.Or(laterText(first.Request, messages),
			"An answer was not written, not written whole, or not flushed. ")
	}
	text += cause
	switch {
	case isFirst && isNamed:
		return strings.TrimSpace(text)
	case isFirst:
		return text + "Next: pipebench drive -- " + command
	}
	text += nextStep(first.Request, file, command)
	if first.Request.Body != "" && !isNamed {
		text += ". If that is answered, pipebench inspect PID tells more while the client hangs"
	}
	return text
}

// untakenText names the first of the calls that was answered when the client had left.
func untakenText(calls []stat.Call, messages []results.Message) string {
	for _, c := range calls {
		if slices.ContainsFunc(messages, func(m results.Message) bool {
			return m.Untaken && m.Run == c.Request.Run && string(m.ID) == string(c.Request.ID)
		}) {
			return "The answer to " + requestName(c.Request) + " came when the client had left: " +
				"it was late, not flushed, or held up by an output that the client did not read, " +
				"such as standard error. "
		}
	}
	return ""
}

// nullErrorText says how many errors without an id came after an unanswered request.
func nullErrorText(request results.Message, messages []results.Message) string {
	came := selected(messages, func(m results.Message) bool {
		return m.Error && len(m.ID) == 0 && m.Run == request.Run && m.T >= request.T-request.Stall
	})
	if len(came) == 0 {
		return ""
	}
	return "After it came " + results.FormatCount(len(came), "error") +
		" with the id null, which may be meant for it. "
}

// questionText names an answered request from the server after an unanswered one. It also names one
// before it if the server wrote nothing since.
func questionText(request results.Message, messages []results.Message) string {
	since := int64(0)
	for _, m := range messages {
		if m.Dir == "reply" && m.Run == request.Run {
			since = min(m.T, request.T)
		}
	}
	for _, c := range stat.ServerCalls(messages) {
		if c.Answered && c.Request.Run == request.Run && c.Request.T >= since {
			return "The server asked " + requestName(c.Request) + " and was answered; it may " +
				"not have read that answer, or it swallowed the request. "
		}
	}
	return ""
}

// laterText says which notifications came from the server long after an unanswered request. They
// came whole, so the server flushes what it writes. Sooner ones may have been on their way.
func laterText(request results.Message, messages []results.Message) string {
	came := selected(messages, func(m results.Message) bool {
		isNotification := m.Method != "" && len(m.ID) == 0
		return isNotification && m.Dir == "reply" && m.Run == request.Run && m.T > request.T
	})
	if len(came) == 0 || came[len(came)-1].T-request.T < longStall {
		return ""
	}
	return "After it came " + results.FormatCount(len(came), "notification") + ", the last: " +
		Escape(came[len(came)-1].Method) + ". "
}

// nextStep says how to send an unanswered request again, together with all messages before it.
func nextStep(request results.Message, file, command string) string {
	const again = "pipebench drive --messages "
	if request.Body == "" {
		return "Record again with pipebench tap --bodies, then send it again: " + again +
			"RECORDING -- " + command
	}
	return "Send it again: " + again + file + " -- " + command
}

func unanswered(calls []stat.Call) []stat.Call {
	return selected(calls, func(c stat.Call) bool { return !c.Answered })
}

func requestNames(calls []stat.Call) string {
	var names []string
	for _, c := range calls {
		names = append(names, requestName(c.Request))
	}
	return listed(names)
}

// listed lists names. It leaves out names for which a sentence has no room.
func listed(names []string) string {
	if len(names) > maxNames {
		names = append(names[:maxNames:maxNames], "...")
	}
	return strings.Join(names, ", ")
}

func requestName(m results.Message) string {
	return Escape(m.Method + " (id " + string(m.ID) + ")")
}

// messageName names one of the messages that went to the server: by its method and size, or by the
// request of the server that it answers.
func messageName(m results.Message, messages []results.Message) string {
	if m.Method != "" {
		return Escape(m.Method) + " of " + stat.FormatBytes(m.Size)
	}
	for _, asked := range messages {
		if asked.Dir == "reply" && asked.Method != "" && asked.Run == m.Run &&
			len(m.ID) > 0 && string(asked.ID) == string(m.ID) {
			return "the answer to " + requestName(asked)
		}
	}
	return "an answer of " + stat.FormatBytes(m.Size)
}
