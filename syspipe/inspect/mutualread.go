package inspect

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// A pair is a client and a server, and the two channels between them.
type pair struct {
	client, server Holder
	there, back    *Channel // "there" leads to the server, "back" to the client
}

// waitingPair returns the processes a and b as a pair if they wait for each other. The first
// channel leads from a to b, the second from b to a. The server is the process whose standard input
// comes from the other process. If this is so for both or for neither, the server is the process
// that descends from the other.
func (r *Report) waitingPair(there, back *Channel, a, b Holder) (pair, bool) {
	empty := there.Queued == 0 && back.Queued == 0
	bothWait := pidWaits(there.Readers, b.PID) && pidWaits(back.Readers, a.PID)
	running := r.all[a.PID].running || r.all[b.PID].running
	if !empty || !bothWait || running {
		return pair{}, false
	}
	toStdinOfA := hasFD(back.Readers, a.PID, stdin)
	toStdinOfB := hasFD(there.Readers, b.PID, stdin)
	if toStdinOfA && !hasFD(there.Writers, a.PID, stdout) ||
		toStdinOfB && !hasFD(back.Writers, b.PID, stdout) {
		return pair{}, false // a server that reads its stdin answers on its stdout
	}
	aServes := toStdinOfA
	if toStdinOfA == toStdinOfB {
		aServes = descends(a.PID, b.PID, r.all)
	}
	if aServes {
		return pair{client: b, server: a, there: back, back: there}, true
	}
	return pair{client: a, server: b, there: there, back: back}, true
}

func hasFD(list []Holder, pid, fd int) bool {
	return slices.ContainsFunc(list, func(h Holder) bool { return h.PID == pid && h.FD == fd })
}

// A chain is what a client waits for: a server, and relays between, which pass messages on.
type chain struct {
	server   Holder
	relays   []string // "pipebench tap 4711"
	channels []*Channel
}

// checkMutualRead finds clients and servers that wait for each other. They may just be idle.
func (f *finder) checkMutualRead() {
	for _, p := range f.pairs {
		c, ok := f.follow(p)
		if f.isRelay(p) || !ok {
			continue
		}
		const says = "both wait for each other, and nothing is in the pipes: %s waits for %s%s, " +
			"which has read all that was sent; if an answer is due, a message was swallowed, " +
			"lies in the buffer of a reader that polls, or was not written, a request of the " +
			"server was not answered, one side waits for the rest of one (wrong length, no end " +
			"of line) or for the end of its input, or the server for something else, such as a " +
			"lock or a network; else they are idle"
		through := ""
		if len(c.relays) > 0 {
			through = " (through " + strings.Join(c.relays, ", ") + ")"
		}
		text := fmt.Sprintf(says, p.client, c.server, through)
		f.add(Diagnosis{Kind: MutualRead, Sentence: text, PID: c.server.PID}, c.channels...)
	}
}

// checkChildAtStdin finds a server that does not read its standard input while a descendant does,
// and the client waits for the server. If the client is this process, it counts as waiting, too. No
// descendant may have the output of the server: a wrapper leaves both to its child.
func (f *finder) checkChildAtStdin(in *Channel) {
	for _, server := range in.Readers {
		isBelow := func(h Holder) bool { return descends(h.PID, server.PID, f.report.all) }
		i := slices.IndexFunc(in.Readers, func(h Holder) bool { return h.inCall && isBelow(h) })
		if server.FD != stdin || server.Waits || f.report.all[server.PID].running || i < 0 {
			continue
		}
		for _, out := range f.report.Channels {
			j := slices.IndexFunc(out.Readers, func(h Holder) bool {
				return (h.Waits || h.PID == os.Getpid()) && holds(in.Writers, h.PID)
			})
			isShared := slices.ContainsFunc(out.Writers, isBelow)
			if j < 0 || !holds(out.Writers, server.PID) || isShared {
				continue
			}
			const says = "%s waits for %s, whose descendant %s reads the stdin of %d (%s): " +
				"unless that is meant, start it with another stdin, such as /dev/null"
			text := fmt.Sprintf(says, out.Readers[j], server, in.Readers[i], server.PID, in.ID)
			f.add(Diagnosis{Kind: ChildAtStdin, Sentence: text, PID: server.PID}, in, &out)
			return
		}
	}
}

// isRelay reports whether the client of a pair also waits for bytes at its own standard input. Then
// the client may have nothing to ask the server.
func (f *finder) isRelay(p pair) bool {
	return slices.ContainsFunc(f.report.Channels, func(c Channel) bool {
		_, oneHolder := c.Owner()
		return !oneHolder && !holds(c.Writers, p.server.PID) &&
			hasFD(c.Readers, p.client.PID, stdin) && pidWaits(c.Readers, p.client.PID)
	})
}

// follow returns the chain that begins with the pair p. ok is false if its server may wait for a
// process outside the chain, or for several.
func (f *finder) follow(p pair) (c chain, ok bool) {
	for range f.report.Channels { // a bound, because relays may form a circle
		c.channels = append(c.channels, p.there, p.back)
		behind, ok := f.behind(p)
		if !ok {
			return c, false
		}
		if behind == nil {
			c.server = p.server
			return c, !p.server.waitsForChild
		}
		c.relays = append(c.relays, fmt.Sprintf("%s %d", p.server.Command, p.server.PID))
		p = *behind
	}
	return c, false
}

// behind returns the pair whose client is the server of p, or nil if that server waits for no other
// process. ok is false if it waits for several, or for one that does not wait for it.
func (f *finder) behind(p pair) (next *pair, ok bool) {
	server := p.server.PID
	for _, in := range f.report.Channels {
		_, oneHolder := in.Owner()
		if oneHolder || !pidWaits(in.Readers, server) || holds(in.Writers, p.client.PID) {
			continue
		}
		i := slices.IndexFunc(f.pairs, func(q pair) bool {
			return q.client.PID == server && holds(in.Writers, q.server.PID)
		})
		if i < 0 || next != nil && next.server.PID != f.pairs[i].server.PID {
			return nil, false
		}
		next = &f.pairs[i]
	}
	return next, true
}
