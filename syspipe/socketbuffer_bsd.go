//go:build darwin || freebsd

package syspipe

// socketBufferScale: what SO_SNDBUF is set to is what it returns.
const socketBufferScale = 1

const socketLimit = "sysctl kern.ipc.maxsockbuf"
