package results_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/pipebench/pipebench/results"
	"github.com/pipebench/pipebench/results/resultstest"
)

// The schema is made of the types and their comments. The flag -update writes it anew.
func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	text, err := json.MarshalIndent(generateSchema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	resultstest.Golden(t, filepath.Join("..", "schema.json"), append(text, '\n'))
}

// lineTypes are the types of lines by their kind.
var lineTypes = map[string]reflect.Type{
	results.KindEnvironment: reflect.TypeFor[results.Environment](),
	results.KindMeasurement: reflect.TypeFor[results.Record](),
	results.KindFinding:     reflect.TypeFor[results.Finding](),
	results.KindTarget:      reflect.TypeFor[results.Target](),
	results.KindMessage:     reflect.TypeFor[results.Message](),
}

// partTypes are the types of what stands in lines, by their names in the schema.
var partTypes = map[string]reflect.Type{
	"cell":     reflect.TypeFor[results.Cell](),
	"sample":   reflect.TypeFor[results.Sample](),
	"counters": reflect.TypeFor[results.Counters](),
	"latency":  reflect.TypeFor[results.Latency](),
	"load":     reflect.TypeFor[results.Load](),
	"closed":   reflect.TypeFor[results.Closed](),
	"warmup":   reflect.TypeFor[results.Warmup](),
	"verified": reflect.TypeFor[results.Verified](),
}

func generateSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	g := newGenerator(t)
	whole := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema",
		ID:     "https://github.com/pipebench/pipebench/results/schema.json",
		Title:  "A line of a pipebench results file",
		Description: "Results files are JSON Lines: each line is one of these objects. Sizes are " +
			"bytes, times nanoseconds if a name ends in _ns. A field that is absent was not " +
			"known or not asked for; zero means counted, and none. Readers leave out fields " +
			"that they do not know, but for those of a cell, which would make it another cell.",
		Type:     "object",
		Required: []string{"kind"},
		Defs:     make(map[string]*jsonschema.Schema),
	}
	for name, typ := range partTypes {
		whole.Defs[name] = g.object(typ)
	}
	cell := whole.Defs["cell"]
	cell.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	for _, name := range cell.Required {
		if cell.Properties[name].Type == "string" {
			cell.Properties[name].MinLength = new(1)
		}
	}
	kinds := []string{
		results.KindEnvironment, results.KindMeasurement, results.KindFinding,
		results.KindTarget, results.KindMessage,
	}
	for _, kind := range kinds {
		line := g.object(lineTypes[kind])
		line.Properties["kind"] = &jsonschema.Schema{Const: new(any(kind))}
		line.Properties["run"].MinLength = new(1)
		whole.Defs[kind] = line
		whole.OneOf = append(whole.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + kind})
	}
	restrictLines(whole.Defs)
	return whole
}

// restrictLines says what readers ask of lines beyond the types of their fields.
func restrictLines(defs map[string]*jsonschema.Schema) {
	has := func(field string) *jsonschema.Schema {
		return &jsonschema.Schema{Required: []string{field}}
	}
	defs["measurement"].AnyOf = []*jsonschema.Schema{
		has("samples"), has("unsupported"), has("failed"), has("stopped"),
	}
	defs["measurement"].Not = &jsonschema.Schema{
		Required: []string{"samples", "unsupported"},
	}
	defs["finding"].Properties["id"].MinLength = new(1)
	for _, verdict := range results.Verdicts() {
		field := defs["finding"].Properties["verdict"]
		field.Enum = append(field.Enum, string(verdict))
	}
	defs["message"].Properties["dir"].Enum = []any{"request", "reply"}
}

// A generator makes the schemas of types.
type generator struct {
	t        *testing.T
	comments map[string]string // by "Type.Field", and by "Type"
	refs     map[reflect.Type]*jsonschema.Schema
}

func newGenerator(t *testing.T) *generator {
	t.Helper()
	g := &generator{
		t:        t,
		comments: readComments(t),
		refs: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[results.Evidence]():       {Type: "object"},
			reflect.TypeFor[results.TargetEvidence](): {Type: "object"},
			reflect.TypeFor[json.RawMessage]():        {},
			reflect.TypeFor[[]byte]():                 {Type: "string", ContentEncoding: "base64"},
		},
	}
	for name, typ := range partTypes {
		ref := &jsonschema.Schema{Ref: "#/$defs/" + name}
		g.refs[typ] = ref
		g.refs[reflect.PointerTo(typ)] = ref
	}
	return g
}

