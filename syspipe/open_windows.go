package syspipe

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var supportedKinds = []Kind{Anonymous, Named}

func open(kind Kind, capacity int) (w, r *End, err error) {
	if uint64(capacity) > math.MaxUint32 {
		return nil, nil, &CapacityError{Kind: kind, Asked: capacity, Err: errors.New("above 4 GiB")}
	}
	if kind == Named {
		return openNamed(capacity)
	}
	var read, write windows.Handle
	if err := windows.CreatePipe(&read, &write, nil, uint32(capacity)); err != nil {
		return nil, nil, os.NewSyscallError("CreatePipe", err)
	}
	return newHandle(Anonymous, writes, write), newHandle(Anonymous, reads, read), nil
}

// defaultNamedCapacity is used if the caller asks for no capacity. With a capacity of 0, every
// write would wait for its reader.
const defaultNamedCapacity = 64 << 10

// openNamed makes a named pipe whose name only this process knows. The server's end writes, and the
// client's end reads.
func openNamed(capacity int) (w, r *End, err error) {
	if capacity == 0 {
		capacity = defaultNamedCapacity
	}
	path := fmt.Sprintf(`\\.\pipe\syspipe-%d-%s`, os.Getpid(), rand.Text())
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, nil, err
	}
	// The pipe is duplex, because the system does not tell the quota of an end that can only write.
	server, err := windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_DUPLEX|
			windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		1 /* instances */, uint32(capacity), uint32(capacity), 0 /* default timeout */, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateNamedPipe", err)
	}
	const access = windows.GENERIC_READ | windows.FILE_WRITE_ATTRIBUTES
	client, err := windows.CreateFile(name, access, 0 /* not shared */, nil,
		windows.OPEN_EXISTING, windows.FILE_FLAG_OVERLAPPED, 0 /* no template */)
	if err != nil {
		err = os.NewSyscallError("CreateFile", err)
		return nil, nil, errors.Join(err, closeHandle(server))
	}
	return newHandle(Named, writes, server), newHandle(Named, reads, client), nil
}

// A handle is a duplicate for a child, with a Close method.
type handle windows.Handle

func (h handle) Close() error {
	return os.NewSyscallError("CloseHandle", windows.CloseHandle(windows.Handle(h)))
}

// passTo gives the child a duplicate of the end. It returns the number of the duplicate, which is
// the same in the child.
func (e *End) passTo(cmd *exec.Cmd) (uint64, error) {
	if e.file != nil {
		return 0, errors.New("it is bound to this process's completion port; " +
			"open it with another io than Poller")
	}
	copied, err := duplicateHandle(e.handle, true /* inherit */)
	if err != nil {
		return 0, err
	}
	e.duplicates = append(e.duplicates, handle(copied))
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	attr := cmd.SysProcAttr
	attr.AdditionalInheritedHandles = append(
		attr.AdditionalInheritedHandles, syscall.Handle(copied))
	return uint64(copied), nil
}

func (e *End) duplicate() (*os.File, error) {
	copied, err := duplicateHandle(e.handle, false /* inherit */)
	return os.NewFile(uintptr(copied), e.kind.noun()), err
}

func duplicateHandle(h windows.Handle, inherit bool) (windows.Handle, error) {
	self := windows.CurrentProcess()
	var copied windows.Handle
	err := windows.DuplicateHandle(
		self, h, self, &copied, 0 /* access */, inherit, windows.DUPLICATE_SAME_ACCESS)
	if err != nil {
		return 0, os.NewSyscallError("DuplicateHandle", err)
	}
	return copied, nil
}

// takeUp makes an end from a handle that this process inherited from its parent.
func takeUp(number uint64, kind Kind, dir direction) (*End, error) {
	h := windows.Handle(number)
	fileType, err := windows.GetFileType(h)
	if err != nil {
		return nil, os.NewSyscallError("GetFileType", err)
	}
	if fileType != windows.FILE_TYPE_PIPE {
		return nil, fmt.Errorf("handle %#x is no pipe", number)
	}
	err = windows.SetHandleInformation(h, windows.HANDLE_FLAG_INHERIT, 0 /* clear it */)
	if err != nil {
		return nil, os.NewSyscallError("SetHandleInformation", err)
	}
	return newHandle(kind, dir, h), nil
}

// capacity returns the capacity that was asked for when the pipe was made. A blocking write of more
// bytes waits until the reader has taken the surplus.
func (e *End) capacity() (int, error) {
	var out, in uint32
	if err := windows.GetNamedPipeInfo(e.handle, nil, &out, &in, nil); err != nil {
		return 0, os.NewSyscallError("GetNamedPipeInfo", err)
	}
	return int(max(out, in)), nil
}

func (e *End) setCapacity(n int) error {
	const where = "it is chosen when the pipe is opened"
	return &CapacityError{Kind: e.kind, Asked: n, Where: where, Err: unsupported("changing it")}
}

// x/sys lacks PeekNamedPipe.
var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

func (e *End) buffered() (int, error) {
	if e.dir == writes {
		return 0, unsupported("asking the writing end")
	}
	var available uint32
	ok, _, err := peekNamedPipe.Call(
		uintptr(e.handle), 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0)
	if ok == 0 {
		return 0, os.NewSyscallError("PeekNamedPipe", err)
	}
	return int(available), nil
}
