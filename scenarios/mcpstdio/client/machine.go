package client

import "fmt"

// A State is where a connection is.
type State int

const (
	Starting     State = iota // the server's process is being started
	Initializing              // it runs; the handshake is under way
	Ready                     // requests are sent
	Backoff                   // it failed; the next start is a matter of time
	Closing                   // it is over for good
)

var stateNames = [...]string{"starting", "initializing", "ready", "backoff", "closing"}

func (s State) String() string { return stateNames[s] }

// An event is what can happen to a connection.
type event int

const (
	started     event = iota // the process runs
	startFailed              // it does not
	initialized              // the handshake is done
	refused                  // the handshake failed, or took too long
	frame                    // a message came
	malformed                // what came is no message
	oversized                // a frame beyond the limit came
	gone                     // the stream ended, or writing failed, or there was too much noise
	elapsed                  // the backoff is over
	exhausted                // the server failed too often
	closed                   // Close was called
)

var eventNames = [...]string{"started", "startFailed", "initialized", "refused", "frame", "malformed", "oversized", "gone", "elapsed", "exhausted", "closed"}

func (e event) String() string { return eventNames[e] }

// An action is what is done when an event happens. Several are done in the order of the constants.
type action int

const (
	report       action = 1 << iota // tell of the frame that was too large
	disconnect                      // leave the server, and see that it ends
	failAll                         // fail what is in flight: its answers, should they come, find tombstones
	resetBackoff                    // forget earlier failures
	schedule                        // start the backoff's timer
	launch                          // start the server
	handshake                       // start the handshake
	deliver                         // hand the message to who waits for it
	countNoise                      // count what is no message
	drop                            // count and forget
)

var actionNames = [...]string{"report", "hangUp", "failAll", "settle", "schedule", "launch", "shake", "deliver", "skip", "drop"}

func (a action) String() string {
	text := ""
	for i, name := range actionNames {
		if a&(1<<i) != 0 {
			text += "+" + name
		}
	}
	return text
}

// A step is one cell of the machine's table.
type step struct {
	next State
	do   action
}

// machine is the whole table: what is not listed leaves the state as it is and drops the event. A process that turns up when
// nobody wants it any more is hung up on.
var machine = map[State]map[event]step{
	Starting: {
		started:     {Initializing, handshake},
		startFailed: {Backoff, failAll | schedule},
		closed:      {Closing, failAll},
	},
	Initializing: {
		initialized: {Ready, resetBackoff},
		refused:     {Backoff, disconnect | failAll | schedule},
		frame:       {Initializing, deliver},
		malformed:   {Initializing, countNoise},
		oversized:   {Backoff, report | disconnect | failAll | schedule},
		gone:        {Backoff, disconnect | failAll | schedule},
		closed:      {Closing, disconnect | failAll},
	},
	Ready: {
		frame:     {Ready, deliver},
		malformed: {Ready, countNoise},
		oversized: {Backoff, report | disconnect | failAll | schedule},
		gone:      {Backoff, disconnect | failAll | schedule},
		closed:    {Closing, disconnect | failAll},
	},
	Backoff: {
		elapsed:   {Starting, launch},
		started:   {Backoff, disconnect},
		exhausted: {Closing, failAll},
		closed:    {Closing, failAll},
	},
	Closing: {
		started: {Closing, disconnect},
	},
}

// transition looks a cell up.
func transition(s State, e event) step {
	if st, ok := machine[s][e]; ok {
		return st
	}
	return step{s, drop}
}

func (st step) String() string { return fmt.Sprintf("%v%v", st.next, st.do) }
