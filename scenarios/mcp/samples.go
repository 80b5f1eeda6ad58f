package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Samples returns the tools of `pipebench serve`, which are useful in tests of clients.
func Samples() []Tool {
	type message struct{ Message string }
	echo := func(_ context.Context, a message) (string, error) { return a.Message, nil }
	fail := func(_ context.Context, a message) (string, error) {
		return "", errors.New(cmp.Or(a.Message, "failed as asked"))
	}
	now := func(context.Context, struct{}) (string, error) {
		return time.Now().UTC().Format(time.RFC3339), nil
	}
	return []Tool{
		NewTool("get-alerts", "Get weather alerts for a state", Schema(
			required("state", String, "two-letter code of the state, such as CA"),
		), alerts),
		NewTool("get-forecast", "Get the weather forecast for a place", Schema(
			required("latitude", Number.Between(-90, 90), "degrees north"),
			required("longitude", Number.Between(-180, 180), "degrees east"),
		), forecast),
		NewTool("echo", "Return the message unchanged", Schema(
			required("message", String, "what to return"),
		), echo),
		largeDataTool(),
		NewTool("datetime", "Return the time, in UTC and the form of RFC 3339", nil, now),
		NewTool("string", "Change a text", Schema(
			required("operation", OneOf("uppercase", "lowercase", "trim", "reverse", "length"),
				"what to do with it"),
			required("input", String, "the text"),
		), changeString),
		NewTool("sleep", "Answer after a while; can be cancelled", Schema(
			required("seconds", Number.Between(0, 86400), "how long"),
		), sleep),
		NewTool("fail", "Fail, to see how a failure looks", Schema(
			Param{Name: "message", Type: String, Description: "what went wrong", Optional: true},
		), fail),
	}
}

func required(name string, of Type, description string) Param {
	return Param{Name: name, Type: of, Description: description}
}

// largeDataTool returns a tool that answers with up to 64 MiB. No measurement has asked a server
// for more.
func largeDataTool() Tool {
	type in struct{ Bytes *int }
	size := func(a in) int {
		if a.Bytes == nil {
			return 100_000
		}
		return *a.Bytes
	}
	param := Param{Name: "bytes", Type: Integer.Between(0, 64<<20), Description: "how many"}
	param.Optional = true
	does := "Return the given number of bytes of X, by default 100000"
	call := func(_ context.Context, a in) (string, error) {
		return strings.Repeat("X", size(a)), nil
	}
	tool := NewTool("get_large_data", does, Schema(param), call)
	tool.Size = func(args json.RawMessage) int {
		var a in
		_ = json.Unmarshal(args, &a) // Call reports the error
		return size(a)
	}
	return tool
}

func changeString(_ context.Context, a struct{ Operation, Input string }) (string, error) {
	switch a.Operation {
	case "uppercase":
		return strings.ToUpper(a.Input), nil
	case "lowercase":
		return strings.ToLower(a.Input), nil
	case "trim":
		return strings.TrimSpace(a.Input), nil
	case "length":
		return strconv.Itoa(utf8.RuneCountInString(a.Input)), nil
	}
	reversed := []rune(a.Input)
	slices.Reverse(reversed)
	return string(reversed), nil
}

func sleep(ctx context.Context, a struct{ Seconds float64 }) (string, error) {
	select {
	case <-time.After(time.Duration(a.Seconds * float64(time.Second))):
		return fmt.Sprintf("slept %v seconds", a.Seconds), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// The alerts and the forecast are fixed texts: only what a client does with them matters.

var alertsOf = map[string]string{
	"CA": "\nEvent: Heat Advisory\nArea: Sacramento Valley\nSeverity: Moderate\n" +
		"Headline: Heat Advisory until 8 PM PDT\n---\n",
	"TX": "\nEvent: Flood Watch\nArea: Hill Country\nSeverity: Severe\n" +
		"Headline: Flood Watch through Thursday morning\n---\n" +
		"\nEvent: Severe Thunderstorm Warning\nArea: Travis; Williamson\nSeverity: Severe\n" +
		"Headline: Severe Thunderstorm Warning until 6:15 PM CDT\n---\n",
}

func alerts(_ context.Context, a struct{ State string }) (string, error) {
	state := strings.ToUpper(a.State)
	if len(state) != 2 {
		return "", errors.New("a state is two letters, such as CA")
	}
	list := alertsOf[state]
	if list != "" {
		return "Active alerts for " + state + ":\n" + list, nil
	}
	return "No active alerts for " + state, nil
}

func forecast(_ context.Context, a struct{ Latitude, Longitude float64 }) (string, error) {
	place := fmt.Sprintf("Forecast for %.4f, %.4f:\n\n", a.Latitude, a.Longitude)
	return place + "Tonight:\nTemperature: 14°C\nWind: 10 km/h SW\nClear\n---\n" +
		"Tomorrow:\nTemperature: 23°C\nWind: 15 km/h W\nSunny\n---\n", nil
}
