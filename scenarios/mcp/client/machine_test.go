package client

import (
	"strings"
	"testing"
)

// The whole table, a row an event. An empty cell ignores the event.
const table = `
            | starting                 | initializing                               | ready                                      | backoff            | closing
started     | initializing+handshake   |                                            |                                            | backoff+disconnect | closing+disconnect
startFailed | backoff+failAll+schedule |                                            |                                            |                    |
initialized |                          | ready+resetBackoff                         |                                            |                    |
refused     |                          | backoff+disconnect+failAll+schedule        |                                            |                    |
frame       |                          | initializing+deliver                       | ready+deliver                              |                    |
oversized   |                          | backoff+report+disconnect+failAll+schedule | backoff+report+disconnect+failAll+schedule |                    |
gone        |                          | backoff+disconnect+failAll+schedule        | backoff+disconnect+failAll+schedule        |                    |
elapsed     |                          |                                            |                                            | starting+launch    |
exhausted   |                          |                                            |                                            | closing+failAll    |
closed      | closing+failAll          | closing+disconnect+failAll                 | closing+disconnect+failAll                 | closing+failAll    |
`

var eventNames = [...]string{
	"started", "startFailed", "initialized", "refused", "frame", "oversized", "gone", "elapsed",
	"exhausted", "closed",
}

var actionNames = [...]string{
	"report", "disconnect", "failAll", "resetBackoff", "schedule", "launch", "handshake", "deliver",
}

// describe returns a step as the table above has it.
func describe(st step) string {
	text := st.next.String()
	for i, name := range actionNames {
		if st.do&(1<<i) != 0 {
			text += "+" + name
		}
	}
	return text
}

func TestMachine(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(table), "\n")[1:]
	if len(rows) != len(eventNames) {
		t.Fatalf("%d rows, want one for each of %d events", len(rows), len(eventNames))
	}
	for e, row := range rows {
		cells := strings.Split(row, "|")
		if name := strings.TrimSpace(cells[0]); name != eventNames[e] {
			t.Fatalf("row %q, want %s", name, eventNames[e])
		}
		for s, cell := range cells[1:] {
			want := strings.TrimSpace(cell)
			got := ""
			if st, listed := machine[State(s)][event(e)]; listed {
				got = describe(st)
			}
			if got != want {
				t.Errorf("%s in %v: got %q, want %q", eventNames[e], State(s), got, want)
			}
		}
	}
}
