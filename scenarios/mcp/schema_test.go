package mcp_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipebench/pipebench/scenarios/mcp"
)

// Seed 004, "ToolParameter.ParameterType → JSON Schema", row by row, as a client is told.
func TestEachTypeOfAParamHasItsSchema(t *testing.T) {
	member := mcp.Object(
		mcp.Param{Name: "a", Type: mcp.String},
		mcp.Param{Name: "b", Type: mcp.Any, Optional: true},
		mcp.Param{Name: "c", Description: "inner", Type: mcp.Object(mcp.Param{Name: "d", Type: mcp.Boolean})},
	)
	for _, row := range []struct {
		name   string
		of     mcp.Type
		schema string
	}{
		{"string", mcp.String, `{"type":"string"}`},
		{"int", mcp.Integer, `{"type":"integer"}`},
		{"double", mcp.Number, `{"type":"number"}`},
		{"bool", mcp.Boolean, `{"type":"boolean"}`},
		{"array", mcp.ArrayOf(mcp.Integer), `{"type":"array","items":{"type":"integer"}}`},
		{"array of arrays", mcp.ArrayOf(mcp.ArrayOf(mcp.String)),
			`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`},
		{"array of any", mcp.ArrayOf(mcp.Any), `{"type":"array","items":{}}`},
		{"object", member, `{"type":"object","properties":{"a":{"type":"string"},"b":{},
			"c":{"type":"object","description":"inner","properties":{"d":{"type":"boolean"}},"required":["d"]}},
			"required":["a","c"]}`},
		{"one of", mcp.OneOf("x", "y"), `{"type":"string","enum":["x","y"]}`},
		{"any", mcp.Any, `{}`},
		{"bounds", mcp.Integer.Between(0, 9), `{"type":"integer","minimum":0,"maximum":9}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			schema := mcp.Schema(
				mcp.Param{Name: "p", Type: row.of, Optional: true},
				mcp.Param{Name: "told", Description: "what it is", Type: row.of},
			)
			var want map[string]any
			if err := json.Unmarshal([]byte(row.schema), &want); err != nil {
				t.Fatal(err)
			}
			told := map[string]any{"description": "what it is"}
			for key, value := range want {
				told[key] = value
			}
			got := listed(t, schema)
			if diff := cmp.Diff(map[string]any{"p": want, "told": told}, got.Properties); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"told"}, got.Required); diff != "" || got.Type != "object" {
				t.Errorf("type %q, required: %s", got.Type, diff)
			}
		})
	}
}

type listedSchema struct {
	Type       string
	Properties map[string]any
	Required   []string
}

// listed returns the schema of a tool as a client is told it.
func listed(t *testing.T, schema json.RawMessage) listedSchema {
	t.Helper()
	tool := mcp.NewTool("t", "does", schema, func(context.Context, struct{}) (string, error) { return "", nil })
	r := serve(t, mcp.Options{Tools: []mcp.Tool{tool}})
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var a struct {
		Result struct {
			Tools []struct{ InputSchema listedSchema }
		}
	}
	if err := json.Unmarshal([]byte(r.recv()), &a); err != nil {
		t.Fatal(err)
	}
	return a.Result.Tools[0].InputSchema
}

// An argument that is any value may be every value.
func TestAnyFitsEverything(t *testing.T) {
	schema := mcp.Schema(mcp.Param{Name: "p", Type: mcp.Any})
	tool := mcp.NewTool("t", "does", schema, func(context.Context, struct{}) (string, error) { return "ok", nil })
	r := serve(t, mcp.Options{Tools: []mcp.Tool{tool}})
	for _, value := range []string{`1`, `"x"`, `null`, `[{}]`, `{"a":1}`} {
		r.send(call("1", "t", `{"p":`+value+`}`))
		r.want(result("1", "ok"))
	}
}
