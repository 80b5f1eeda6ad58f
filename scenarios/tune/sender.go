package tune

import (
	"fmt"
	"strings"
	"time"

	"github.com/pipebench/pipebench/results"
)

// A sender is what a sender does beyond the framing, as a cell's field of that
// name has it. The zero sender does nothing.
type sender struct {
	watermark int           // keep fewer unread bytes than this before a frame is offered
	wait      time.Duration // size frames so that one takes the stream about this long
}

func (s sender) String() string {
	switch {
	case s.watermark > 0:
		return fmt.Sprintf("watermark=%d", s.watermark)
	case s.wait > 0:
		return "wait=" + s.wait.String()
	}
	return ""
}

// parseSender reads what String writes.
func parseSender(text string) (sender, error) {
	if text == "" {
		return sender{}, nil
	}
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "watermark":
		n, err := results.ParseSize(value)
		if err == nil && n > 0 {
			return sender{watermark: int(n)}, nil
		}
	case "wait":
		d, err := time.ParseDuration(value)
		if err == nil && d > 0 {
			return sender{wait: d}, nil
		}
	}
	return sender{}, fmt.Errorf("sender %q: want watermark=BYTES or wait=DURATION", text)
}
