package machine

// own is not asked for: what all CPUs did is not told by a call that x/sys has.
func own() float64 { return 0 }
