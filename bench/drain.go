package bench

import "time"

// A rateLimit holds a reader to a number of bytes a second, from its first message
// on. The zero drain holds nothing up.
type rateLimit struct {
	perByte float64 // nanoseconds
	began   time.Time
	bytes   int64
}

func newRateLimit(bytesPerSecond int64) *rateLimit {
	if bytesPerSecond <= 0 {
		return &rateLimit{}
	}
	minimiseTimerSlack()
	return &rateLimit{perByte: 1e9 / float64(bytesPerSecond)}
}

// wait waits until a reader of that speed would be done with n more bytes.
func (d *rateLimit) wait(n int) {
	if d.perByte != 0 { // apart, so that what costs nothing is inlined
		d.sleep(n)
	}
}

func (d *rateLimit) sleep(n int) {
	if d.bytes == 0 {
		d.began = time.Now()
	}
	d.bytes += int64(n)
	if ahead := time.Duration(float64(d.bytes)*d.perByte) - time.Since(d.began); ahead > 0 {
		time.Sleep(ahead)
	}
}
