package syspipe

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

var supportedKinds = []Kind{Anonymous, FIFO, SocketPair, Unix, SeqPacket, PTY, Ring}

// newStream returns how the calls of a kind differ from those of a pipe, nil where they do not.
func newStream(kind Kind) stream {
	switch kind {
	case SeqPacket:
		return &packets{}
	case PTY:
		return terminal{}
	}
	return nil
}

// maxPacket is the most that goes into one packet, in bytes: well below the 212,992 of a socket's
// usual buffer, which bounds a packet.
const maxPacket = 64 << 10

// packets make a stream of bytes of a socket that keeps packets whole.
type packets struct {
	most  int    // that the socket takes in one, in bytes; 0 until it was asked
	store []byte // of a read with a buffer that a packet may exceed
	rest  []byte // of the packet in the store
}

func (s *packets) read(e *End, p []byte) (int, syscall.Errno) {
	if len(s.rest) > 0 {
		n := copy(p, s.rest)
		s.rest = s.rest[n:]
		e.in.calls-- // the caller counts one, and none was made
		return n, 0
	}
	if len(p) >= maxPacket {
		return sysRead(e.fd, p)
	}
	if s.store == nil {
		s.store = make([]byte, maxPacket)
	}
	n, errno := sysRead(e.fd, s.store)
	if errno != 0 {
		return 0, errno
	}
	s.rest = s.store[copy(p, s.store[:n]):max(n, 0)]
	return min(n, len(p)), 0
}

func (s *packets) write(e *End, p []byte) (int, syscall.Errno) {
	return sysWrite(e.fd, p[:min(len(p), s.limit(e))])
}

func (s *packets) gathers(e *End, n int64) bool { return n <= int64(s.limit(e)) }

func (s *packets) resized() { s.most = 0 }

// limit asks how large a packet may be, which a capacity that was set lowers: the socket's buffer but
// for 32 bytes (net/unix/af_unix.c, unix_dgram_sendmsg).
func (s *packets) limit(e *End) int {
	if s.most == 0 {
		buffer, err := unix.GetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
		if s.most = maxPacket; err == nil {
			s.most = min(maxPacket, buffer-32)
		}
	}
	return s.most
}

// A terminal says EIO both at its end of file and where the other side has left.
type terminal struct{}

// read asks again after EIO, and counts that as one call: the kernel looks for bytes first and for a
// writer afterwards (n_tty_read), so what was written in between is still to come. Of 120,000 writers
// that left at once on a loaded machine three had their last bytes there.
func (terminal) read(e *End, p []byte) (n int, errno syscall.Errno) {
	for range 2 {
		if n, errno = sysRead(e.fd, p); errno != syscall.EIO {
			return n, errno
		}
	}
	return 0, 0
}

func (terminal) write(e *End, p []byte) (int, syscall.Errno) {
	n, errno := sysWrite(e.fd, p)
	if errno == syscall.EIO {
		return 0, syscall.EPIPE
	}
	return n, errno
}

