package results_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pipebench/pipebench/results"
)

func TestEachFieldOfACellIsDescribed(t *testing.T) {
	var inType []string
	cell := reflect.TypeFor[results.Cell]()
	for i := range cell.NumField() {
		name, _, _ := strings.Cut(cell.Field(i).Tag.Get("json"), ",")
		inType = append(inType, name)
	}
	slices.Sort(inType)
	if names := results.CellFieldNames(); !slices.Equal(names, inType) {
		t.Errorf("described %v\nin the type %v", names, inType)
	}
	for _, f := range results.Fields() {
		if f.Help == "" {
			t.Errorf("%s has no help", f.Name)
		}
	}
}

// What a person types, as it then stands in the file and as a person reads it.
func TestFieldsAreSetAndShown(t *testing.T) {
	for _, row := range []struct{ name, typed, text, shown string }{
		{"write_size", "8KiB", "8192", "8 KiB"},
		{"frame_wait", "5000us", "5ms", "5ms"},
		{"frame_wait", "0", "", "-"},
		{"capacity", "1MiB", "1048576", "1 MiB"},
		{"capacity", "0", "0", "default"},
		{"size", "0", "0", "0 B"},
		{"work", "0.25", "0.25", "0.25"},
		{"rate", "2e6", "2000000", "2000000"},
		{"payload_offset", "0", "0", "0"},
		{"read_offset", "4095", "4095", "4095"},
		{"source", "fresh", "fresh", "fresh"},
		{"source", "hot", "", "-"},
		{"touch", "true", "true", "true"},
		{"touch", "false", "", "-"},
		{"drain", "200MB/s", "200000000", "200 MB/s"},
		{"drain", "20MB", "20000000", "20 MB/s"},
		{"closes_after", "3", "3", "3"},
		{"batch", "0", "", "-"},
		{"framing", "ndjson", "ndjson", "ndjson"},
	} {
		f, known := results.FieldByName(row.name)
		if !known {
			t.Fatalf("there is no field %s", row.name)
		}
		var c results.Cell
		if err := f.Set(&c, row.typed); err != nil {
			t.Errorf("%s=%s: %v", row.name, row.typed, err)
		}
		if text := f.Text(c); text != row.text || f.Show(text) != row.shown {
			t.Errorf("%s=%s: %q in the file, shown as %q", row.name, row.typed, text, f.Show(text))
		}
	}
}

func TestFieldsRefuseWhatTheyCannotBe(t *testing.T) {
	for _, typed := range []string{
		"frame_wait=-1s", "frame_wait=5", "write_size=-1", "write_size=2GiB", "work=NaN", "work=-1",
		"rate=Inf", "rate=-1",
		"payload_offset=4096", "payload_offset=-1", "read_offset=07", "source=cold", "touch=maybe",
		"drain=fast", "drain=-1", "drain=NaN", "closes_after=-1", "closes_after=1e3",
		"inflight=99999999", "size=1.5",
	} {
		name, value, _ := strings.Cut(typed, "=")
		f, _ := results.FieldByName(name)
		var c results.Cell
		if err := f.Set(&c, value); err == nil {
			t.Errorf("%s is taken for %+v", typed, c)
		}
	}
}

// Cells are ordered by the numbers of their fields, not by how these are written.
func TestFieldsCompareByNumber(t *testing.T) {
	f, _ := results.FieldByName("write_size")
	if f.Compare(results.Cell{WriteSize: 8 << 10}, results.Cell{WriteSize: 16 << 10}) >= 0 {
		t.Error("8 KiB comes after 16 KiB")
	}
	f, _ = results.FieldByName("framing")
	if f.Compare(results.Cell{Framing: "ndjson"}, results.Cell{Framing: "raw"}) >= 0 {
		t.Error("ndjson comes after raw")
	}
}
