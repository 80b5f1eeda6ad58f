package view

// vocabulary is the words that views have for what the file says.
type vocabulary struct {
	Verdicts        map[string]string // those that are shown in other words
	VerdictClasses  map[string]Tone   // what they mean for a person; all others are bad
	Absent          map[string]string // of fields of a cell that are not set
	Phrases         map[string]string // of fields that do not stand behind their name
	Placements      map[string]string // where the two ends run, in a sentence
	ShortPlacements map[string]string // and in a title
	Pipes           map[string]string // what each kind of pipe is
	Sources         map[string]string // titles of the documents that claims are from

	// What a page says first of machines and of noise.
	SideBySide, Noise string
}

func words() *vocabulary { return &inWords }

var inWords = vocabulary{
	Verdicts: map[string]string{
		"deaf":                 "no reply, process alive",
		"exit 0":               "exited silently (code 0)",
		"depends":              "conditional",
		"not-testable-here":    "not testable here",
		"cannot-tell":          "cannot tell",
		"unpaired, indicative": "not paired: no verdict",
	},
	VerdictClasses: map[string]Tone{
		"holds":                    Good,
		"noted":                    Neutral,
		"ok":                       Good,
		"sound":                    Good,
		"exit 0":                   Good,
		"yes":                      Good,
		"<- use":                   Good,
		"conditional":              Mixed,
		"slow":                     Mixed,
		"grows":                    Mixed,
		"noticed":                  Mixed,
		"refused":                  Mixed,
		"error reply":              Mixed,
		"grows faster than linear": Mixed,
		"not testable here":        Neutral,
		"cannot tell":              Neutral,
		"unsupported":              Neutral,
		"*":                        Neutral,
		"":                         Neutral,
	},
	Absent: map[string]string{
		"drain":        "full speed",
		"rate":         "full",
		"transfer":     "copy",
		"size":         "recorded",
		"closes_after": "stays",
	},
	Phrases: map[string]string{
		"pipe":         "%s pipe",
		"payload":      "%s payload",
		"capacity":     "%s capacity",
		"size":         "%s messages",
		"drain":        "reader at %s",
		"closes_after": "reader %s",
	},
	Placements: map[string]string{
		"same":    "on the same CPU",
		"sibling": "on two hardware threads of one core",
		"apart":   "on two cores with a shared LLC",
		"far":     "on two cores without a shared LLC",
		"free":    "unpinned",
	},
	ShortPlacements: map[string]string{
		"same":    "same CPU",
		"sibling": "two threads of a core",
		"apart":   "two cores, shared LLC",
		"far":     "two cores, no shared LLC",
		"free":    "unpinned",
	},
	Pipes: map[string]string{
		"anonymous":  "an anonymous pipe",
		"fifo":       "a FIFO",
		"named":      "a named pipe",
		"socketpair": "a pair of sockets",
		"unix":       "a Unix socket",
		"seqpacket":  "a Unix socket of packets",
		"pty":        "a pseudo-terminal",
		"ring":       "a ring in memory that both map",
	},
	Sources: map[string]string{
		"000": "Message chunking for stdio",
		"001": "A limit of 16 MiB for a frame",
		"002": "MCP over stdio",
		"003": "Content-Length framing",
		"004": "A plan for an MCP server",
	},
	SideBySide: "Absolute figures of two machines say little. So each cell is compared with what " +
		"the same machine does with raw messages of that size: a share of its goodput, a " +
		"multiple of its round-trip time. The absolute figure stands behind.",
	Noise: "The same cell, measured by invocations that nothing distinguishes. A change " +
		"between two runs that is smaller than this spread is no change.",
}
