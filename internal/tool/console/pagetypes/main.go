// Command pagetypes writes the JSON Schema of the types that the console reads. make console generates
// web/src/types.ts from it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/tool/console"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	schemas := httpapi.Describe(query.Routes(nil)).OpenAPI().Components.Schemas
	for _, t := range []reflect.Type{
		reflect.TypeFor[heat.Matrix](), reflect.TypeFor[console.About](), reflect.TypeFor[console.Reader](),
		reflect.TypeFor[console.SignalsAnswer](),
	} {
		schemas.Schema(t, true, "")
	}
	properties := map[string]*huma.Schema{}
	for _, name := range []string{"Matrix", "HotKey", "HotKeysOutputBody", "ShardCount", "CounterValue", "BoardOutputBody", "About", "Reader", "SignalsAnswer"} {
		if schemas.Map()[name] == nil {
			return fmt.Errorf("no schema is named %s: use the name of a Go type in this list", name)
		}
		properties[name] = &huma.Schema{Ref: "#/definitions/" + name}
	}
	text, err := json.Marshal(map[string]any{
		"title": "Page", "description": "The types that the console reads.", "type": "object", "additionalProperties": false,
		"properties": properties, "definitions": schemas.Map(),
	})
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(strings.ReplaceAll(string(text), "#/components/schemas/", "#/definitions/"))
	return err
}
