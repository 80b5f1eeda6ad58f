package mcp

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// sampleList says of each sample what clients are told of it, by its name.
//
//go:embed samples.json
var sampleList []byte

// Samples returns the tools of `pipebench serve`: canned weather, an echo, and what tests of
// clients need.
func Samples() []Tool {
	type message struct{ Message string }
	tools := []Tool{
		NewTool("get-alerts", "", nil, alerts),
		NewTool("get-forecast", "", nil, forecast),
		NewTool("echo", "", nil, func(_ context.Context, a message) (string, error) { return a.Message, nil }),
		largeDataTool(),
		NewTool("datetime", "", nil, func(context.Context, struct{}) (string, error) {
			return time.Now().UTC().Format(time.RFC3339), nil
		}),
		NewTool("string", "", nil, changeString),
		NewTool("sleep", "", nil, sleep),
		NewTool("fail", "", nil, func(_ context.Context, a message) (string, error) {
			return "", errors.New(cmp.Or(a.Message, "failed as asked"))
		}),
	}
	var offers map[string]struct {
		Description string
		InputSchema json.RawMessage
	}
	_ = json.Unmarshal(sampleList, &offers) // a test reads it
	for i := range tools {
		offer := offers[tools[i].Name]
		tools[i].Description, tools[i].Schema = offer.Description, offer.InputSchema
	}
	return tools
}

// largeDataTool makes up to 64 MiB, the most that the measured servers were asked for.
func largeDataTool() Tool {
	type in struct{ Bytes *int }
	size := func(a in) int {
		if a.Bytes == nil {
			return 100_000
		}
		return *a.Bytes
	}
	tool := NewTool("get_large_data", "", nil, func(_ context.Context, a in) (string, error) {
		return strings.Repeat("X", size(a)), nil
	})
	tool.Size = func(args json.RawMessage) int {
		var a in
		_ = json.Unmarshal(args, &a) // Call reports what is wrong
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

// The alerts and the forecast are canned: what a client does with them is the point.

var alertsOf = map[string]string{
	"CA": "\nEvent: Heat Advisory\nArea: Sacramento Valley\nSeverity: Moderate\nHeadline: Heat Advisory until 8 PM PDT\n---\n",
	"TX": "\nEvent: Flood Watch\nArea: Hill Country\nSeverity: Severe\nHeadline: Flood Watch through Thursday morning\n---\n" +
		"\nEvent: Severe Thunderstorm Warning\nArea: Travis; Williamson\nSeverity: Severe\n" +
		"Headline: Severe Thunderstorm Warning until 6:15 PM CDT\n---\n",
}

func alerts(_ context.Context, a struct{ State string }) (string, error) {
	state := strings.ToUpper(a.State)
	if len(state) != 2 {
		return "", errors.New("a state is two letters, such as CA")
	}
	if list := alertsOf[state]; list != "" {
		return "Active alerts for " + state + ":\n" + list, nil
	}
	return "No active alerts for " + state, nil
}

func forecast(_ context.Context, a struct{ Latitude, Longitude float64 }) (string, error) {
	return fmt.Sprintf("Forecast for %.4f, %.4f:\n\nTonight:\nTemperature: 14°C\nWind: 10 km/h SW\nClear\n---\n"+
		"Tomorrow:\nTemperature: 23°C\nWind: 15 km/h W\nSunny\n---\n", a.Latitude, a.Longitude), nil
}
