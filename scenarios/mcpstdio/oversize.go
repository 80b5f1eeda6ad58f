package mcpstdio

import (
	"fmt"
	"strconv"

	"github.com/pipebench/pipebench/framers"
	"github.com/pipebench/pipebench/scenarios/jsonrpc"
)

// sendOversizeError answers a message beyond the limit, so that its sender does not wait forever: to its id, if that stands in the
// first KiB.
func (s *Server) sendOversizeError(e *framers.TooLargeError) {
	s.log.Error(fmt.Sprintf("Request exceeded size limit: %sMB", megabytes(e.Size)), "bytes", e.Size, "limit", e.Limit)
	if id, ok := jsonrpc.FindID(e.Head); ok {
		s.sendError(id, jsonrpc.CodeInvalidRequest, "Request too large")
		return
	}
	s.sendError("", jsonrpc.CodeParse, fmt.Sprintf("Request exceeds %s limit", limitText(e.Limit)))
}

// megabytes is n in units of 2^20 bytes, to two digits.
func megabytes(n int64) string {
	return strconv.FormatFloat(float64(n*100>>20)/100, 'f', -1, 64)
}

// limitText is n in the largest unit that divides it. Units are powers of 1024 throughout.
func limitText(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KB"
	}
	return strconv.FormatInt(n, 10) + " byte"
}
