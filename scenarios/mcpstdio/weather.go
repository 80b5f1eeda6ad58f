package mcpstdio

import (
	"context"
	"fmt"
	"strings"
)

// The weather is canned: what a client does with it is the point.

type alert struct{ event, area, severity, headline string }

var alerts = map[string][]alert{
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
		func(_ context.Context, a in) (string, error) { return alertsFor(strings.ToUpper(a.State)) })
}

func alertsFor(state string) (string, error) {
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
		fmt.Fprintf(&b, "\nEvent: %s\nArea: %s\nSeverity: %s\nHeadline: %s\n---\n", a.event, a.area, a.severity, a.headline)
	}
	return b.String(), nil
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
