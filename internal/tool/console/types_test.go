package console

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/require"
)

var schemaFile = flag.String("schema", "", "write the JSON Schema of the page's types to this file: make console generates web/src/types.ts from it")

// TestPageTypes checks that each type that the page reads has a schema, and writes the schemas to the file of -schema.
func TestPageTypes(t *testing.T) {
	schemas := httpapi.Describe(query.Routes(nil)).OpenAPI().Components.Schemas
	for _, of := range []reflect.Type{
		reflect.TypeFor[heat.Matrix](), reflect.TypeFor[About](), reflect.TypeFor[SignalsAnswer](),
	} {
		schemas.Schema(of, true, "")
	}
	properties := map[string]*huma.Schema{}
	for _, name := range []string{"Matrix", "HotKey", "HotKeysOutputBody", "ShardCount", "CounterValue", "BoardOutputBody", "About", "SignalsAnswer"} {
		if schemas.Map()[name] == nil {
			t.Errorf("no schema is named %s: use the name of a Go type in this list", name)
		}
		properties[name] = &huma.Schema{Ref: "#/definitions/" + name}
	}
	text, err := json.Marshal(map[string]any{
		"title": "Page", "description": "The types that the console reads.", "type": "object", "additionalProperties": false,
		"properties": properties, "definitions": schemas.Map(),
	})
	require.NoError(t, err)
	if *schemaFile != "" {
		require.NoError(t, os.WriteFile(*schemaFile, bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/definitions/")), 0o644))
	}
}
