package client

import (
	"fmt"
	"strings"
	"testing"
)

// The whole table, a row an event. An empty cell leaves the state as it is and drops the event.
const table = `
             | starting                  | initializing                              | ready                                     | backoff            | closing
started      | initializing+shake        |                                           |                                           | backoff+hangUp     | closing+hangUp
startFailed  | backoff+failAll+schedule  |                                           |                                           |                    |
initialized  |                           | ready+settle                              |                                           |                    |
refused      |                           | backoff+hangUp+failAll+schedule           |                                           |                    |
frame        |                           | initializing+deliver                      | ready+deliver                             |                    |
malformed    |                           | initializing+skip                         | ready+skip                                |                    |
oversized    |                           | backoff+report+hangUp+failAll+schedule    | backoff+report+hangUp+failAll+schedule    |                    |
gone         |                           | backoff+hangUp+failAll+schedule           | backoff+hangUp+failAll+schedule           |                    |
elapsed      |                           |                                           |                                           | starting+launch    |
exhausted    |                           |                                           |                                           | closing+failAll    |
closed       | closing+failAll           | closing+hangUp+failAll                    | closing+hangUp+failAll                    | closing+failAll    |
`

func TestMachine(t *testing.T) {
	rows := strings.Split(strings.TrimSpace(table), "\n")[1:]
	if len(rows) != len(eventNames) {
		t.Fatalf("%d rows, want one for each of %d events", len(rows), len(eventNames))
	}
	for e, row := range rows {
		cells := strings.Split(row, "|")
		if name := strings.TrimSpace(cells[0]); name != event(e).String() {
			t.Fatalf("row %q, want %v", name, event(e))
		}
		for s, cell := range cells[1:] {
			want := strings.TrimSpace(cell)
			if want == "" {
				want = fmt.Sprintf("%v+drop", State(s))
			}
			if got := transition(State(s), event(e)).String(); got != want {
				t.Errorf("%v in %v: got %s, want %s", event(e), State(s), got, want)
			}
		}
	}
}
