package syspipe

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// capacity returns the write quota that was asked for. The system neither rounds it nor refuses a longer blocking write: it copies such a
// write into the kernel whole and makes the writer wait until the readers have worked off the overdraft.
func (e *End) capacity() (int, error) {
	var out, in uint32
	if err := windows.GetNamedPipeInfo(e.handle, nil, &out, &in, nil); err != nil {
		return 0, os.NewSyscallError("GetNamedPipeInfo", err)
	}
	return int(max(out, in)), nil
}

func (e *End) setCapacity(n int) error {
	return &CapacityError{Kind: e.kind, Asked: n, Where: "it is chosen when the pipe is opened", Err: unsupported("changing it")}
}

// x/sys lacks PeekNamedPipe.
var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

func (e *End) buffered() (int, error) {
	if e.dir == writes {
		return 0, unsupported("asking the writing end")
	}
	var available uint32
	ok, _, err := peekNamedPipe.Call(uintptr(e.handle), 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0)
	if ok == 0 {
		return 0, os.NewSyscallError("PeekNamedPipe", err)
	}
	return int(available), nil
}
