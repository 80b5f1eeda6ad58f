package mcpstdio

// A State is where a Server is in its life, which goes one way.
type State int

const (
	Created  State = iota // not started
	Running               // reading requests
	Draining              // reading no more; answering what was read
	Stopped               // over
)

func (s State) String() string {
	switch s {
	case Created:
		return "created"
	case Running:
		return "running"
	case Draining:
		return "draining"
	}
	return "stopped"
}
