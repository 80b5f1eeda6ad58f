package mcpstdio

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Param is an argument of a tool, or a member of an object.
type Param struct {
	Name        string
	Description string
	Type        Type
	Optional    bool
}

// A Type is what the value of a Param may be. The zero Type is Any.
type Type struct{ schema func() *jsonschema.Schema }

func typeNamed(name string) Type {
	return Type{func() *jsonschema.Schema { return &jsonschema.Schema{Type: name} }}
}

// Any takes every value. Its schema is {}.
func Any() Type { return Type{} }

// String takes text.
func String() Type { return typeNamed("string") }

// Integer takes whole numbers.
func Integer() Type { return typeNamed("integer") }

// Number takes numbers.
func Number() Type { return typeNamed("number") }

// Boolean takes true and false.
func Boolean() Type { return typeNamed("boolean") }

// Array takes lists of elements of one type.
func Array(elem Type) Type {
	return Type{func() *jsonschema.Schema { return &jsonschema.Schema{Type: "array", Items: elem.Schema()} }}
}

// Object takes objects with these members.
func Object(members ...Param) Type {
	return Type{func() *jsonschema.Schema { return object(members) }}
}

// OneOf takes one of some texts.
func OneOf(texts ...string) Type {
	return Type{func() *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "string", Enum: []any{}}
		for _, t := range texts {
			s.Enum = append(s.Enum, t)
		}
		return s
	}}
}

// Between is t, a number, with bounds that it may reach.
func (t Type) Between(low, high float64) Type {
	return Type{func() *jsonschema.Schema {
		s := t.Schema()
		s.Minimum, s.Maximum = &low, &high
		return s
	}}
}

// Schema returns the JSON Schema of t.
func (t Type) Schema() *jsonschema.Schema {
	if t.schema == nil {
		return &jsonschema.Schema{}
	}
	return t.schema()
}

// object returns the schema of an object with these members.
func object(members []Param) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: make(map[string]*jsonschema.Schema)}
	for _, p := range members {
		prop := p.Type.Schema()
		prop.Description = p.Description
		s.Properties[p.Name] = prop
		s.PropertyOrder = append(s.PropertyOrder, p.Name)
		if !p.Optional {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

// schemaText returns the text of s with {} where the library writes true, which means the same: clients were seen to take schemas
// for objects always.
func schemaText(s *jsonschema.Schema) (json.RawMessage, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if string(text) == "true" {
		return json.RawMessage("{}"), nil
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	openSchemas(tree)
	return json.Marshal(tree)
}

// openSchemas turns the schema true into {}, in the places where this package's types have schemas.
func openSchemas(schema map[string]any) {
	if items, ok := schema["items"]; ok {
		schema["items"] = open(items)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, s := range properties {
		properties[name] = open(s)
	}
}

func open(schema any) any {
	if tree, ok := schema.(map[string]any); ok {
		openSchemas(tree)
		return tree
	}
	return map[string]any{}
}
