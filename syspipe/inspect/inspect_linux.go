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

// Process looks once at a process and its descendants. The error wraps [fs.ErrNotExist] if the
// process is gone, and [fs.ErrPermission] if it belongs to somebody else.
func Process(pid int) (r *Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("inspect process %d: %w", pid, err)
		}
	}()
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
	root := tapAbove(pid, all)
	taken := time.Now()
	for _, p := range s.tree(root) { // counted first: what moves during this look moves after it
		p.Total = readUsage(p.PID)
		all[p.PID] = p
	}
	for _, other := range slices.Sorted(maps.Keys(all)) {
		if other == os.Getpid() && other != pid && !descends(pid, other, all) {
			continue // this program takes no part: it only inherited descriptors from its shell
		}
		s.read(other)
	}
	r = &Report{PID: pid, taken: taken, Processes: s.tree(root), all: all}
	r.Channels, r.Inherited = s.channels(r.Processes)
	r.Diagnoses = r.diagnose()
	return r, nil
}

// Over looks at a process twice, with a pause in between, and leaves out problems that are gone at
// the second look. If the process ends before that, the error wraps [fs.ErrNotExist].
func Over(ctx context.Context, pid int, pause time.Duration) (*Report, error) {
	before, err := Process(pid)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(pause):
	}
	after, err := Process(pid)
	if err != nil {
		return nil, err
	}
	after.compare(before)
	return after, nil
}

// errGone is fs.ErrNotExist with a text that fits a process.
type errGone struct{}

func (errGone) Error() string { return "no such process: it has ended, or never was" }
func (errGone) Unwrap() error { return fs.ErrNotExist }

// processes returns all processes that can be seen and have not ended, by their PIDs.
func processes() (map[int]Proc, error) {
	pids, err := procfs.PIDs()
	if err != nil {
		return nil, err
	}
	all := map[int]Proc{}
	for _, pid := range pids {
		stat, err := procfs.ReadStat(pid)
		if err != nil || stat.Ended() {
			continue
		}
		args, _ := procfs.List(pid, "cmdline") // none if they cannot be read
		all[pid] = Proc{
			PID: pid, Parent: stat.Parent, Command: commandOf(pid, args, stat.Command), Args: args,
			Stopped:  stat.State == 'T' || stat.State == 't',
			ofKernel: stat.OfKernel(),
		}
	}
	return all, nil
}

// tapAbove returns the pipebench tap from which a process descends, or else the process itself.
func tapAbove(pid int, all map[int]Proc) int {
	above := pid
	for range all { // a bound, as in descends
		if all[above].Command == tapCommand {
			return above
		}
		above = all[above].Parent
	}
	return pid
}

// A snapshot is what can be seen of all processes at about one time.
type snapshot struct {
	procs   map[int]Proc     // by PID
	threads map[int][]Thread // by PID: the threads that wait
	open    []openFile
	sockets map[uint64]socket // by inode
}

// read adds to the snapshot what a process has open and what its threads wait for.
func (s *snapshot) read(pid int) {
	p := s.procs[pid]
	fds, err := procfs.Descriptors(pid)
	for _, fd := range fds {
		if f, ok := readOpenFile(pid, fd); ok {
			s.open = append(s.open, f)
		}
	}
	if err != nil {
		p.Unreadable = err.Error()
	} else if !p.ofKernel { // /proc shows kernel threads in call 0, which is read
		s.threads[pid] = readThreads(&p)
	}
	s.procs[pid] = p
}

// tree returns the process root and its descendants, each after its parent.
func (s *snapshot) tree(root int) []Proc {
	p := s.procs[root]
	p.Threads = s.threads[root]
	for i, t := range p.Threads {
		p.Threads[i].Watched = nameWatches(root, t.watches)
	}
	tree := []Proc{p}
	for _, pid := range slices.Sorted(maps.Keys(s.procs)) {
		if pid == root || pid == os.Getpid() { // this program is left out
			continue
		}
		if s.procs[pid].Parent == root {
			tree = append(tree, s.tree(pid)...)
		}
	}
	return tree
}

