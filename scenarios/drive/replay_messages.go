package drive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pipebench/pipebench/bench/payload"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/internal/jsonrpc"
)

// handshakeMethods are the methods that open or end a session.
var handshakeMethods = []string{
	"initialize", "initialized", "notifications/initialized", "server/discover", "shutdown", "exit",
}

// A recorded is a message of the client in a recording.
type recorded struct {
	payload.Message
	number  int                // among the client's messages in the recording, counted from 1
	took    time.Duration      // the time until its first answer in the recording; 0 if not known
	name    string             // the method and id
	silent  bool               // the server does not answer it; set when the message is sent again
	answers []*payload.Message // in the recording
}

func (m *recorded) String() string { return fmt.Sprintf("message %d, %s", m.number, m.what()) }

func (m *recorded) what() string {
	return cmp.Or(m.name, "a message") + " of " + stat.FormatBytes(int64(m.Size))
}

// addAnswer adds an answer to the message, which may be recorded before the message.
func (m *recorded) addAnswer(answer *payload.Message) {
	if len(m.answers) == 0 {
		m.took = max(0, answer.At-m.At)
	}
	m.answers = append(m.answers, answer)
}

// split returns the client's messages in a recording, each with its answer. It leaves out the
// handshake and the client's own answers; number counts these, too. By id, owed has the methods of
// the server's requests, or "" if the client answered. A message may stand behind its answer.
func split(recording []payload.Message) (
	requests []recorded, owed map[string]string, number int,
) {
	const handshake = -1
	owed = map[string]string{}
	asked := map[string]int{}                // the index of the last request, or handshake, by id
	early := map[string][]*payload.Message{} // answers without a request so far, by id
	sent := time.Duration(0)                 // when the client's last message had passed
	earlier := time.Duration(0)              // when the messages of the write before that had
	for _, m := range recording {
		method := m.Method
		id := string(m.ID)
		answers := method == "" && id != ""
		if m.Body != nil {
			e := jsonrpc.Scan(m.Body)
			method = string(e.Method)
			id = string(e.ID)
			answers = e.Kind().Answers()
		}
		_, known := owed[id]
		if !known && m.Dir == "reply" && method != "" && id != "" {
			owed[id] = method
		}
		if answers && m.Dir != "request" {
			at, known := asked[id]
			switch {
			case !known:
				early[id] = append(early[id], &m)
			case at != handshake:
				requests[at].addAnswer(&m)
			}
		}
		if m.Dir == "reply" {
			continue
		}
		number++
		if m.At != sent {
			earlier = sent
			sent = m.At
		}
		if answers {
			owed[id] = ""
			continue
		}
		if slices.Contains(handshakeMethods, method) {
			asked[id] = handshake
			continue
		}
		r := recorded{Message: m, number: number, name: method}
		if id != "" {
			r.name = strings.TrimSpace(method + " (id " + id + ")")
			asked[id] = len(requests)
			for _, e := range early[id] {
				if earlier < e.At {
					r.addAnswer(e)
				}
			}
		}
		requests = append(requests, r)
	}
	return requests, owed, number
}
