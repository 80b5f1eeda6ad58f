package view

import (
	"fmt"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

func isTrip(c results.Cell) bool { return c.Pattern == results.PatternRoundtrip }

// framingSubject says what was measured: "ndjson", or "round trips of ndjson".
func framingSubject(c results.Cell) string {
	if isTrip(c) {
		return "round trips of " + results.FramingPhrase(c.Framing)
	}
	return results.FramingPhrase(c.Framing)
}

// framingVerb returns what was measured, with its verb: "60 KiB chunks keep".
func framingVerb(c results.Cell) string {
	subject := framingSubject(c)
	switch {
	case isTrip(c):
		return subject + " take"
	case c.Framing == results.FramingRaw:
		return subject + " reaches"
	case strings.HasSuffix(subject, " chunks"):
		return subject + " keep"
	}
	return subject + " keeps"
}

// speedRange writes two shares of raw's speed or, for raw, two speeds.
func speedRange(c results.Cell, least, most float64) string {
	switch {
	case c.Framing == results.FramingRaw:
		metric := stat.RelativeMetric(c)
		return FromTo(metric.Format(least), metric.Format(most))
	case isTrip(c):
		return FromTo(fmt.Sprintf("%.2f times", least), fmt.Sprintf("%.2f times", most))
	}
	return percentRange(least, most)
}

// ofRaw ends a phrase that begins with what speedRange returns.
func ofRaw(c results.Cell) string {
	switch {
	case c.Framing == results.FramingRaw:
		return ""
	case isTrip(c):
		return " as long as raw's"
	}
	return " of raw's speed"
}

// whereMeasured says which messages these are, and which settings are not the usual ones.
func whereMeasured(c results.Cell) string {
	text := "messages of " + SizeTitle(c.Size) + ", " + results.PlacementPhrase(c.Placement)
	usual := results.UsualCell(c.Framing, c.Pattern, c.Placement, c.Size)
	for _, name := range results.DifferingFields([]results.Cell{usual, c}) {
		if value := c.Field(name); value != "" {
			text += ", " + FieldPhrase(name, value)
		}
	}
	return " (" + text + ")"
}