// channels returns the channels of which a process in tree holds an end, with all holders of each
// channel. The second list has the channels that belong in Report.Inherited.
func (s *snapshot) channels(tree []Proc) (list, inherited []Channel) {
	inTree := map[int]bool{}
	for _, p := range tree {
		inTree[p.PID] = true
	}
	byID := map[string]*Channel{}
	heldByTree := map[string]bool{}
	for _, f := range s.open {
		for _, c := range s.channelsOf(f) {
			if known, ok := byID[c.ID]; ok {
				known.Writers = append(known.Writers, c.Writers...)
				known.Readers = append(known.Readers, c.Readers...)
			} else {
				byID[c.ID] = &c
			}
			heldByTree[c.ID] = heldByTree[c.ID] || inTree[f.pid]
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		c := byID[id]
		if !heldByTree[id] {
			continue
		}
		c.measure()
		if c.isInherited(inTree) {
			inherited = append(inherited, *c)
		} else {
			list = append(list, *c)
		}
	}
	return list, inherited
}

// isInherited reports whether the channel belongs in Report.Inherited.
func (c *Channel) isInherited(inTree map[int]bool) bool {
	if c.Queued > 0 {
		return false
	}
	heldOutside := false
	for _, h := range slices.Concat(c.Writers, c.Readers) {
		standardStream := h.FD <= stderr
		if inTree[h.PID] && (h.Waits || standardStream) {
			return false
		}
		heldOutside = heldOutside || !inTree[h.PID]
	}
	return heldOutside
}

// channelsOf returns the channels of which an open file is an end: one for a pipe or FIFO, one each
// way for a connected Unix socket, and none for other sockets.
func (s *snapshot) channelsOf(f openFile) []Channel {
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
			c.Writers = []Holder{s.withWaits(h, "write")}
		}
		if f.reads {
			c.Readers = []Holder{s.withWaits(h, "read")}
		}
		return []Channel{c}
	}
	own, ok := s.sockets[f.inode]
	if !ok || own.peer == 0 && !own.peerClosed {
		return nil // no Unix socket, not connected, or in another network namespace
	}
	id := func(from, to uint64) string { return fmt.Sprintf("socket:[%d]>[%d]", from, to) }
	out := Channel{
		ID: id(f.inode, own.peer), Kind: "socket", Queued: -1,
		NoReader: own.peerClosed, Writers: []Holder{s.withWaits(h, "write")},
	}
	if peer, ok := s.sockets[own.peer]; ok {
		out.Queued = peer.unread
	}
	in := Channel{
		ID: id(own.peer, f.inode), Kind: "socket", Queued: own.unread,
		NoWriter: own.peerClosed, Readers: []Holder{s.withWaits(h, "read")},
	}
	return []Channel{out, in}
}

// withWaits returns a copy of h whose fields say whether the process waits, and how. The parameter
// call names the system call to look for: "read" or "write".
func (s *snapshot) withWaits(h Holder, call string) Holder {
	if h.stopped {
		return h
	}
	for _, t := range s.threads[h.PID] {
		h.inCall = h.inCall || t.In == call && t.FD == h.FD
		h.waitsForChild = h.waitsForChild || t.In == "wait"
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

// measure finds out how full a channel is, and whether its readers or writers are gone. Then it
// corrects which of the holders are said to wait.
func (c *Channel) measure() {
	if c.Kind == "socket" {
		// No system call tells how much room a socket has. But if a writer waits for room, the
		// socket is full.
		dropEdges(c.Writers)
		c.Full = anyWaits(c.Writers) && c.Queued != 0
	} else {
		c.measurePipe(c.Writers, unix.O_WRONLY)
		c.measurePipe(c.Readers, unix.O_RDONLY)
		if !c.Full {
			dropEdges(c.Writers)
		}
	}
	if c.Queued > 0 {
		dropEdges(c.Readers)
	}
}

// dropEdges clears Waits in the holders that only new bytes or new room would wake up (EPOLLET):
// the kernel has already told them of the bytes or the room that are there.
func dropEdges(list []Holder) {
	for i := range list {
		list[i].Waits = list[i].Waits && !list[i].edge
	}
}
