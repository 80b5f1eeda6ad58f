//go:build !linux || race

package syspipe

import "sync/atomic"

// A inCallFlag says that a call is under way.
type inCallFlag struct{ on atomic.Uint32 }

func (m *inCallFlag) begin()     { m.on.Store(1) }
func (m *inCallFlag) end()       { m.on.Store(0) }
func (m *inCallFlag) busy() bool { return m.on.Load() != 0 }

func prepareFlags() {}
func awaitFlags()   {}
