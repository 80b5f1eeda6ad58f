package measure

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
)

// largest bounds what a person may ask for as one message: 1 GiB.
const largest = 1 << 30

// ParseSizes reads a list of sizes in bytes, ranges among them:
// "256,4KiB..1MiB" is 256 and each doubling from 4,096 to 1,048,576. The end
// of a range belongs to it only where doubling meets it.
func ParseSizes(list string) ([]int, error) {
	var sizes []int
	for item := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(item, "..")
		if !isRange {
			to = from
		}
		first, err := parseSize(from)
		if err != nil {
			return nil, err
		}
		last, err := parseSize(to)
		if err != nil {
			return nil, err
		}
		if first > last || isRange && first == 0 {
			return nil, fmt.Errorf("range %q: its first size has to be above 0 and not above its last", item)
		}
		for n := first; ; n *= 2 {
			sizes = append(sizes, n)
			if n == 0 || n > last/2 {
				break
			}
		}
	}
	return sizes, nil
}

// capacityNames are what a capacity may be called instead of a number.
var capacityNames = map[string]int{
	"default": 0,
	"macos":   64 << 10, // the ceiling that a pipe grows to there (BIG_PIPE_SIZE in XNU's sys/pipe.h)
}

// ParseCapacities reads a list of pipe capacities in bytes. "default" leaves
// it to the operating system, "macos" is that system's ceiling, 64 KiB.
func ParseCapacities(list string) ([]int, error) {
	var capacities []int
	for item := range strings.SplitSeq(list, ",") {
		if n, ok := capacityNames[strings.TrimSpace(item)]; ok {
			capacities = append(capacities, n)
			continue
		}
		sizes, err := ParseSizes(item)
		if err != nil {
			return nil, err
		}
		capacities = append(capacities, sizes...)
	}
	return capacities, nil
}

func parseSize(s string) (int, error) {
	n, err := results.ParseSize(s)
	if err != nil {
		return 0, err
	}
	if n > largest {
		return 0, fmt.Errorf("size %q is above %s", s, results.FormatSize(largest))
	}
	return int(n), nil
}
