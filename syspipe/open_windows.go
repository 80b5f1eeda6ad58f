package syspipe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

var supportedKinds = []Kind{Anonymous, Named}

func open(kind Kind, capacity int) (w, r *End, err error) {
	if kind == Named {
		return openNamed(capacity)
	}
	var read, write windows.Handle
	if err := windows.CreatePipe(&read, &write, nil, uint32(capacity)); err != nil {
		return nil, nil, fmt.Errorf("open anonymous pipe: %w", os.NewSyscallError("CreatePipe", err))
	}
	return newEnd(Anonymous, writes, write), newEnd(Anonymous, reads, read), nil
}

// defaultNamedCapacity is asked for where the caller names none: a named pipe has no default of its own, and with 0 every write waits for its
// reader.
const defaultNamedCapacity = 64 << 10

// openNamed makes a named pipe that only this process knows, of one instance, and connects to it. The server writes, the client reads.
func openNamed(capacity int) (w, r *End, err error) {
	if capacity == 0 {
		capacity = defaultNamedCapacity
	}
	name, err := windows.UTF16PtrFromString(fmt.Sprintf(`\\.\pipe\syspipe-%d-%s`, os.Getpid(), rand.Text()))
	if err != nil {
		return nil, nil, fmt.Errorf("open named pipe: %w", err)
	}
	server, err := windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_OUTBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		1, uint32(capacity), uint32(capacity), 0, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("open named pipe: %w", os.NewSyscallError("CreateNamedPipe", err))
	}
	client, err := windows.CreateFile(name, windows.GENERIC_READ|windows.FILE_WRITE_ATTRIBUTES, 0, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_OVERLAPPED, 0)
	if err != nil {
		err = fmt.Errorf("open named pipe: %w", os.NewSyscallError("CreateFile", err))
		return nil, nil, errors.Join(err, windows.CloseHandle(server))
	}
	return newEnd(Named, writes, server), newEnd(Named, reads, client), nil
}

// OpenFIFO opens both ends of the FIFO at path, which stays where it is. A path that names something else is an error that says what. On
// Windows, which has no FIFOs, the error wraps [errors.ErrUnsupported].
func OpenFIFO(path string) (w, r *End, err error) {
	return nil, nil, unsupported("open fifo " + path)
}
