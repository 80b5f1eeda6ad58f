package results

// What tests of this package check inside.
var (
	Decode   = decode
	Encode   = encode
	WithKind = withKind
)

const MaxLatencyNS = maxLatencyNS
