package results

// What tests of this package check inside.
var (
	Decode   = decode
	Encode   = encode
	WithKind = prepare
)

const MaxLatencyNS = maxLatencyNS
