package drive

import "time"

// A forecast is how long a server may be expected to take, after what it took for other sizes.
type forecast struct {
	size int // bytes of the largest message that was answered
	took time.Duration
}

// firstGuess is for a server of which nothing is known: twice the slowest that was measured, an SDK example that logs what it gets.
const firstGuess = 800 * time.Nanosecond // a byte

// learn takes note of an answer.
func (f *forecast) learn(size int, took time.Duration) {
	if size >= f.size {
		f.size, f.took = size, took
	}
}

// predict is how long a message of size bytes takes if time grows as size does. What a small message took is mostly what every one costs, and
// says little about a large one.
func (f *forecast) predict(size int) time.Duration {
	switch {
	case f.size == 0:
		return time.Duration(size) * firstGuess
	case size <= f.size:
		return f.took
	case f.size < linearFrom:
		return f.took + time.Duration(size-f.size)*firstGuess
	}
	return time.Duration(float64(f.took) * float64(size) / float64(f.size))
}

// margin is how much slower than predicted a server may be.
const margin = 10

// deadline is how long a server has for a message of size bytes.
func (d *Driver) deadline(size int) time.Duration {
	return min(d.o.Patience+margin*d.pace.predict(size), d.o.Longest)
}
