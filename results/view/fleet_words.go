package view

import (
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
)

func isTrip(c results.Cell) bool { return c.Pattern == results.PatternRoundtrip }

// measuredVerb returns what was measured, with its verb: "60 KiB chunks keep". Round trips take.
func measuredVerb(c results.Cell, one, many string) string {
	phrase := results.FramingPhrase(c.Framing)
	switch {
	case isTrip(c):
		return "round trips of " + phrase + " take"
	case isPlural(c.Framing):
		return phrase + " " + many
	}
	return phrase + " " + one
}

// isPlural reports whether the phrase of a framing is plural: "60 KiB chunks".
func isPlural(framing string) bool { return results.ChunkSize(framing) > 0 }

// reaches begins a clause on the speed of a framing: "raw reaches". A framing that the difference
// is about is "it".
func reaches(d stat.Difference, c results.Cell) string {
	isSubject := d.Framing == c.Framing && c.Framing != results.FramingRaw
	switch {
	case isTrip(c) && d.Framing != "":
		return "they take"
	case isSubject && isPlural(c.Framing):
		return "they reach"
	case isSubject:
		return "it reaches"
	}
	return measuredVerb(c, "reaches", "reach")
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
