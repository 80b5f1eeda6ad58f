package inspect

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pipebench/pipebench/syspipe/internal/procfs"
)

// A socket is what sock_diag(7) tells about a Unix socket.
type socket struct {
	peer       uint64 // inode of the socket at the other end; 0 for none
	peerClosed bool   // it was connected, and the peer has been closed
	unread     int    // bytes received and not yet read
}

// Constants of linux/unix_diag.h and other headers. Package x/sys lacks them.
const (
	diagShowPeer    = 4    // UDIAG_SHOW_PEER
	diagShowQueue   = 16   // UDIAG_SHOW_RQLEN
	diagPeer        = 2    // UNIX_DIAG_PEER
	diagQueue       = 4    // UNIX_DIAG_RQLEN
	diagShutdown    = 6    // UNIX_DIAG_SHUTDOWN
	diagRequestSize = 24   // bytes of a struct unix_diag_req
	diagAnswerSize  = 16   // bytes of a struct unix_diag_msg
	stateConnected  = 1    // TCP_ESTABLISHED
	bothWays        = 3    // RCV_SHUTDOWN | SEND_SHUTDOWN
	stateListens    = "0A" // TCP_LISTEN, as /proc/net/tcp writes it
)

// unixSockets returns a map from inodes to the Unix sockets that the kernel shows in this network
// namespace.
func unixSockets() map[uint64]socket {
	all := map[uint64]socket{}
	const kind = unix.SOCK_DGRAM | unix.SOCK_CLOEXEC
	fd, err := unix.Socket(unix.AF_NETLINK, kind, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return all
	}
	defer unix.Close(fd)
	order := binary.NativeEndian
	request := make([]byte, unix.NLMSG_HDRLEN+diagRequestSize)
	order.PutUint32(request[0:], uint32(len(request)))               // nlmsg_len
	order.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)           // nlmsg_type
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP) // nlmsg_flags
	body := request[unix.NLMSG_HDRLEN:]
	body[0] = unix.AF_UNIX                                 // sdiag_family
	order.PutUint32(body[4:], ^uint32(0))                  // udiag_states: every state
	order.PutUint32(body[12:], diagShowPeer|diagShowQueue) // udiag_show
	toKernel := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(fd, request, 0 /* flags */, toKernel); err != nil {
		return all
	}
	buf := make([]byte, 1<<16)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0 /* flags */)
		if err == unix.EINTR {
			continue
		}
		messages, bad := syscall.ParseNetlinkMessage(buf[:max(n, 0)])
		if err != nil || bad != nil {
			return all
		}
		for _, m := range messages {
			if m.Header.Type == unix.NLMSG_DONE || m.Header.Type == unix.NLMSG_ERROR {
				return all
			}
			readSocket(m.Data, all)
		}
	}
}

// readSocket adds a socket to the map, if it is connected or has lost its peer. b is a struct
// unix_diag_msg with its attributes.
func readSocket(b []byte, into map[uint64]socket) {
	if len(b) < diagAnswerSize {
		return
	}
	order := binary.NativeEndian
	inode := uint64(order.Uint32(b[4:]))                            // udiag_ino
	connected := b[1] == unix.SOCK_STREAM && b[2] == stateConnected // udiag_type, udiag_state
	var s socket
	for rest := b[diagAnswerSize:]; len(rest) >= unix.SizeofRtAttr; {
		size := int(order.Uint16(rest))
		kind := order.Uint16(rest[2:])
		if size < unix.SizeofRtAttr || size > len(rest) {
			break
		}
		value := rest[unix.SizeofRtAttr:size]
		switch {
		case kind == diagPeer && len(value) >= 4:
			s.peer = uint64(order.Uint32(value))
		case kind == diagQueue && len(value) >= 8:
			s.unread = int(order.Uint32(value))
		case kind == diagShutdown && len(value) >= 1:
			s.peerClosed = value[0] == bothWays
		}
		padded := (size + 3) &^ 3 // the next attribute begins at a multiple of 4
		rest = rest[min(len(rest), padded):]
	}
	s.peerClosed = s.peerClosed && s.peer == 0
	if connected || s.peerClosed {
		into[inode] = s
	}
}

// describeEnd says what socket or pipe a descriptor is, as in "a TCP connection to 127.0.0.1:80".
// It returns "" if it is neither, or a standard stream, which may carry the messages.
func describeEnd(pid, fd int) string {
	f, ok := readOpenFile(pid, fd)
	switch {
	case !ok || fd <= stderr:
		return ""
	case !f.socket:
		return "a pipe"
	}
	inode := strconv.FormatUint(f.inode, 10)
	for table, column := range map[string]int{"tcp": 9, "tcp6": 9, "unix": 6} {
		text, _ := procfs.Text(pid, "net", table)
		for line := range strings.Lines(text) {
			fields := strings.Fields(line)
			switch {
			case len(fields) <= column || fields[column] != inode:
			case table == "unix":
				return "a Unix socket"
			case fields[3] == stateListens:
				return "a TCP socket that listens at " + parseAddress(fields[1])
			default:
				return "a TCP connection to " + parseAddress(fields[2])
			}
		}
	}
	return "a socket"
}

// nameWatches returns Thread.Watched. What else is watched stands in the table of channels, or only
// wakes up the process.
func nameWatches(pid int, list []watch) []string {
	const maxNames = 4
	byFD := func(a, b watch) int { return a.fd - b.fd }
	var names []string
	for _, w := range slices.SortedFunc(slices.Values(list), byFD) {
		name := "its stdin"
		if w.fd != stdin {
			name = describeEnd(pid, w.fd)
		}
		isNew := !slices.Contains(names, name) && len(names) < maxNames
		if isNew && (w.fd == stdin || strings.HasPrefix(name, "a TCP ")) {
			names = append(names, name)
		}
	}
	return names
}

// parseAddress parses an address of /proc/net/tcp: "0100007F:0050" is 127.0.0.1:80.
func parseAddress(text string) string {
	host, port, _ := strings.Cut(text, ":")
	b, _ := hex.DecodeString(host)
	for word := range slices.Chunk(b, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	address, _ := netip.AddrFromSlice(b)
	number, _ := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(address.Unmap(), uint16(number)).String()
}
