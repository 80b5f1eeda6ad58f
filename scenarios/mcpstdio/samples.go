package mcpstdio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MaxLargeData bounds what get_large_data returns, in bytes: 64 MiB, the largest that the measured
// servers were asked for.
const MaxLargeData = 64 << 20

// Samples returns the tools of `pipebench serve`: canned weather, an echo, and what tests of
// clients need.
func Samples() []Tool {
	type text struct{ Message string }
	return []Tool{
		alertsTool(),
		forecastTool(),
		NewTool("echo", "Return the message unchanged",
			[]Param{{Name: "message", Description: "what to return", Type: String()}},
			func(_ context.Context, a text) (string, error) { return a.Message, nil }),
		largeDataTool(),
		NewTool("datetime", "Return the time, in UTC and the form of RFC 3339", nil,
			func(context.Context, struct{}) (string, error) { return time.Now().UTC().Format(time.RFC3339), nil }),
		stringTool(),
		sleepTool(),
		NewTool("fail", "Fail, to see how a failure looks",
			[]Param{{Name: "message", Description: "what went wrong", Type: String(), Optional: true}},
			func(_ context.Context, a text) (string, error) {
				return "", errors.New(cmp.Or(a.Message, "failed as asked"))
			}),
	}
}

func largeDataTool() Tool {
	type in struct{ Bytes *int }
	size := func(bytes *int) int {
		if bytes == nil {
			return 100_000
		}
		return *bytes
	}
	tool := NewTool("get_large_data", "Return so many bytes of X, 100000 unless said",
		[]Param{{Name: "bytes", Description: "how many", Type: Integer().Between(0, MaxLargeData), Optional: true}},
		func(_ context.Context, a in) (string, error) { return strings.Repeat("X", size(a.Bytes)), nil })
	tool.Size = func(args json.RawMessage) int {
		var a in
		_ = json.Unmarshal(args, &a) // Call reports what is wrong
		return size(a.Bytes)
	}
	return tool
}

func stringTool() Tool {
	operations := map[string]func(string) string{
		"uppercase": strings.ToUpper,
		"lowercase": strings.ToLower,
		"trim":      strings.TrimSpace,
		"reverse": func(s string) string {
			r := []rune(s)
			slices.Reverse(r)
			return string(r)
		},
		"length": func(s string) string { return fmt.Sprint(len([]rune(s))) },
	}
	type in struct{ Operation, Input string }
	return NewTool("string", "Change a text",
		[]Param{
			{Name: "operation", Description: "what to do with it", Type: OneOf("uppercase", "lowercase", "trim", "reverse", "length")},
			{Name: "input", Description: "the text", Type: String()},
		},
		func(_ context.Context, a in) (string, error) { return operations[a.Operation](a.Input), nil })
}

func sleepTool() Tool {
	type in struct{ Seconds float64 }
	return NewTool("sleep", "Answer after a while; can be cancelled",
		[]Param{{Name: "seconds", Description: "how long", Type: Number().Between(0, 86400)}},
		func(ctx context.Context, a in) (string, error) {
			timer := time.NewTimer(time.Duration(a.Seconds * float64(time.Second)))
			defer timer.Stop()
			select {
			case <-timer.C:
				return fmt.Sprintf("slept %v seconds", a.Seconds), nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
}

// The alerts and the forecast are canned: what a client does with them is the point.

var alerts = map[string][][4]any{ // event, area, severity, headline
	"CA": {{"Heat Advisory", "Sacramento Valley", "Moderate", "Heat Advisory until 8 PM PDT"}},
	"TX": {
		{"Flood Watch", "Hill Country", "Severe", "Flood Watch through Thursday morning"},
		{"Severe Thunderstorm Warning", "Travis; Williamson", "Severe", "Severe Thunderstorm Warning until 6:15 PM CDT"},
	},
}

func alertsTool() Tool {
	type in struct{ State string }
	return NewTool("get-alerts", "Get weather alerts for a state",
		[]Param{{Name: "state", Description: "two-letter code of the state, such as CA", Type: String()}},
		func(_ context.Context, a in) (string, error) {
			state := strings.ToUpper(a.State)
			if len(state) != 2 {
				return "", fmt.Errorf("a state is two letters, such as CA")
			}
			list := alerts[state]
			if len(list) == 0 {
				return "No active alerts for " + state, nil
			}
			var b strings.Builder
			fmt.Fprintf(&b, "Active alerts for %s:\n", state)
			for _, a := range list {
				fmt.Fprintf(&b, "\nEvent: %s\nArea: %s\nSeverity: %s\nHeadline: %s\n---\n", a[:]...)
			}
			return b.String(), nil
		})
}

func forecastTool() Tool {
	type in struct{ Latitude, Longitude float64 }
	return NewTool("get-forecast", "Get the weather forecast for a place",
		[]Param{
			{Name: "latitude", Description: "degrees north", Type: Number().Between(-90, 90)},
			{Name: "longitude", Description: "degrees east", Type: Number().Between(-180, 180)},
		},
		func(_ context.Context, a in) (string, error) {
			return fmt.Sprintf("Forecast for %.4f, %.4f:\n\nTonight:\nTemperature: 14°C\nWind: 10 km/h SW\nClear\n---\n"+
				"Tomorrow:\nTemperature: 23°C\nWind: 15 km/h W\nSunny\n---\n", a.Latitude, a.Longitude), nil
		})
}
