package tune

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// fullSpeed is the rate of a reader that takes all it can.
const fullSpeed = "full"

// ParseDrain reads a reader's rate: "full", or bytes a second as in "200MB/s",
// which like every rate is decimal.
func ParseDrain(text string) (int64, error) {
	text = strings.TrimSpace(text)
	if text == fullSpeed {
		return 0, nil
	}
	number, scale := strings.TrimSuffix(text, "/s"), 1.0
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}} {
		if n, ok := strings.CutSuffix(number, u.name); ok {
			number, scale = n, u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if bytes := math.Round(v * scale); err == nil && bytes >= 1 && bytes < math.MaxInt64 {
		return int64(bytes), nil
	}
	return 0, fmt.Errorf("reader's rate %q: want %s, or bytes a second such as 200MB/s", text, fullSpeed)
}
