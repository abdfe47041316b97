// Package infra is the CDK app: hotshard as a CloudFormation stack with tables, functions, API, event source mappings,
// schedules and alarms. The CDK's command line starts it as cmd/synth with the settings of cdk.json and -c.
// Tests make it the same way:
//
//	app, err := infra.New(map[string]any{"prefix": "demo-"}, "../dist", "cdk.out")
//	app.Synth(nil)
//
// The tables' schemas come from internal/base/schema, and the API's routes from the functions' routes. The functions'
// environment comes from their settings, and their roles from the interfaces of their clients (grants.go).
//
// Each component has a Go function that makes it from the stack, the settings and other components. All constructs are
// direct children of the stack, which determines CloudFormation's ids.
package infra

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

//go:embed cdk.json
var cdkJSON []byte

// New returns the app with its only stack. overrides is context that overrides the context of cdk.json; the context of
// the command line overrides both. dist is the folder of the built functions. out is the output folder; if it is "",
// the command line chooses the folder. The error lists all invalid settings.
func New(overrides map[string]any, dist, out string) (awscdk.App, error) {
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(cdkJSON, &file); err != nil {
		return nil, fmt.Errorf("reading cdk.json: %w", err)
	}
	maps.Copy(file.Context, overrides)
	props := &awscdk.AppProps{Context: &file.Context, AnalyticsReporting: jsii.Bool(false)}
	if out != "" {
		props.Outdir = &out
	}
	app := awscdk.NewApp(props)
	context, ok := app.Node().GetAllContext(nil).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the CDK's context is a %T instead of an object", app.Node().GetAllContext(nil))
	}
	c, err := config.Parse(context)
	if err != nil {
		return nil, err
	}
	addStack(app, c, dist)
	return app, nil
}
