package faults

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestLook(t *testing.T) {
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			err := s.Run(context.Background(), Options{Run: "r"}, func(l results.Line) error {
				if f, ok := l.(results.Fault); ok {
					delete(f.Evidence, "curve")
					text, _ := json.Marshal(f.Evidence)
					t.Logf("%s: %s\n   %s", f.ID, f.Verdict, text[:min(len(text), 600)])
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
