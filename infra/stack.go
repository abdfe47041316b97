package infra

import (
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

// stackName returns the name of a configuration's stack.
func stackName(c *config.Config) string { return strings.TrimSuffix(c.Prefix, "-") }

// addStack adds the stack to an app. dist is the folder of the built functions.
func addStack(scope constructs.Construct, c *config.Config, dist string) awscdk.Stack {
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
	to := topics{page: newTopic(s, c, "page"), tell: newTopic(s, c, "tell")}
	newAlarms(s, c, functions, mappings, web, to)
	newOutputs(s, c, tables, streams.failures, web, to)
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

// newStack makes the empty stack. It warns if no address gets the alarms.
func newStack(scope constructs.Construct, c *config.Config) awscdk.Stack {
	tags := tagsOf(c)
	s := awscdk.NewStack(scope, jsii.String(stackName(c)), &awscdk.StackProps{
		StackName: jsii.String(stackName(c)), Tags: &tags,
		Description: jsii.String("hotshard keeps DynamoDB tables ahead of their hot keys."),
	})
	if c.Email == "" {
		awscdk.Annotations_Of(s).AddWarningV2(jsii.String("hotshard:nobody-gets-alarms"), jsii.String("the alarms' topics have no subscription: set email, or subscribe to the topics by other means"), nil)
	}
	return s
}

// deployedFunctions returns the names of the deployment's functions, in the order of Functions.
func deployedFunctions(c *config.Config) []string {
	if c.Attached() {
		return []string{Hotkeys}
	}
	if c.OneReader() {
		return []string{Ingest, Reader, Query}
	}
	return []string{Ingest, Hotkeys, Aggregator, Query}
}

// id returns a construct's id for a name: ShardMap for shard-map.
func id(names ...string) *string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(strings.Join(names, "-"), func(r rune) bool { return r == '-' || r == '_' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return jsii.String(b.String())
}
