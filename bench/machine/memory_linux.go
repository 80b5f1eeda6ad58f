package machine

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// PeakMemory is the largest resident size of a process so far, in bytes: the
// kernel's VmHWM. Getrusage counts that of the process that forked it where it was
// larger.
func PeakMemory(pid int) (bytesHeld int64, known bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, false
	}
	kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kib << 10, err == nil
}
