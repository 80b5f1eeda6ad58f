package syspipe

// socketBufferScale: Linux doubles what SO_SNDBUF is set to, for its bookkeeping, and returns the double (socket(7)).
const socketBufferScale = 2

const socketLimit = "net.core.wmem_max, in /proc/sys/net/core/wmem_max"
