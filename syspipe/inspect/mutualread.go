package inspect

import (
	"fmt"
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

// A chain lists what a client waits for: servers, and between them relays, which pass messages on.
type chain struct {
	servers  []Holder
	relays   []Holder
	channels []*Channel
	network  bool // a server also waits for a socket that is no channel
}

// checkMutualRead finds clients and servers that wait for each other. If certain is true, it looks
// for pairs in which an answer must be missing. Otherwise it looks for pairs that may just be idle.
func (f *finder) checkMutualRead(certain bool) {
	for _, p := range f.pairs {
		var c chain
		if f.canOnlyRead(p) != certain || f.isRelay(p) || !f.follow(p, &c) {
			continue
		}
		has := "has"
		if len(c.servers) > 1 {
			has = "have"
		}
		alsoWaits := ""
		if c.network {
			alsoWaits = " and also waits for a socket, perhaps of a network"
		}
		const says = "both wait for each other, and nothing is in the pipes: " +
			"%s waits for %s%s, which %s read all that was sent%s; "
		text := fmt.Sprintf(says, p.client, namesOf(c.servers), c.through(), has, alsoWaits)
		const causes = "a message was swallowed or not written, a request of the server was not " +
			"answered, or one side waits for the rest of one (wrong length, no end of line)"
		if certain {
			text += causes
		} else {
			text += "if an answer is due, " + causes + "; else they are idle"
		}
		f.add(Diagnosis{Kind: MutualRead, Sentence: text, PID: c.servers[0].PID}, c.channels...)
	}
}

// canOnlyRead reports whether the client of a pair has only one thread, which is reading from the
// server.
func (f *finder) canOnlyRead(p pair) bool {
	inCall := func(h Holder) bool { return h.PID == p.client.PID && h.inCall }
	return f.report.all[p.client.PID].threadCount == 1 &&
		slices.ContainsFunc(p.back.Readers, inCall)
}

// checkChildAtStdin finds a server that waits for a child that reads the standard input of the
// server, while the client waits for the server. The child must not have the output of the server:
// a wrapper leaves both to its child, and waits for it.
func (f *finder) checkChildAtStdin(in *Channel) {
	for _, child := range in.Readers {
		i := slices.IndexFunc(in.Readers, func(h Holder) bool {
			return h.FD == stdin && h.waitsForChild && h.PID == f.report.all[child.PID].Parent
		})
		if !child.inCall || i < 0 {
			continue
		}
		server := in.Readers[i]
		for _, out := range f.report.Channels {
			j := slices.IndexFunc(out.Readers, func(h Holder) bool {
				return h.Waits && holds(in.Writers, h.PID)
			})
			if j < 0 || !holds(out.Writers, server.PID) || holds(out.Writers, child.PID) {
				continue
			}
			client, between := f.clientBehind(out.Readers[j])
			const says = "%s waits for %s%s, which waits for its child %s, and that one reads " +
				"the stdin of %d (%s): start it with another stdin, such as /dev/null"
			text := fmt.Sprintf(says, client, server, between.through(), child, server.PID, in.ID)
			f.add(Diagnosis{Kind: ChildAtStdin, Sentence: text, PID: server.PID}, in, &out)
			return
		}
	}
}

// clientBehind returns the client that waits for h, and the relays between, of which h is the last.
// If no client waits for h, it returns h.
func (f *finder) clientBehind(h Holder) (client Holder, between chain) {
	for range f.pairs { // a bound, because relays may form a circle
		i := slices.IndexFunc(f.pairs, func(p pair) bool { return p.server.PID == h.PID })
		if i < 0 {
			break
		}
		between.relays = slices.Insert(between.relays, 0, h)
		h = f.pairs[i].client
	}
	return h, between
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

// follow adds the pair p to the chain. If the server of p itself waits for other servers, follow
// adds those, too. It returns false if one of the servers may wait for a process outside the chain.
func (f *finder) follow(p pair, c *chain) bool {
	server := p.server.PID
	c.channels = append(c.channels, p.there, p.back)
	var behind []pair
	for _, in := range f.report.Channels {
		_, oneHolder := in.Owner()
		if oneHolder || !pidWaits(in.Readers, server) || holds(in.Writers, p.client.PID) {
			continue
		}
		next := slices.IndexFunc(f.pairs, func(q pair) bool {
			return q.client.PID == server && holds(in.Writers, q.server.PID)
		})
		if next < 0 {
			return false
		}
		q := f.pairs[next]
		known := func(b pair) bool { return b.server.PID == q.server.PID }
		if !slices.ContainsFunc(behind, known) { // if known, this is one more pipe to it
			behind = append(behind, q)
		}
	}
	if len(behind) == 0 {
		c.servers = append(c.servers, p.server)
		c.network = c.network || f.report.all[server].network
		return !p.server.waitsForChild
	}
	if holds(c.relays, server) {
		return false // the relays form a circle
	}
	c.relays = append(c.relays, p.server)
	for _, q := range behind {
		if !f.follow(q, c) {
			return false
		}
	}
	return true
}

// through names the relays: " (through pipebench tap 4711)".
func (c *chain) through() string {
	if len(c.relays) == 0 {
		return ""
	}
	var names []string
	for _, r := range c.relays {
		names = append(names, fmt.Sprintf("%s %d", r.Command, r.PID))
	}
	return " (through " + strings.Join(names, ", ") + ")"
}

func namesOf(holders []Holder) string {
	var names []string
	for _, h := range holders {
		names = append(names, h.String())
	}
	return strings.Join(names, " and ")
}