// ptyPeer opens the program's side, which needs no /dev/pts. gVisor has that name of it alone, and
// its reader never learns that the writer has left.
func ptyPeer(ours int, flags uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(ours), unix.TIOCGPTPEER, flags)
	if errno == syscall.ENOTTY {
		return -1, unsupported("TIOCGPTPEER")
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (terminal) gathers(*End, int64) bool { return false } // so that EIO is met in one place

// openPTY makes a terminal of 80 columns, of which the program's side writes and the other one reads.
func openPTY() (w, r *End, err error) {
	const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	ours, err := unix.Open("/dev/ptmx", flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	r = newEnd(PTY, reads, ours)
	program := -1
	if err = unix.IoctlSetPointerInt(ours, unix.TIOCSPTLCK, 0); err == nil {
		program, err = ptyPeer(ours, flags)
	}
	if err == nil {
		w = newEnd(PTY, writes, program)
		_, err = term.MakeRaw(program)
	}
	if err == nil { // as programs ask how wide it is
		err = unix.IoctlSetWinsize(program, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	return w, r, os.NewSyscallError("ioctl", err)
}

// A ring is one end's view of memory that both ends map: a page of state, then the bytes.
//
// Each end holds a lock on a byte of the file, which the kernel takes back when the last duplicate
// of the end is closed, however its process ended. A Close says that the locks are worth a look; of
// a process that was killed nobody says so, and who waits looks every [pollSlice]. There may be one
// writer and one reader at a time.
type ring struct {
	memory []byte
	state  *ringState
	data   []byte

	closes uint64        // how often an end had been closed at the last look
	looked time.Duration // when that was, by Now
	gone   bool          // the other end
}

// ringState lies at the start of the memory, each word that both ends write on a cache line.
type ringState struct {
	written, taken, closes   ringCount // the first two in bytes since the start
	readerWaits, writerWaits ringFlag
}

type ringCount struct {
	atomic.Uint64
	_ [56]byte
}

// A ringFlag is a futex: 1 where an end waits, or is about to.
type ringFlag struct {
	atomic.Uint32
	_ [60]byte
}

const (
	ringHeader  = 4096
	ringDefault = 64 << 10 // bytes, as a pipe has
)

func openRing(capacity int) (w, r *End, err error) {
	if capacity == 0 {
		capacity = ringDefault
	}
	fd, err := unix.MemfdCreate("syspipe-ring", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("memfd_create", err)
	}
	if err := unix.Ftruncate(fd, ringHeader+int64(capacity)); err != nil {
		refused := &CapacityError{Kind: Ring, Asked: capacity, Err: os.NewSyscallError("ftruncate", err)}
		return nil, nil, errors.Join(refused, unix.Close(fd))
	}
	if w, err = lockRing(fd, writes); err != nil {
		return nil, nil, err
	}
	// The other end is an opening of its own, since a lock belongs to one.
	other, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return w, nil, os.NewSyscallError("open", err)
	}
	r, err = lockRing(other, reads)
	return w, r, err
}

// mapRing makes an end of a descriptor, which it closes where it fails.
func mapRing(fd int, dir direction) (*End, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Size <= ringHeader {
		err = syscall.EINVAL
	}
	var memory []byte
	if err == nil {
		memory, err = unix.Mmap(fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("mmap", err), unix.Close(fd))
	}
	e := newEnd(Ring, dir, fd)
	e.stream = &ring{memory: memory, state: (*ringState)(unsafe.Pointer(&memory[0])), data: memory[ringHeader:], looked: Now()}
	return e, nil
}

// lockRing takes the byte that stands for an end, and makes the end. gVisor knows no such locks.
func lockRing(fd int, dir direction) (*End, error) {
	lock := ringLock(dir)
	err := os.NewSyscallError("F_OFD_SETLK", unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &lock))
	if errors.Is(err, unix.EINVAL) {
		err = unsupported("F_OFD_SETLK")
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return mapRing(fd, dir)
}

func ringLock(dir direction) unix.Flock_t {
	return unix.Flock_t{Type: unix.F_WRLCK, Start: int64(dir), Len: 1}
}

// left reports whether the other end has no holder any more. An end that does not block looks each
// time, as its caller may try once only.
func (r *ring) left(e *End) bool {
	now := r.state.closes.Load()
	if r.gone || e.io == Blocking && now == r.closes && Now()-r.looked < pollSlice {
		return r.gone
	}
	lock := ringLock(duplex &^ e.dir)
	err := unix.FcntlFlock(uintptr(e.fd), unix.F_OFD_GETLK, &lock)
	r.closes, r.looked, r.gone = now, Now(), err == nil && lock.Type == unix.F_UNLCK
	return r.gone
}

func (r *ring) capacity() int { return len(r.data) }
func (r *ring) buffered() int { return int(r.state.written.Load() - r.state.taken.Load()) }

func (r *ring) read(e *End, p []byte) (int, syscall.Errno) {
	s := r.state
	for {
		if n := min(r.buffered(), len(p)); n > 0 {
			at := int(s.taken.Load() % uint64(len(r.data)))
			first := copy(p[:n], r.data[at:])
			copy(p[first:n], r.data)
			s.taken.Add(uint64(n))
			s.writerWaits.wake()
			return n, 0
		}
		if r.left(e) && r.buffered() == 0 {
			return 0, 0
		}
		if errno := s.readerWaits.wait(e, func() bool { return r.buffered() == 0 && !r.closedSince() }); errno != 0 {
			return 0, errno
		}
	}
}

func (r *ring) write(e *End, p []byte) (total int, errno syscall.Errno) {
	s := r.state
	for total < len(p) {
		room := len(r.data) - r.buffered()
		switch {
		case (r.closedSince() || room == 0) && r.left(e):
			errno = syscall.EPIPE
		case room > 0:
			n := min(room, len(p)-total)
			at := int(s.written.Load() % uint64(len(r.data)))
			first := copy(r.data[at:], p[total:total+n])
			copy(r.data, p[total+first:total+n])
			s.written.Add(uint64(n))
			s.readerWaits.wake()
			total += n
		default:
			errno = s.writerWaits.wait(e, func() bool { return r.buffered() == len(r.data) && !r.closedSince() })
		}
		if errno != 0 && total > 0 {
			return total, 0 // as a pipe does; the next call meets the cause again
		}
		if errno != 0 {
			return 0, errno
		}
	}
	return total, 0
}

func (r *ring) gathers(*End, int64) bool { return false }

// closedSince reports whether an end was closed since the last look at the locks.
func (r *ring) closedSince() bool { return r.state.closes.Load() != r.closes }

// wait sleeps while there is a reason to, for [pollSlice] at most. An end that does not block is
// refused instead.
func (w *ringFlag) wait(e *End, reason func() bool) syscall.Errno {
	if e.io != Blocking {
		return syscall.EAGAIN
	}
	w.Store(1)
	if reason() && !e.closed.Load() {
		limit := unix.NsecToTimespec(int64(pollSlice))
		syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&w.Uint32)), futexWait, 1, uintptr(unsafe.Pointer(&limit)), 0, 0)
	}
	w.Store(0)
	if e.closed.Load() {
		return syscall.EBADF
	}
	return 0
}

// wake ends the wait of the other end.
func (w *ringFlag) wake() {
	if w.Load() != 0 {
		w.Store(0)
		syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&w.Uint32)), futexWake, 1, 0, 0, 0)
	}
}

const futexWait, futexWake = 0, 1 // FUTEX_WAIT and FUTEX_WAKE of linux/futex.h

// interrupt ends the calls that wait: this end's sees then that it is closed, the other end's looks
// anew.
func (r *ring) interrupt() {
	r.state.readerWaits.wake()
	r.state.writerWaits.wake()
}

// close gives the descriptor back, tells the other end to look, and then unmaps.
func (r *ring) close(e *End) error {
	err := os.NewSyscallError("close", unix.Close(e.fd))
	r.state.closes.Add(1)
	r.interrupt()
	return errors.Join(err, os.NewSyscallError("munmap", unix.Munmap(r.memory)))
}
