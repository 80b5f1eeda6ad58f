package faults

// A signalCount counts nothing: Windows has no SIGPIPE.
type signalCount struct{}

func newSignalCount() *signalCount { return &signalCount{} }

func (*signalCount) reset()      {}
func (*signalCount) count() *int { return nil }
