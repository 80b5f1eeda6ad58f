package bench

import "time"

// A drain holds a reader to a number of bytes a second, from its first message
// on. The zero drain holds nothing up.
type drain struct {
	perByte float64 // nanoseconds
	began   time.Time
	bytes   int64
}

func newDrain(bytesPerSecond int64) *drain {
	if bytesPerSecond <= 0 {
		return &drain{}
	}
	sharpenTimers()
	return &drain{perByte: 1e9 / float64(bytesPerSecond)}
}

// took waits until a reader of that speed would be done with n more bytes.
func (d *drain) took(n int) {
	if d.perByte != 0 { // apart, so that what costs nothing is inlined
		d.hold(n)
	}
}

func (d *drain) hold(n int) {
	if d.bytes == 0 {
		d.began = time.Now()
	}
	d.bytes += int64(n)
	if ahead := time.Duration(float64(d.bytes)*d.perByte) - time.Since(d.began); ahead > 0 {
		time.Sleep(ahead)
	}
}
