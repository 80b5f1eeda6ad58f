package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// Process looks once at a process and its descendants. If the process is gone, the error wraps
// [fs.ErrNotExist]; if it belongs to somebody else, the error wraps [fs.ErrPermission]. A
// descendant whose descriptors may not be read is in the report, with the reason in Unreadable.
func Process(pid int) (r *Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("inspect process %d: %w", pid, err)
		}
	}()
	if pid <= 0 {
		return nil, errors.New("a process number is above zero")
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	if _, ok := all[os.Getpid()]; !ok {
		const how = "%s lists no processes: mount it (mount -t proc proc %[1]s)"
		return nil, fmt.Errorf(how, procfs.Root)
	}
	if _, ok := all[pid]; !ok {
		return nil, errGone{}
	}
	_, err = procfs.Descriptors(pid)
	if errors.Is(err, fs.ErrPermission) {
		const whose = "it belongs to another user; run this as that user or as root: %w"
		return nil, fmt.Errorf(whose, err)
	}
	if err != nil {
		return nil, err
	}
	s := &snapshot{procs: all, threads: map[int][]Thread{}, sockets: unixSockets()}
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if other == os.Getpid() && other != pid && !descends(pid, other, all) {
			continue // this process only inherited descriptors from its shell: they explain nothing
		}
		s.read(other)
	}
	r = &Report{PID: pid, taken: time.Now(), Processes: s.tree(pid), all: all}
	r.Channels, r.Inherited = s.channels(r.Processes)
	r.Diagnoses = r.diagnose()
	return r, nil
}

// maxDoubt is how long [Over] goes on looking if it cannot tell whether a process spins: on a busy
// machine, the process may not have got enough CPU time to come to rest.
const maxDoubt = 5 * time.Second

// Over looks at the processes twice, with a pause of look in between. It returns the second look,
// and what the processes did in the pause. If it is in doubt whether a process spins or is just
// coming to rest, it looks again after the same pause, for up to five seconds. A diagnosis that can
// be made from one look counts only if both looks find it: a pipe may be full for a moment, and a
// child holds all descriptors of its parent until it becomes another program. If the process ends
// in the meantime, the error wraps [fs.ErrNotExist], as with [Process].
func Over(ctx context.Context, pid int, look time.Duration) (*Report, error) {
	before, err := Process(pid)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(look):
		}
		var after *Report
		after, err = Process(pid)
		if err != nil {
			break
		}
		inDoubt := after.compare(before)
		if !inDoubt || after.Look > maxDoubt {
			return after, nil
		}
	}
	return nil, err
}

// errGone is fs.ErrNotExist with a text that fits a process.
type errGone struct{}

func (errGone) Error() string { return "no such process: it has ended, or never was" }
func (errGone) Unwrap() error { return fs.ErrNotExist }

// processes returns every process that can be seen and has not ended, except the threads of the
// kernel.
func processes() (map[int]Proc, error) {
	pids, err := procfs.PIDs()
	if err != nil {
		return nil, err
	}
	all := map[int]Proc{}
	for _, pid := range pids {
		s, err := procfs.ReadStat(pid)
		if err != nil || s.Ended() {
			continue
		}
		p := Proc{PID: pid, Parent: s.Parent, Command: commandOf(pid, s.Command)}
		p.Stopped = s.State == 'T' || s.State == 't'
		p.ofKernel = s.OfKernel()
		all[pid] = p
	}
	return all, nil
}

// A snapshot is what can be seen of all processes at about one time.
type snapshot struct {
	procs   map[int]Proc
	threads map[int][]Thread
	open    []openFile
	sockets map[uint64]socket
}

// read adds what a process has open and waits for. A thread of the kernel makes no calls, though
// its file says "read(0)".
func (s *snapshot) read(pid int) {
	p := s.procs[pid]
	files, err := openFiles(pid)
	if err != nil {
		p.Unreadable = err.Error()
	} else {
		s.open = append(s.open, files...)
		if !p.ofKernel {
			s.threads[pid] = threads(&p)
		}
	}
	s.procs[pid] = p
}

// tree returns the process and its descendants, each after its parent.
func (s *snapshot) tree(root int) []Proc {
	p := s.procs[root]
	p.Threads = s.threads[root]
	p.SIGTERM = onSIGTERM(root)
	p.Total = readUsage(root)
	tree := []Proc{p}
	for _, pid := range slices.Sorted(maps.Keys(s.procs)) {
		if pid == root || pid == os.Getpid() {
			continue // this program is not part of the answer
		}
		if s.procs[pid].Parent == root {
			tree = append(tree, s.tree(pid)...)
		}
	}
	return tree
}

