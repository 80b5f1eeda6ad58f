package payload

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

var sizes = []int{
	0, 1, 2, 3, 8, 15, 16, 17, 20, 63, 64, 71, 100, 148, 149, 150, 256, 4096, 65521 + 16,
	65522 + 16, 131100, 131101, 131102, 131103,
}

func TestGeneratedMessagesHaveTheSizeAndKindAskedFor(t *testing.T) {
	valid := map[string]func([]byte) bool{
		"json":   func(b []byte) bool { return json.Valid(b) && !bytes.ContainsAny(b, "\n\r") },
		"utf8":   func(b []byte) bool { return utf8.Valid(b) && !bytes.ContainsAny(b, "\n\r") },
		"random": func(b []byte) bool { return true },
	}
	for _, k := range Kinds() {
		for _, size := range sizes {
			src := generate(t, k.Name, size)
			for _, i := range []int64{0, 1, 0xabcdef12} {
				m := src.Message(i)
				if len(m) != size {
					t.Errorf("%s of %d bytes: got %d", k.Name, size, len(m))
				}
				if size > 0 && !valid[k.Name](m) {
					t.Errorf("%s of %d bytes is not valid: %q", k.Name, size, m)
				}
			}
		}
	}
}

func TestLargeMessagesAreJSONRPCRequests(t *testing.T) {
	var m struct{ JSONRPC, ID, Method string }
	if err := json.Unmarshal(generate(t, "json", 256).Message(0x2a), &m); err != nil {
		t.Fatal(err)
	}
	if m.JSONRPC != "2.0" || m.ID != "0000002a" || m.Method != "tools/call" {
		t.Errorf("got %+v", m)
	}
}

func TestTwoSourcesOfOneSeedAgree(t *testing.T) {
	for _, k := range Kinds() {
		for _, size := range sizes {
			a, b := generate(t, k.Name, size), generate(t, k.Name, size)
			for i := range int64(3) {
				if err := b.Check(i, a.Message(i)); err != nil {
					t.Errorf("%s %d: check: %v", k.Name, size, err)
				}
				if err := b.Compare(i, a.Message(i)); err != nil {
					t.Errorf("%s %d: compare: %v", k.Name, size, err)
				}
			}
		}
	}
}

func TestCheckFindsAMessageInAnothersPlace(t *testing.T) {
	src := generate(t, "json", 200)
	got := bytes.Clone(src.Message(4))
	if err := src.Check(5, got); err == nil || !strings.HasPrefix(err.Error(), "message 5, byte") {
		t.Errorf("message 4 passed for message 5: %v", err)
	}
	if err := src.Check(4, got[:199]); err == nil {
		t.Error("a shortened message passed")
	}
	copy(got[src.tail:], "00000005")
	place := fmt.Sprintf("message 4, byte %d:", src.tail)
	if err := src.Check(4, got); err == nil || !strings.HasPrefix(err.Error(), place) {
		t.Errorf("a message whose tail is of another passed, or is misplaced: %v", err)
	}
}

func TestCompareNamesTheFirstAlteredByte(t *testing.T) {
	for _, at := range []int{0, 100, 4095} {
		src := generate(t, "random", 4096)
		got := bytes.Clone(src.Message(9))
		got[at] ^= 1
		place := fmt.Sprintf("message 9, byte %d:", at)
		err := src.Compare(9, got)
		if err == nil || !strings.HasPrefix(err.Error(), place) {
			t.Errorf("byte %d altered: %v", at, err)
		}
	}
}

func TestUnknownKindNamesTheKnown(t *testing.T) {
	_, err := Generate("xml", 10, 1)
	want := `payload "xml" is unknown; known are json, utf8, random`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestDigitsAreThoseOfPrintf(t *testing.T) {
	for _, i := range []int64{0, 1, 9, 10, 15, 16, 0x9a, 0xdeadbeef, 0xffffffff, 1 << 32} {
		var got [8]byte
		binary.BigEndian.PutUint64(got[:], digits(i))
		if want := fmt.Sprintf("%08x", uint32(i)); string(got[:]) != want {
			t.Errorf("%d: got %s, want %s", i, got, want)
		}
	}
}

func TestNumberingAllocatesNothing(t *testing.T) {
	src := generate(t, "json", 256)
	if n := testing.AllocsPerRun(100, func() {
		if err := src.Check(7, src.Message(7)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a message", n)
	}
}

func TestARecordingIsReplayedInOrder(t *testing.T) {
	path := write(t, "{\"a\":1}\n\n  {\"bb\":2}\r\n{\"ccc\":3}")
	rec, err := ReadRecording(path)
	if err != nil {
		t.Fatal(err)
	}
	src := rec.Source()
	for i, want := range []string{`{"a":1}`, `{"bb":2}`, `{"ccc":3}`, `{"a":1}`} {
		if got := string(src.Message(int64(i))); got != want {
			t.Errorf("message %d: got %s, want %s", i, got, want)
		}
	}
	if got := src.Bytes(1, 4); got != 8+9+7+8 {
		t.Errorf("messages 1 to 4 have %d bytes", got)
	}
	if err := src.Check(1, []byte(`{"bb":3}`)); err == nil {
		t.Error("an altered message passed")
	}
}

func TestAnEmptyRecordingIsAnError(t *testing.T) {
	if _, err := ReadRecording(write(t, "\n \n")); err == nil {
		t.Error("no error")
	}
	_, err := ReadRecording(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func generate(t *testing.T, kind string, size int) *Source {
	t.Helper()
	src, err := Generate(kind, size, 1)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "messages.ndjson")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
