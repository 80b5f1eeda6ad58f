//go:build darwin || freebsd

package tap

// capacityOf returns 0: pipes grow with use here, and cannot be asked.
func capacityOf(int) int { return 0 }

// resetHandler does nothing: x/sys has no sigaction here. Of the signals that Go keeps for itself
// the exit status tells.
func resetHandler(int) {}
