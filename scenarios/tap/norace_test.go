//go:build !race

package tap

// RaceEnabled says that the race detector's own memory is in every figure.
const RaceEnabled = false