// object returns the schema of a struct, with its comments.
func (g *generator) object(typ reflect.Type) *jsonschema.Schema {
	g.t.Helper()
	others := make(map[reflect.Type]*jsonschema.Schema)
	for other, ref := range g.refs {
		if other != typ {
			others[other] = ref
		}
	}
	s, err := jsonschema.ForType(typ, &jsonschema.ForOptions{TypeSchemas: others})
	if err != nil {
		g.t.Fatal(err)
	}
	s.AdditionalProperties = nil
	s.Description = g.comments[typ.Name()]
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := s.Properties[name]
		restrict(property)
		property.Description = g.comments[typ.Name()+"."+field.Name]
	}
	return s
}

// restrict takes null from what may be there: a field of no value is absent. No count, size or time
// is negative.
func restrict(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for _, name := range s.Types {
		if name != "null" {
			s.Type = name // "" beside a reference
		}
	}
	s.Types = nil
	if s.Type == "integer" || s.Type == "number" {
		s.Minimum = new(0.0)
	}
	restrict(s.Items)
}

// readComments returns what the sources say of types and their fields.
func readComments(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := make(map[string]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			types, ok := decl.(*ast.GenDecl)
			if !ok || types.Tok != token.TYPE {
				continue
			}
			for _, spec := range types.Specs {
				addComments(comments, types.Doc.Text(), spec.(*ast.TypeSpec))
			}
		}
	}
	return comments
}

func addComments(comments map[string]string, doc string, spec *ast.TypeSpec) {
	plain := strings.NewReplacer("\n", " ", "[", "", "]", "")
	comments[spec.Name.Name] = plain.Replace(strings.TrimSpace(doc))
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range fields.Fields.List {
		text := strings.TrimSpace(field.Doc.Text() + field.Comment.Text())
		for _, name := range field.Names {
			comments[spec.Name.Name+"."+name.Name] = plain.Replace(text)
		}
	}
}

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
		if v.Type() == reflect.TypeFor[[]byte]() {
			v.SetBytes([]byte{0xff})
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
		v.SetString("text")
		if v.Type() == reflect.TypeFor[results.Evidence]() {
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

func fullLine[L results.Line](rng *rand.Rand) L {
	var l L
	full(reflect.ValueOf(&l).Elem(), rng)
	return l
}

// Every line that is written is valid, and is read again.
func TestEveryLineWrittenIsValid(t *testing.T) {
	schema := fileSchema(t)
	rng := rand.New(rand.NewPCG(81, 82))
	cell := resultstest.Cell("raw", 0)
	for range 100 {
		message := fullLine[results.Message](rng)
		message.Dir = "reply"
		finding := fullLine[results.Finding](rng)
		finding.Verdict = results.Depends
		record := fullLine[results.Record](rng)
		if rng.IntN(2) == 0 {
			record.Unsupported = "no"
			record.Samples = nil
		} else {
			record.Unsupported = ""
			record.Stopped = "samples"
		}
		for _, l := range []results.Line{
			fullLine[results.Environment](rng), record, finding, fullLine[results.Target](rng),
			message,
			results.Environment{Run: "r"},
			results.Record{Run: "r", Cell: cell, Stopped: "interrupted"},
			results.Finding{Run: "r", ID: "rule/slot", Verdict: results.Noted},
			results.Target{Run: "r"},
			results.Message{Run: "r", Dir: "request"},
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
	env, rec, finding, target, message := all[0], all[1], all[2], all[3], all[4]
	unexplained := results.Record{Run: "r", Cell: resultstest.Cell("raw", 1), Stopped: "no"}
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
		{"neither samples nor why there are none", replace(unexplained, `,"stopped":"no"`, ``)},
		{"samples of what is unsupported",
			replace(rec, `"stopped":"samples"`, `"unsupported":"no"`)},
		{"a negative limit", replace(target, `65535`, `-1`)},
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
