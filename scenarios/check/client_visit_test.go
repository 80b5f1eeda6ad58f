package check

import (
	"testing"

	"github.com/pipebench/pipebench/results"
)

// A notification asks for nothing, so it is no request.
func TestNotificationsAreNoRequests(t *testing.T) {
	v := &visit{}
	for _, method := range []string{
		"initialize", "notifications/initialized", "notifications/progress", "tools/call",
		"notifications/progress", "notifications/cancelled", "tools/call",
	} {
		v.messages = append(v.messages, results.Message{Dir: "request", Method: method})
	}
	v.count()
	if v.asked != 2 || v.cancelled != 1 {
		t.Errorf("%d requests, %d cancelled", v.asked, v.cancelled)
	}
}
