package framers

import (
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
)

// The digits of an id are made eight at a time; each value of each has to be right.
func TestAnIDIsWrittenAsUUID(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 256 * 4 {
		var id [16]byte
		for k := range id {
			id[k] = byte(random.Uint32())
		}
		id[i%16] = byte(i / 4)
		want := uuid.UUID(id).String() + ":7:12:"
		if got := string(appendHeader(nil, &id, 7, 12)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// An id is compared with all of its room, so that nothing of a longer one before may stay in it.
func TestAnIDHasNothingOfTheOneBefore(t *testing.T) {
	var id chunkID
	texts := []string{uuid.NewString(), "a", uuid.NewString(), uuid.NewString() + "-and-more", uuid.NewString(), ""}
	for _, text := range texts {
		id.set([]byte(text))
		var fresh chunkID
		fresh.set([]byte(text))
		if id != fresh || id.String() != text {
			t.Errorf("%q is %q, and not what it is as the first", text, id.String())
		}
	}
}
