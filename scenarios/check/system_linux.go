package check

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openTerminal makes a terminal of 80 columns: the program's side, which passes bytes on as they
// are, and ours. At the end of the other side ours gives an error.
func openTerminal() (child *os.File, ours io.ReadCloser, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master := os.NewFile(uintptr(fd), "/dev/ptmx") // which is not blocking, so that a close ends a read
	defer func() {
		if err != nil {
			master.Close()
		}
	}()
	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	child, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd = int(child.Fd())
	settings, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err == nil {
		settings.Oflag &^= unix.OPOST
		err = errors.Join(unix.IoctlSetTermios(fd, unix.TCSETS, settings),
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	}
	if err != nil {
		child.Close()
		return nil, nil, err
	}
	return child, master, nil
}

// holders returns the names of living processes, and of those among them that have the file of that
// path open.
func holders(pids []int, path string) (names, holding []string) {
	for _, pid := range pids {
		name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil {
			continue // it has ended
		}
		names = append(names, strings.TrimSpace(string(name)))
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			if to, _ := os.Readlink(link); to == path {
				holding = append(holding, names[len(names)-1])
				break
			}
		}
	}
	return names, holding
}
