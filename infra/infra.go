// Package infra is the CDK app. The CDK's command line starts it as cmd/synth, with
// what cdk.json and -c give; tests make it as that does:
//
//	app, err := infra.New(map[string]any{"prefix": "demo-"}, "../dist", "cdk.out")
//	app.Synth(nil)
package infra

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/stack"
)

//go:embed cdk.json
var cdkJSON []byte

// New makes the app with its one stack. More is context beside that of cdk.json; the
// command line's comes of itself. Dist is the folder of the built functions, out that
// of the result, "" for what the command line asks for.
func New(more map[string]any, dist, out string) (awscdk.App, error) {
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(cdkJSON, &file); err != nil {
		return nil, fmt.Errorf("reading cdk.json: %w", err)
	}
	maps.Copy(file.Context, more)
	props := &awscdk.AppProps{Context: &file.Context, AnalyticsReporting: jsii.Bool(false)}
	if out != "" {
		props.Outdir = &out
	}
	app := awscdk.NewApp(props)
	context, ok := app.Node().GetAllContext(nil).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the context is a %T", app.Node().GetAllContext(nil))
	}
	c, err := config.Parse(context)
	if err != nil {
		return nil, err
	}
	stack.New(app, c, dist)
	return app, nil
}
