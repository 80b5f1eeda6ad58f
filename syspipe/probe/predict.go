package probe

import (
	"strconv"
	"strings"
)

// A pipe of Linux with pages of 4 KiB, which is what [Predict] speaks of.
const (
	usualSlot     = 4 << 10
	usualCapacity = linuxSlots * usualSlot
)

// Predict returns what the documented rules of a system say that a step of [Run] finds on its anonymous pipes, made without asking for a
// capacity: a number, a string or a bool, as in a [Finding]. Linux is taken to have pages of 4 KiB. It measures nothing. ok is false where
// no rule predicts a value.
func Predict(goos, step string) (value any, ok bool) {
	if value, ok = predictions[goos][step]; ok {
		return value, true
	}
	what, size, sized := cutSize(step)
	if !sized {
		return nil, false
	}
	if goos == "linux" && what == "settable" {
		return powerOfTwo(max(size, usualSlot)), true
	}
	m := modelOf(goos, usualSlot, usualCapacity)
	if m == nil {
		return nil, false
	}
	total, last := fillModel(m, size)
	switch what {
	case "capacity/fill":
		return total, true
	case "short-write":
		return last, true
	case "one-byte-after":
		return m.write(1) == 1, true
	}
	return nil, false
}

// cutSize divides a step such as "capacity/fill/2049" into what and how much.
func cutSize(step string) (what string, size int, ok bool) {
	at := strings.LastIndexByte(step, '/')
	if at < 0 {
		return "", 0, false
	}
	size, err := strconv.Atoi(step[at+1:])
	return step[:at], size, err == nil && size > 0
}

// predictions are the values that do not depend on a size, each from the rule about its step.
var predictions = map[string]map[string]any{
	"linux": {
		"capacity/stated":            usualCapacity,
		"slot":                       usualSlot,
		"growth/first-write":         usualCapacity,
		"growth/stated":              0,
		"all-or-nothing":             usualSlot,
		"poll/writable-after":        usualSlot,
		"full/write":                 "EAGAIN",
		"empty/read":                 "EAGAIN",
		"broken/no-reader":           "EPIPE",
		"broken/no-reader/sigpipe":   true,
		"broken/after-0/sigpipe":     true,
		"broken/after-0/accepted":    usualCapacity,
		"eof/another-writer":         "EAGAIN",
		"eof/last-writer":            "EOF",
		"interleave/512/read-4096":   false,
		"interleave/512/read-65536":  false,
		"interleave/4096/read-4096":  false,
		"interleave/4096/read-65536": false,
	},
	"darwin":  bsdPredictions(true),
	"freebsd": bsdPredictions(false),
	"windows": {
		"broken/no-reader":          "EPIPE", // as syspipe gives it: ERROR_NO_DATA (232) of the system
		"broken/no-reader/sigpipe":  false,
		"broken/after-0/sigpipe":    false,
		"eof/last-writer":           "EOF",
		"interleave/512/read-4096":  false,
		"interleave/4097/read-4096": false,
	},
}

// bsdPredictions are those of the pipe that macOS and FreeBSD have from the same ancestor. They differ in whether a write whose reader leaves
// before anything was taken raises SIGPIPE.
func bsdPredictions(signalsLeavers bool) map[string]any {
	return map[string]any{
		"slot":                      1,
		"growth/first-write":        grownBSD,
		"all-or-nothing":            bsdPipeBuf,
		"poll/writable-after":       bsdPipeBuf,
		"full/write":                "EAGAIN",
		"empty/read":                "EAGAIN",
		"broken/no-reader":          "EPIPE",
		"broken/no-reader/sigpipe":  true,
		"broken/after-0/sigpipe":    signalsLeavers,
		"eof/another-writer":        "EAGAIN",
		"eof/last-writer":           "EOF",
		"interleave/512/read-4096":  false,
		"interleave/512/read-65536": false,
	}
}

// Imitation returns the ceiling in bytes that a pipe of another system grows to, where one is documented, and what setting a pipe of this
// system to it does not imitate: all else.
func Imitation(goos string) (ceiling int, lacks string, ok bool) {
	if goos != "darwin" {
		return 0, "", false
	}
	return grownBSD, "a pipe there begins with 512 bytes and grows as it is written to, counts its room in bytes and not in pages, " +
		"splits writes above 512 bytes where they do not fit, says writable with 512 bytes free, and loses the count of a write whose reader leaves", true
}
