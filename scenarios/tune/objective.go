package tune

import (
	"fmt"
	"strings"
)

// An Objective says what goodput is worth against wait.
type Objective string

// The objectives. Halving the wait of small messages is worth giving up this
// share of goodput: balanced 7 %, throughput under 1 %, latency half of it. Of
// sizes that are worth the same within 5 %, all take the smallest.
const (
	Balanced   Objective = "balanced"
	Throughput Objective = "throughput"
	Latency    Objective = "latency"
)

// weights are the exponents of the wait in what is compared: goodput ÷ waitʷ.
var weights = map[Objective]float64{Balanced: 0.1, Throughput: 0.01, Latency: 1}

// Objectives lists them, each with a line for a list.
func Objectives() [][2]string {
	return [][2]string{
		{string(Balanced), "halving the wait is worth 7 % of goodput"},
		{string(Throughput), "goodput alone; the wait decides between sizes within 5 %"},
		{string(Latency), "halving the wait is worth half of the goodput"},
	}
}

// ParseObjective reads the name of one.
func ParseObjective(name string) (Objective, error) {
	o := Objective(name)
	if _, known := weights[o]; known {
		return o, nil
	}
	var names []string
	for _, o := range Objectives() {
		names = append(names, o[0])
	}
	return "", fmt.Errorf("objective %q is unknown; known are %s", name, strings.Join(names, ", "))
}
