package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/stat"
	"github.com/pipebench/pipebench/scenarios/check"
	"github.com/pipebench/pipebench/scenarios/failures"
	"github.com/pipebench/pipebench/syspipe"
)

// IDs of findings of package failures.
const (
	endlessLine = "failure/no-newline/as-printed"
	awkward     = "failure/dirty-lines/content-length/any-bytes"
	inPieces    = "failure/partial-reads/rescan"
	printed     = "failure/partial-reads/as-printed"
	printedLast = "failure/dirty-lines/as-printed/no-last-newline"
	skipped     = "failure/oversized-line/skips"
)

// logLines are the IDs of findings about a log line between messages. Each of them is about another
// reader.
var logLines = []string{
	"failure/dirty-lines/lines/log-line", "failure/dirty-lines/scanner/log-line",
	"failure/dirty-lines/json-stream/log-line", "failure/dirty-lines/content-length/log-line",
}

// serverClaims are the claims of document 002. Most of them are about servers.
var serverClaims = []Claim{
	{
		ID:    "002-bytewise",
		Says:  "Reading one byte at a time until a newline is a way to read lines",
		Needs: []string{needReaders},
		Judge: judgeBytewise,
	},
	{
		ID:    "002-crash-isolation",
		Says:  "A server that crashes does not affect its client",
		Needs: []string{pipe("eof/last-writer"), pipe("broken/no-reader/sigpipe")},
		Judge: func(e *Evidence) Judgement {
			return inPart(e.hasValue(pipe("eof/last-writer"), "EOF"),
				!e.hasValue(pipe("broken/no-reader/sigpipe"), true), "",
				"the client sees the end of the output and lives",
				"the client sees the end of the output and lives; but a program that writes to "+
					"the dead pipe and does not handle SIGPIPE is killed by it",
				"the client was not told that its server had died")
		},
	},
	{
		ID:    "002-malformed-skipped",
		Says:  "A server skips a malformed message, and answers the next one",
		Needs: []string{serverCheck(dirtyLine)},
		Judge: judgeDirtyLines,
	},
	{
		ID:    "002-stderr-separate",
		Says:  "A server can log to standard error without touching the messages",
		Needs: []string{pipe("broken/after-0/error"), pipe("capacity/fill/512")},
		Judge: func(e *Evidence) Judgement {
			if e.hasValue(pipe("broken/after-0/error"), syspipe.ErrorName(nil)) {
				return holds("", "all of the log was taken although nobody read")
			}
			taken := e.number(pipe("capacity/fill/512"))
			return depends(fmt.Sprintf("%d B of log lines taken while nobody reads", taken),
				"only while the client reads it: the log fills its pipe, and the server waits "+
					"there in place of answering")
		},
	},
}

// headerClaims are the claims of document 003, about Content-Length headers.
var headerClaims = []Claim{
	{
		ID:    "003-exact-sizes",
		Says:  "With Content-Length both sides read exactly a message's bytes",
		Needs: []string{awkward},
		Judge: func(e *Evidence) Judgement {
			return e.ifSound(awkward, "the length is in bytes, so no content can be taken for "+
				"the end", "messages did not arrive as they were sent")
		},
	},
	{
		ID:    "003-mcp-content-length",
		Says:  "MCP servers on stdio speak Content-Length framing",
		Needs: []string{serverCheck(endInFlight)},
		Judge: func(e *Evidence) Judgement {
			c := e.speaking("content-length")
			return inAllCases(c, c.of("servers"), "every server speaks with headers",
				"MCP on stdio is a message a line; the header belongs to the Language Server "+
					"Protocol", "these speak in lines: {}")
		},
	},
}

// lineClaims are the claims of document 004, about messages in lines.
var lineClaims = []Claim{
	{
		ID:    "004-mcp-newline",
		Says:  "MCP on stdio is newline-delimited JSON",
		Needs: []string{serverCheck(endInFlight)},
		Judge: func(e *Evidence) Judgement {
			c := e.speaking("ndjson")
			return inAllCases(c, c.of("servers"), "each answers a handshake sent as a line",
				"none answers a handshake sent as a line", "no answer to a line from: {}")
		},
	},
	{
		ID:    "004-4096-robust",
		Says:  "Reading 4096 bytes at a time is robust against partial reads",
		Needs: []string{inPieces, printed, printedLast},
		Judge: judgePieces,
	},
	{
		ID:    "004-4096-cheap",
		Says:  "Reading 4096 bytes at a time to search for a newline is cheap",
		Needs: []string{needReaders},
		Judge: judgeRescan,
	},
	{
		ID:    "004-10mb-limit",
		Says:  "The limit of 10 MB on a line prevents memory exhaustion",
		Needs: []string{endlessLine},
		Judge: func(e *Evidence) Judgement {
			return e.ifSound(endlessLine, "the line was refused when it reached the limit",
				"as printed the length is looked at when the newline comes: a line that never "+
					"ends is never too long")
		},
	},
	{
		ID:    "004-skip-hangs",
		Says:  "Skipping an oversized line without an answer makes the client hang",
		Needs: []string{skipped},
		Judge: func(e *Evidence) Judgement {
			f := e.finding(skipped)
			if f.Class == failures.Noticed {
				return holds(f.Found, "the server is well and idle, and whoever waits for the "+
					"skipped request waits for ever")
			}
			return refuted(f.Found, "the server did not go on behind the oversized request")
		},
	},
	{
		ID:    "004-eof-shutdown",
		Says:  "After its input ends, a server answers all and is gone in 5 s",
		Needs: []string{serverCheck(endInFlight)},
		Judge: judgeEndInFlight,
	},
	{
		ID:    "004-empty-lines",
		Says:  "Empty lines between messages are ignored",
		Needs: []string{serverCheck(dirtyLine)},
		Judge: func(e *Evidence) Judgement {
			j := judgeDirtyLines(e)
			if j.Verdict == results.Refuted { // other dirty lines than empty ones may be the reason
				j.Verdict = results.Depends
			}
			return j
		},
	},
	{
		ID:    "004-stdout-reserved",
		Says:  "Nothing but messages may be written to standard output",
		Needs: logLines,
		Judge: func(e *Evidence) Judgement {
			var c count
			for _, id := range logLines {
				c.add(strings.Split(id, "/")[2], e.isSound(id))
			}
			if len(c.bad) == 0 {
				return refuted("", "a log line cost nobody a message")
			}
			return holds(c.of("readers lost no message"),
				"a log line cost a message to: "+strings.Join(c.bad, ", "))
		},
	},
}

