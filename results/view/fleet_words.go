package view

import (
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

func isTrip(c results.Cell) bool { return c.Pattern == results.PatternRoundtrip }

// framingVerb returns what was measured, with its verb: "60 KiB chunks keep".
func framingVerb(c results.Cell) string {
	phrase := results.FramingPhrase(c.Framing)
	switch {
	case isTrip(c):
		return "round trips of " + phrase + " take"
	case results.ChunkSize(c.Framing) > 0:
		return phrase + " keep"
	}
	return phrase + " keeps"
}

// reaches begins a clause on the speed of a framing: "raw reaches". A framing that the difference
// is about is "it".
func reaches(d stat.Difference, c results.Cell) string {
	phrase := results.FramingPhrase(c.Framing)
	isMany := results.ChunkSize(c.Framing) > 0
	isSubject := d.Framing == c.Framing && c.Framing != results.FramingRaw
	switch {
	case isTrip(c) && d.Framing != "":
		return "they take"
	case isTrip(c):
		return "round trips of " + phrase + " take"
	case isSubject && isMany:
		return "they reach"
	case isSubject:
		return "it reaches"
	case isMany:
		return phrase + " reach"
	}
	return phrase + " reaches"
}

// ofRaw ends a phrase that begins with a share of raw's speed.
func ofRaw(c results.Cell) string {
	if isTrip(c) {
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
