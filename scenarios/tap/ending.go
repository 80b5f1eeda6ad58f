package tap

import (
	"fmt"
	"os"
	"time"

	"github.com/pipebench/pipebench/results"
)

// An Ending is how the server ended.
type Ending struct{ state *os.ProcessState }

// ExitCode is the server's exit status; 128 and the signal's number, as shells have it, where a signal ended it.
func (e Ending) ExitCode() int {
	if number, _, ok := signalOf(e.state); ok {
		return 128 + number
	}
	return e.state.ExitCode()
}

// String is the ending as a record has it: "exit 0", "signal SIGKILL".
func (e Ending) String() string {
	if _, name, ok := signalOf(e.state); ok {
		return "signal " + name
	}
	return fmt.Sprintf("exit %d", e.state.ExitCode())
}

// ExitLike ends this process as the server ended: with its exit status, or by the same signal. It does not return.
func (e Ending) ExitLike() {
	if number, _, ok := signalOf(e.state); ok {
		dieBySignal(number)
	}
	os.Exit(e.ExitCode())
}

// summary is the record of the whole session.
func (s *session) summary(e Ending) results.Target {
	protocol := map[framing]string{unknown: "unknown", byLines: "lines", byHeaders: "headers"}
	if s.Protocol != "" && s.Protocol != "auto" {
		protocol[unknown], protocol[byLines], protocol[byHeaders] = s.Protocol, s.Protocol, s.Protocol
	}
	return results.Target{
		Kind: results.KindTarget, Run: s.Options.Run, Time: time.Now().UTC(),
		Command: s.Command, Protocol: protocol[framing(s.in.framing.Load())], Verdict: e.String(),
		Evidence: map[string]any{
			"elapsed_ns": int64(time.Since(s.began)),
			fromClient:   s.in.account(),
			fromServer:   s.out.account(),
		},
	}
}

// account is what passed in one direction.
func (r *relay) account() map[string]any {
	r.track.lock.Lock()
	defer r.track.lock.Unlock()
	a := map[string]any{
		"bytes": r.bytes.Load(), "reads": r.reads.Load(), "messages": r.track.messages, "stalled_ns": r.stalled.Load(),
	}
	if r.track.lostAll > 0 {
		a["gaps"], a["messages_missing"] = r.track.gaps, r.track.lostAll
	}
	if r.track.bodyless > 0 {
		a["bodies_left_out"] = r.track.bodyless
	}
	return a
}