// judgeDirtyLines judges whether servers still answer after blank lines and lines that are not
// JSON.
func judgeDirtyLines(e *Evidence) Judgement {
	var c count
	for _, s := range e.checked(serverCheck(dirtyLine)) {
		c.add(s.name, s.Verdict == results.OK)
		e.basis.From[s.name+" "+dirtyLine] = s.Verdict
	}
	const failing = "does not answer after lines that are blank, a log line or broken JSON: {}"
	return inAllCases(c, c.of("servers"),
		"each answers the request after blank, log and broken lines", failing, failing)
}

// judgeEndInFlight counts the servers that answer all requests after the end of their input, and
// then exit in time.
func judgeEndInFlight(e *Evidence) Judgement {
	var c count
	var each []string
	for _, s := range e.checked(serverCheck(endInFlight)) {
		answered := s.seen.Answered != nil && *s.seen.Answered == check.InFlight
		c.add(s.name, s.Verdict == results.OK && answered)
		each = append(each, s.name+": "+s.Found)
		e.basis.From[s.name+" "+endInFlight] = s.Found
	}
	text := strings.Join(each, "; ")
	return inAllCases(c, c.of("servers"), text, text, text)
}

// judgeBytewise compares a reader that takes one byte per call with a reader that takes all bytes
// that have come.
func judgeBytewise(e *Evidence) Judgement {
	ratios := e.ratios("time", "stream", "ndjson-bytewise", "ndjson", anySize)
	worst := slices.MaxFunc(ratios, byMedian)
	figure := fmt.Sprintf("%s at %s, n = %d",
		estimateText(worst.Estimate), results.FormatSize(int64(worst.size)), worst.N)
	const dear = 3 // times as long as the other reader
	// If the reader had got a wrong byte, there would be no figure.
	if worst.Above(dear) {
		return depends(figure, "the lines are right, and each byte is a system call: it will do "+
			"where a message is a few bytes long")
	}
	return holds(figure, "the lines are right, and it costs less than three times what reading "+
		"ahead does")
}

// judgePieces judges whether lines that are read in pieces arrive as they were sent.
func judgePieces(e *Evidence) Judgement {
	const right = "however the bytes came, the lines were right"
	return inPart(e.isSound(inPieces) && e.isSound(printed), e.isSound(printedLast),
		e.finding(inPieces).Found, right,
		right+"; but as printed a last line without its newline is dropped",
		"lines were altered")
}

// judgeRescan judges how the time grows with the message size if the reader searches its whole
// buffer after each read.
func judgeRescan(e *Evidence) Judgement {
	const least = 256_000 // in smaller messages, the fixed cost of a message matters
	var sizes, times []float64
	for _, r := range e.plainCells("stream", "ndjson-rescan") {
		if r.Cell.Size >= least {
			sizes = append(sizes, float64(r.Cell.Size))
			times = append(times, stat.MustMetric("time").Estimate(r).Median)
		}
	}
	growth, err := stat.FitGrowth(sizes, times)
	if err != nil {
		return cannotTell(err.Error())
	}
	e.basis.From["growth"] = growth
	const steep = 1.3 // linear time has a slope of 1, or near 1.15 if messages outgrow the caches
	// Either verdict is unsure if the interval of the growth leaves room for the other verdict.
	j := holds(growth.String(), "time grows as the message does")
	j.Unsure = growth.Interval == nil || growth.Interval.Hi > steep
	if growth.Slope > steep {
		j = refuted(growth.String(), "after each read the whole buffer is searched again: time "+
			"grows out of proportion with the message")
		j.Unsure = growth.Interval == nil || growth.Interval.Lo <= 1
	}
	return j
}
