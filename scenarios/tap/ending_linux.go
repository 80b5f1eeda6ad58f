package tap

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setPdeathsig gives the server a group of its own, so that a terminal's signals come to it once, through us; and has it killed when we are
// killed, as it would be in our place.
func setPdeathsig(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// resetHandler takes Go's handler from a signal that os/signal does not let go of, such as SIGSEGV.
func resetHandler(number int) {
	var byDefault struct{ handler, flags, restorer, mask uintptr }
	unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&byDefault)), 0, 8, 0, 0)
}
