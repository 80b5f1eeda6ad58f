package payload

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tapped is what tap writes: sizes alone for the first messages, a body for the last but one, and
// the end torn.
const tapped = `{"kind":"environment","schema":1,"run":"r","os":"linux"}
{"kind":"message","run":"r","dir":"request","t_ns":1,"size":60,"method":"initialize","id":1}
{"kind":"message","run":"r","dir":"reply","t_ns":2,"size":5000,"id":1,"cuts":[4096,904],"cut_ns":[0,7]}

{"kind":"finding","run":"r","time":"2026-01-02T03:04:05Z","id":"machine/load","verdict":"noted"}
{"kind":"message","run":"r","dir":"request","t_ns":3,"size":21,"method":"ping","id":"a","body":"{\"jsonrpc\":\"2.0\",\"kind\":\"é\"}"}
{"kind":"message","run":"r","dir":"reply","t_n`

func TestMessagesOfATapAreRead(t *testing.T) {
	got, err := ReadMessages(write(t, tapped))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","kind":"é"}`
	want := []Message{
		{Dir: "request", Method: "initialize", ID: json.RawMessage("1"), Size: 60, At: 1},
		{Dir: "reply", ID: json.RawMessage("1"), Size: 5000, At: 2},
		{
			Dir: "request", Method: "ping", ID: json.RawMessage(`"a"`), Size: len(body),
			Body: []byte(body), At: 3,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A body that JSON cannot hold is sent again with the bytes that it had.
func TestABodyThatIsNoTextKeepsItsBytes(t *testing.T) {
	const line = `{"kind":"message","run":"r","dir":"request","t_ns":1,"size":3,` +
		`"body":"\"\ufffd\"","body_base64":"Iv8i"}` + "\n"
	got, err := ReadMessages(write(t, line))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || string(got[0].Body) != "\"\xff\"" || got[0].Size != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestARecordingOfATapIsReplayedInItsSizes(t *testing.T) {
	rec, err := ReadRecording(write(t, tapped))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, m := range rec.Messages {
		sizes = append(sizes, len(m))
		if !json.Valid(m) {
			t.Errorf("not JSON: %.80s", m)
		}
	}
	if want := fmt.Sprint([]int{60, 5000, 29}); fmt.Sprint(sizes) != want {
		t.Errorf("sizes %v, want %s", sizes, want)
	}
	again, err := ReadRecording(write(t, tapped))
	if err != nil || again.Hash != rec.Hash {
		t.Errorf("read again, it is another: %v", err)
	}
}

func TestPlainLinesStayWhatTheyAre(t *testing.T) {
	for _, row := range []struct{ name, text string }{
		{"no JSON", "hello\nworld\n"},
		{"JSON with a kind", `{"kind":"message","text":"x"}` + "\n" + `{"kind":"begin"}`},
		{"a broken line", "{\"a\":1}\n{\"b\":"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := ReadMessages(write(t, row.text))
			if err != nil {
				t.Fatal(err)
			}
			var text []string
			for _, m := range got {
				text = append(text, string(m.Body))
				if m.Dir != "" || m.Size != len(m.Body) {
					t.Errorf("%+v", m)
				}
			}
			if want := strings.TrimSpace(row.text); strings.Join(text, "\n") != want {
				t.Errorf("got %q, want %q", text, want)
			}
		})
	}
}

func TestRecordingsThatCannotBeReplayed(t *testing.T) {
	for _, row := range []struct{ name, text, says string }{
		{
			"records, and no message among them", `{"kind":"environment","schema":1,"run":"r"}`,
			"holds no message",
		},
		{
			"a message of an absurd size",
			`{"kind":"message","run":"r","dir":"reply","size":9000000000000}`, "send a part of it",
		},
		{
			"messages without a size", `{"kind":"message","run":"r","dir":"reply","size":-4}`,
			"holds no message",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := ReadMessages(write(t, row.text))
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %v, want %q", err, row.says)
			}
		})
	}
}

// A device whose lines have no end is refused before it fills the memory.
func TestALineWithoutAnEndIsAnError(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("needs /dev/zero")
	}
	_, err := ReadMessages("/dev/zero")
	if err == nil || !strings.Contains(err.Error(), "a line of more than") {
		t.Errorf("got %v", err)
	}
}
