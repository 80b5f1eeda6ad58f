package results_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

func fileSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(results.FileSchema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func valid(s *jsonschema.Resolved, line []byte) error {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	return s.Validate(v)
}

// full fills every field of a type with something that may stand there, each of the optional ones
// by the toss of a coin.
func full(v reflect.Value, rng *rand.Rand) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeOf(resultstest.Time) {
			v.Set(reflect.ValueOf(resultstest.Time))
			return
		}
		for i := range v.NumField() {
			if strings.Contains(v.Type().Field(i).Tag.Get("json"), "omit") && rng.IntN(2) == 0 {
				continue
			}
			full(v.Field(i), rng)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(v.Elem(), rng)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`"id"`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1+rng.IntN(2), 3))
		for i := range v.Len() {
			full(v.Index(i), rng)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		full(key, rng)
		full(value, rng)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Interface:
		v.Set(reflect.ValueOf("text"))
	case reflect.String:
		if v.SetString("text"); v.Type() == reflect.TypeFor[results.Evidence]() {
			v.SetString(`{"name":"text"}`)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(rng.Float64() * 1e6)
	default:
		v.SetInt(rng.Int64N(1 << min(40, v.Type().Bits()-1)))
	}
}

func fullLine[L results.Line](rng *rand.Rand) results.Line {
	var l L
	full(reflect.ValueOf(&l).Elem(), rng)
	return l
}

func TestEveryLineWrittenIsValid(t *testing.T) {
	schema := fileSchema(t)
	rng := rand.New(rand.NewPCG(81, 82))
	for range 100 {
		claim := fullLine[results.Claim](rng).(results.Claim)
		claim.Seed, claim.Verdict = "003", "refuted"
		message := fullLine[results.Message](rng).(results.Message)
		message.Dir = "reply"
		check := fullLine[results.Check](rng).(results.Check)
		check.Side, check.Verdict = "server", "cannot-tell"
		finding := fullLine[results.Finding](rng).(results.Finding)
		finding.Verdict = results.Depends
		record := fullLine[results.Record](rng).(results.Record)
		if rng.IntN(2) == 0 {
			record.Unsupported, record.Samples = "no", nil
		} else {
			record.Unsupported, record.Stopped = "", "samples"
		}
		for _, l := range []results.Line{
			fullLine[results.Environment](rng), record, fullLine[results.Probe](rng), fullLine[results.Fault](rng), claim, check,
			finding, results.Finding{Run: "r", ID: "rule/slot", Verdict: results.Noted},
			fullLine[results.Target](rng), fullLine[results.Tune](rng), fullLine[results.Noise](rng), message,
			results.Environment{Run: "r"}, results.Probe{Run: "r"}, results.Fault{Run: "r"}, results.Target{Run: "r"}, results.Noise{Run: "r", Cell: resultstest.Cell("raw", 0)},
			results.Tune{Run: "r", Cell: resultstest.Cell("raw", 0)}, results.Message{Run: "r", Dir: "request"},
			results.Record{Run: "r", Cell: resultstest.Cell("raw", 0), Stopped: "interrupted"},
		} {
			text := resultstest.Encoded(t, l)
			if err := valid(schema, []byte(text)); err != nil {
				t.Fatalf("%s is not valid: %v", text, err)
			}
			if _, err := results.Decode([]byte(text)); err != nil {
				t.Fatalf("%s is not read: %v", text, err)
			}
		}
	}
}

