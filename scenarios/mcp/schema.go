package mcp

import (
	"encoding/json"
	"maps"
)

// A Param is an argument of a tool, or a member of an argument that is an object.
type Param struct {
	Name        string
	Description string
	Type        Type
	Optional    bool
}

// A Type is the type of a Param, in the sense of JSON Schema. The zero Type is [Any].
type Type struct{ schema map[string]any }

// Types that have no parts. The type Any fits every value.
var (
	Any     = Type{}
	String  = typeNamed("string")
	Integer = typeNamed("integer")
	Number  = typeNamed("number")
	Boolean = typeNamed("boolean")
)

func typeNamed(name string) Type { return Type{map[string]any{"type": name}} }

// OneOf is the type of a string that must be one of the given texts.
func OneOf(texts ...string) Type {
	return Type{map[string]any{"type": "string", "enum": texts}}
}

// ArrayOf is the type of a list of elements.
func ArrayOf(element Type) Type {
	return Type{map[string]any{"type": "array", "items": element.copySchema()}}
}

// Object is the type of an object with the given members.
func Object(members ...Param) Type {
	properties := map[string]any{}
	required := []string{}
	for _, m := range members {
		property := m.Type.copySchema()
		if m.Description != "" {
			property["description"] = m.Description
		}
		properties[m.Name] = property
		if !m.Optional {
			required = append(required, m.Name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return Type{schema}
}

// Between returns the type of those numbers of type t that lie between least and most, inclusive.
func (t Type) Between(least, most float64) Type {
	bounded := t.copySchema()
	bounded["minimum"] = least
	bounded["maximum"] = most
	return Type{bounded}
}

// copySchema returns a copy of the schema of t. The copy is never nil.
func (t Type) copySchema() map[string]any {
	schema := map[string]any{}
	maps.Copy(schema, t.schema)
	return schema
}

// Schema returns the schema of a tool's arguments.
func Schema(params ...Param) json.RawMessage {
	text, err := json.Marshal(Object(params...).schema)
	// Only a bound such as NaN cannot be marshalled, and that is a mistake of the caller.
	if err != nil {
		panic(err)
	}
	return text
}
