//go:build darwin || freebsd

package tap

// resetHandler does nothing: x/sys has no sigaction here. Of the signals that Go keeps for itself
// the exit status tells.
func resetHandler(int) {}