// channels returns the channels that the processes of the tree hold an end of, with all their
// holders: those that tell something of the tree, and those that it only inherited.
func (s *snapshot) channels(tree []Proc) (list, inherited []Channel) {
	inTree := map[int]bool{}
	for _, p := range tree {
		inTree[p.PID] = true
	}
	byID := map[string]*Channel{}
	wanted := map[string]bool{}
	for _, f := range s.open {
		for _, c := range s.endsOf(f) {
			if into, ok := byID[c.ID]; ok {
				into.Writers = append(into.Writers, c.Writers...)
				into.Readers = append(into.Readers, c.Readers...)
			} else {
				byID[c.ID] = &c
			}
			wanted[c.ID] = wanted[c.ID] || inTree[f.pid]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		c := byID[id]
		if !wanted[id] {
			continue
		}
		s.measure(c)
		if c.isInherited(inTree) {
			inherited = append(inherited, *c)
		} else {
			list = append(list, *c)
		}
	}
	return list, inherited
}

// isInherited reports whether the channel belongs into Report.Inherited.
func (c *Channel) isInherited(inTree map[int]bool) bool {
	if c.Queued > 0 {
		return false
	}
	outside := false
	for _, h := range slices.Concat(c.Writers, c.Readers) {
		if inTree[h.PID] && (h.Waits || h.FD <= 2) {
			return false
		}
		outside = outside || !inTree[h.PID]
	}
	return outside
}

// endsOf returns the channels that an open file is an end of, each with the process of the file as
// its holder. A connected Unix socket is an end of two, one per direction.
func (s *snapshot) endsOf(f openFile) []Channel {
	p := s.procs[f.pid]
	h := Holder{
		PID: f.pid, Command: p.Command, FD: f.fd, NonBlocking: f.nonBlocking, stopped: p.Stopped,
	}
	if !f.socket {
		id := fmt.Sprintf("pipe:[%d]", f.inode)
		c := Channel{ID: id, Kind: "anonymous", Path: f.path, Queued: -1}
		if f.path != "" {
			c.Kind = "fifo"
		}
		if f.writes {
			c.Writers = []Holder{s.waitsIn(h, "write")}
		}
		if f.reads {
			c.Readers = []Holder{s.waitsIn(h, "read")}
		}
		return []Channel{c}
	}
	own, ok := s.sockets[f.inode]
	if !ok || own.peer == 0 && !own.peerClosed {
		// It is not a Unix socket, not connected, or in another network namespace.
		p.network = p.network || s.waitsIn(h, "read").Waits
		s.procs[f.pid] = p
		return nil
	}
	id := func(from, to uint64) string { return fmt.Sprintf("socket:[%d]>[%d]", from, to) }
	out := Channel{ID: id(f.inode, own.peer), Kind: "socket", Queued: -1, NoReader: own.peerClosed}
	out.Writers = []Holder{s.waitsIn(h, "write")}
	in := Channel{ID: id(own.peer, f.inode), Kind: "socket", Queued: own.unread}
	in.NoWriter = own.peerClosed
	in.Readers = []Holder{s.waitsIn(h, "read")}
	if peer, ok := s.sockets[own.peer]; ok {
		out.Queued = peer.unread
	}
	return []Channel{out, in}
}

// waitsIn notes whether a thread of the holder sleeps in a call on its descriptor, or waits in
// another until such a call would return. A stopped process reads and writes nothing, whatever call
// it was in.
func (s *snapshot) waitsIn(h Holder, call string) Holder {
	if h.stopped {
		return h
	}
	for _, t := range s.threads[h.PID] {
		h.inCall = h.inCall || t.In == call && t.FD == h.FD
		h.awaits = h.awaits || t.In == "wait"
		for _, w := range t.watches {
			if w.fd == h.FD && (call == "read" && w.in || call == "write" && w.out) {
				h.Waits = true
				h.edge = h.edge || w.edge
			}
		}
	}
	h.Waits = h.Waits || h.inCall
	h.edge = h.edge && !h.inCall
	return h
}

// measure asks the kernel how full a channel is, and whether it has lost a side.
func (s *snapshot) measure(c *Channel) {
	if c.Kind == "socket" {
		// No call tells how much room a socket has. But if a writer sleeps in it, it is full.
		dropEdges(c.Writers)
		c.Full = anyWaits(c.Writers) && c.Queued != 0
	} else {
		c.ask(c.Writers, unix.O_WRONLY)
		c.ask(c.Readers, unix.O_RDONLY)
		if !c.Full {
			dropEdges(c.Writers)
		}
	}
	if c.Queued > 0 {
		dropEdges(c.Readers)
	}
}

// dropEdges marks those as not waiting that were told already of what they seem to wait for.
func dropEdges(list []Holder) {
	for i := range list {
		list[i].Waits = list[i].Waits && !list[i].edge
	}
}
