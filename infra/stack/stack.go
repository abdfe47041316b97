// Package stack is hotshard as a CloudFormation stack: tables, functions, API, event source mappings, schedules, alarms
// and a dashboard.
//
//	c, err := config.Parse(context)
//	stack.New(app, c, "../dist") // dist/<function>/bootstrap, as make functions builds them
//
// The tables' schemas come from internal/base/schema, the API's routes from the functions' own, their environment from
// their settings, their roles from package grants.
//
// A function makes each component from the stack, the settings and other components. All constructs are direct children
// of the stack, which determines CloudFormation's ids.
package stack

import (
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
)

// Name returns the name of a configuration's stack.
func Name(c *config.Config) string { return strings.TrimSuffix(c.Prefix, "-") }

// New adds the stack to an app. dist is the folder of the built functions.
func New(scope constructs.Construct, c *config.Config, dist string) awscdk.Stack {
	s := newStack(scope, c)
	tables := newTables(s, c)
	streams := newStreams(s, c, tables)
	functions := newFunctions(s, c, dist, tables, streams)
	mappings := newMappings(s, c, streams, functions)
	var web *api
	if !c.Attached() {
		web = newAPI(s, c, functions)
	}
	newSchedules(s, c, functions)
	topics := newTopics(s, c)
	alarms := newAlarms(s, c, functions, mappings, web, topics)
	newRollouts(s, c, functions, alarms)
	newDashboard(s, c, functions, web, alarms)
	newOutputs(s, c, tables, streams.failures, web, topics)
	return s
}

// tagsOf returns the values of the stack's tags, by their keys.
func tagsOf(c *config.Config) map[string]*string {
	tags := map[string]*string{}
	for _, t := range c.Tags {
		key, value, _ := strings.Cut(t, "=")
		tags[key] = &value
	}
	return tags
}

func newStack(scope constructs.Construct, c *config.Config) awscdk.Stack {
	tags := tagsOf(c)
	s := awscdk.NewStack(scope, jsii.String(Name(c)), &awscdk.StackProps{
		StackName: jsii.String(Name(c)), Tags: &tags,
		Description: jsii.String("hotshard keeps DynamoDB tables ahead of their hot keys."),
	})
	if c.Email == "" {
		awscdk.Annotations_Of(s).AddWarningV2(jsii.String("hotshard:nobody-gets-alarms"), jsii.String("the alarms' topics have no subscription: set email, or subscribe to the topics by other means"), nil)
	}
	return s
}

// deployed returns the names of the deployment's functions, in order.
func deployed(c *config.Config) []string {
	if c.Attached() {
		return []string{grants.Hotkeys}
	}
	idle := []string{grants.Reader}
	if c.OneReader() {
		idle = []string{grants.Hotkeys, grants.Aggregator}
	}
	return slices.DeleteFunc(slices.Clone(grants.Functions), func(name string) bool { return slices.Contains(idle, name) })
}

// id returns a construct's id for a name: ShardMap for shard-map.
func id(names ...string) *string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(strings.Join(names, "-"), func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return jsii.String(b.String())
}