// What the schema refuses, readers skip.
func TestWrongLinesAreNotValid(t *testing.T) {
	schema := fileSchema(t)
	replace := func(l results.Line, from, to string) string {
		text := resultstest.Encoded(t, l)
		if !strings.Contains(text, from) {
			t.Fatalf("no %s in %s", from, text)
		}
		return strings.Replace(text, from, to, 1)
	}
	all := resultstest.Lines()
	env, rec, claim, target, check, message := all[0], all[1], all[4], all[5], all[6], all[9]
	finding := all[10]
	for _, tt := range []struct{ name, line string }{
		{"no object", `[]`},
		{"no kind", `{}`},
		{"unknown kind", `{"kind":"dream"}`},
		{"kind of the wrong case", replace(env, `"environment"`, `"Environment"`)},
		{"schema that is a word", replace(env, `"schema":1`, `"schema":"one"`)},
		{"time that is a number", replace(env, `"time":"2026-11-21T08:00:00Z"`, `"time":1`)},
		{"a cell without a framing", replace(rec, `"framing":"ndjson"`, `"framing":""`)},
		{"a cell with a field nobody knows", replace(rec, `"size":256`, `"size":256,"zeal":1`)},
		{"a size that is a word", replace(rec, `"size":256`, `"size":"256"`)},
		{"half a byte", replace(rec, `"size":256`, `"size":256.5`)},
		{"a negative size", replace(rec, `"size":256`, `"size":-1`)},
		{"a negative time", replace(rec, `"elapsed_ns":100000`, `"elapsed_ns":-1`)},
		{"a negative counter", replace(rec, `"calls":1000`, `"calls":-1000`)},
		{"neither samples nor why there are none", `{"kind":"measurement","run":"r","time":"2026-11-21T08:00:00Z","cell":` + encodedCell(t) + `}`},
		{"samples of what is unsupported", replace(rec, `"stopped":"samples"`, `"unsupported":"no"`)},
		{"a verdict that there is not", replace(claim, `"depends"`, `"maybe"`)},
		{"a seed that there is not", replace(claim, `"000"`, `"0"`)},
		{"a negative limit", replace(target, `65535`, `-1`)},
		{"a side that there is not", replace(check, `"program"`, `"inside"`)},
		{"a verdict of no check", replace(check, `"fails"`, `"holds"`)},
		{"a verdict of no finding", replace(finding, `"fails"`, `"maybe"`)},
		{"a finding without a name", replace(finding, `"check/server/ids"`, `""`)},
		{"a direction that there is not", replace(message, `"request"`, `"up"`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if valid(schema, []byte(tt.line)) == nil {
				t.Errorf("valid: %s", tt.line)
			}
			if _, err := results.Decode([]byte(tt.line)); err == nil {
				t.Errorf("read: %s", tt.line)
			}
		})
	}
}

func encodedCell(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(resultstest.Cell("raw", 1))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The schema and the types must have the same fields, and ask for the same.
func TestSchemaMatchesTheTypes(t *testing.T) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(results.FileSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for name, typ := range map[string]reflect.Type{
		"cell": reflect.TypeFor[results.Cell](), "environment": reflect.TypeFor[results.Environment](), "measurement": reflect.TypeFor[results.Record](),
		"verified": reflect.TypeFor[results.Verified](), "sample": reflect.TypeFor[results.Sample](), "warmup": reflect.TypeFor[results.Warmup](),
		"counters": reflect.TypeFor[results.Counters](), "load": reflect.TypeFor[results.Load](), "left": reflect.TypeFor[results.Left](), "latency": reflect.TypeFor[results.Latency](),
		"finding": reflect.TypeFor[results.Finding](),
		"probe":   reflect.TypeFor[results.Probe](), "fault": reflect.TypeFor[results.Fault](), "claim": reflect.TypeFor[results.Claim](),
		"target": reflect.TypeFor[results.Target](), "check": reflect.TypeFor[results.Check](), "tune": reflect.TypeFor[results.Tune](), "noise": reflect.TypeFor[results.Noise](), "message": reflect.TypeFor[results.Message](),
	} {
		def := schema.Defs[name]
		if def == nil {
			t.Errorf("%s is not in the schema", name)
			continue
		}
		var required []string
		for i := range typ.NumField() {
			field, option, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if def.Properties[field] == nil {
				t.Errorf("%s.%s is not in the schema", name, field)
			}
			if option == "" {
				required = append(required, field)
			}
		}
		if typ.NumField() != len(def.Properties) {
			t.Errorf("%s has %d fields, %d in the schema", name, typ.NumField(), len(def.Properties))
		}
		slices.Sort(required)
		if got := slices.Sorted(slices.Values(def.Required)); !slices.Equal(got, required) {
			t.Errorf("%s: the schema asks for %v, the type for %v", name, got, required)
		}
	}
}
