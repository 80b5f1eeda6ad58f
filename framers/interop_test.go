package framers_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pipebench/pipebench/framers"
)

// jsonMessage returns a JSON value of exactly n bytes, n ≥ 2.
func jsonMessage(n int) []byte {
	msg := bytes.Repeat([]byte("x"), n)
	msg[0], msg[n-1] = '"', '"'
	return msg
}

// Each of the package's framings talks to each peer of the same format, in both directions, through
// a pipe.
func TestInteroperability(t *testing.T) {
	sizes := []int{2, 100, 4095, 4096, 4097, 65_535, 65_536, 200_000}
	own := map[string]subject{}
	for _, s := range subjects() {
		if s.name == "framers" {
			own[s.format] = s
		}
	}
	for _, peer := range subjects() {
		ours, ok := own[peer.format]
		if !ok || peer.name == "framers" {
			continue
		}
		for _, pair := range []struct {
			name     string
			from, to subject
		}{{"from " + peer.name, peer, ours}, {"to " + peer.name, ours, peer}} {
			t.Run(peer.format+" "+pair.name, func(t *testing.T) {
				r, w := osPipe(t)
				send, _ := pair.from.open(r, w, 0)
				_, receive := pair.to.open(r, w, 0)
				sent := make(chan error, 1)
				go func() {
					for _, n := range sizes {
						if err := send(jsonMessage(n)); err != nil {
							sent <- fmt.Errorf("send %d bytes: %w", n, err)
							return
						}
					}
					sent <- nil
				}()
				for _, n := range sizes {
					if msg, err := receive(); err != nil || !bytes.Equal(msg, jsonMessage(n)) {
						t.Fatalf("received %d bytes of %d, %v", len(msg), n, err)
					}
				}
				if err := <-sent; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A peer that knows only lines understands the adaptive framing's small messages, and the other way
// round.
func TestAdaptiveTalksToLines(t *testing.T) {
	lines, adaptive := framers.NDJSON(), mustParse(t, "adaptive")
	msgs := [][]byte{jsonMessage(2), jsonMessage(100), jsonMessage(60_000)}
	for _, pair := range [][2]framers.Framing{{lines, adaptive}, {adaptive, lines}} {
		got, _ := decode(pair[1].NewReader(bytes.NewReader(encode(t, pair[0], msgs))))
		wantMessages(t, got, msgs)
	}
}
