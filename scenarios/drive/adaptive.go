package drive

import (
	"bytes"
	"context"

	"github.com/pipebench/pipebench/framers"
)

// A server in the adaptive framing answers in bare lines as long as they fit, as one of ndjson
// does. The first chunk that it sends tells them apart, which may come with any answer.

// longestHeader is within how many bytes the header of a chunk ends.
const longestHeader = 200

// isChunk reports whether a line reads as the first of several chunks of a message.
func isChunk(line []byte) bool {
	start := line[:min(len(line), longestHeader)]
	if !bytes.Contains(start, []byte(":0:")) {
		return false
	}
	found := false
	heed := framers.WithProgress(func(c framers.Chunk) {
		found = c.ID != nil && c.Index == 0 && c.Total > 1
	})
	chunks, err := framers.Chunked(0)
	if err != nil {
		return false
	}
	text := append(bytes.Clone(start), '\n')
	_, err = chunks.NewReader(bytes.NewReader(text), heed).ReadMessage()
	return found && err != nil // the message is not whole
}

// adaptive returns the framing of a server that was taken for one of ndjson and has sent a chunk,
// with chunks as long as its own; nil where it has not, or the framing is not ours to choose.
func (c *conn) adaptive(o Options) framers.Framing {
	size := c.strays.chunkSize()
	if size == 0 || o.Framing != "" || c.framing.String() != "ndjson" {
		return nil
	}
	f, err := framers.Adaptive(size)
	if err != nil {
		return nil
	}
	return f
}

// retryInChunks makes a round trip that failed once more, if the server seems to have answered in
// chunks. It reports false, and leaves the framing as it was, if that fails, too. The server has
// been ended then, or before.
func (d *Driver) retryInChunks(
	ctx context.Context, c *conn, t *requestTemplate, i int64,
) (out outcome, works bool) {
	f := c.adaptive(d.o)
	if f == nil {
		return out, false
	}
	d.discard(c)
	was := d.protocol
	inChunks := *was
	inChunks.wire = f
	d.protocol = &inChunks
	out, err := d.roundTrip(ctx, t, i)
	if err == nil && (out.verdict == OK || out.verdict == ErrorReply) {
		return out, true
	}
	d.protocol = was
	if c := d.running(); c != nil {
		d.discard(c)
	}
	return out, false
}
