package claims

import (
	"context"
	"testing"
	"time"

	"github.com/pipebench/pipebench/results"
)

func TestLook(t *testing.T) {
	began := time.Now()
	last := began
	err := Run(context.Background(), Options{Run: "r"}, func(l results.Line) error {
		if c, ok := l.(results.Claim); ok {
			t.Logf("%5.1fs %s: %s\n   %s\n   %s", time.Since(last).Seconds(), c.ID, c.Verdict, c.Figure, c.Why)
			last = time.Now()
		}
		return nil
	})
	t.Log(time.Since(began), err)
}
