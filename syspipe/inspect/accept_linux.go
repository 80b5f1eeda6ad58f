//go:build !386 && !s390x

package inspect

import "golang.org/x/sys/unix"

func init() { calls[unix.SYS_ACCEPT] = "accept" }
