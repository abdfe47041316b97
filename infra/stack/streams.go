package stack

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/schema"
)

// mapped are the functions that get the stream, with what they get of it: nil is all.
// A stream shard takes two readers, and these are two.
var mapped = map[string][]filter{
	grants.Hotkeys: nil,
	grants.Aggregator: {
		// Of a board that keeps more entries now the aggregator takes note, by its settings.
		{prefixes: []string{schema.BoardPrefix, prefixOf(schema.Counter), prefixOf(schema.Board)}},
		// Events stay in their rollups when they are deleted, which TTL does with all. Audits' marks
		// are among them.
		{prefixes: []string{prefixOf(schema.Entity)}, names: []string{"INSERT", "MODIFY"}},
	},
}

// readers are the names of those that the deployment has. They do the tasks of schedules, too.
func readers(c *config.Config) []string {
	return slices.DeleteFunc(slices.Clone(deployed(c)), func(name string) bool {
		_, reads := mapped[name]
		return !reads
	})
}

// filter lets records through, by how their items' partition keys begin and, if names are
// given, by what was done.
type filter struct{ prefixes, names []string }

func prefixOf(kind schema.Type) string { return schema.BaseKey{Type: kind}.String() }

// stream is the one that is read.
type stream struct {
	arn, table *string      // ARNs: its own, and its table's
	failures   awss3.Bucket // for records that a function gave up
}

// newStream makes the bucket for failures. The stream itself is that of the items table, or that
// of the table which the deployment is attached to.
func newStream(s awscdk.Stack, c *config.Config, tables map[string]awsdynamodb.TableV2) stream {
	failures := newFailures(s, c)
	if c.Attached() {
		table, _, _ := strings.Cut(c.SourceStreamARN, "/stream/")
		return stream{jsii.String(c.SourceStreamARN), &table, failures}
	}
	return stream{tables[grants.Items].TableStreamArn(), tables[grants.Items].TableArn(), failures}
}

// newFailures makes a bucket, since of the destinations that there are only S3 keeps the records.
func newFailures(s awscdk.Stack, c *config.Config) awss3.Bucket {
	bucket := awss3.NewBucket(s, jsii.String("Failures"), &awss3.BucketProps{
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		RemovalPolicy:     removal(c),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Id: jsii.String("expire"), Expiration: awscdk.Duration_Days(jsii.Number(c.FailureRetention)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
	})
	bucket.Policy().ApplyRemovalPolicy(removal(c)) // a bucket that stays goes on to want TLS
	return bucket
}

// newMappings has Lambda hand the stream to its readers.
func newMappings(s awscdk.Stack, c *config.Config, from stream, functions map[string]function) map[string]awslambda.CfnEventSourceMapping {
	made := map[string]awslambda.CfnEventSourceMapping{}
	for _, name := range readers(c) {
		made[name] = newMapping(s, c, from, functions[name])
	}
	return made
}

func newMapping(s awscdk.Stack, c *config.Config, from stream, to function) awslambda.CfnEventSourceMapping {
	age, start := c.RecordAge, "TRIM_HORIZON"
	if to.name == grants.Hotkeys {
		age = c.DetectorAge()
	}
	if c.Attached() {
		start = "LATEST" // what the stream of a table that was there holds is too old already
	}
	props := &awslambda.CfnEventSourceMappingProps{
		FunctionName:                   to.live.FunctionArn(),
		EventSourceArn:                 from.arn,
		StartingPosition:               &start,
		BatchSize:                      jsii.Number(c.BatchSize),
		MaximumBatchingWindowInSeconds: jsii.Number(c.BatchingWindow.Seconds()),
		TumblingWindowInSeconds:        jsii.Number(c.Hotkeys.Window.Seconds()),
		ParallelizationFactor:          jsii.Number(c.Parallelization),
		BisectBatchOnFunctionError:     true,
		FunctionResponseTypes:          jsii.Strings("ReportBatchItemFailures"),
		MaximumRetryAttempts:           jsii.Number(c.Retries),
		MaximumRecordAgeInSeconds:      jsii.Number(age.Seconds()),
		DestinationConfig: awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: from.failures.BucketArn()},
		},
		MetricsConfig: awslambda.CfnEventSourceMapping_MetricsConfigProperty{Metrics: jsii.Strings("EventCount")},
	}
	if filters := mapped[to.name]; filters != nil {
		var patterns []any
		for _, f := range filters {
			patterns = append(patterns, awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(f.pattern())})
		}
		props.FilterCriteria = awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: patterns}
	}
	return awslambda.NewCfnEventSourceMapping(s, id(to.name, "mapping"), props)
}

func (f filter) pattern() string {
	var prefixes []any
	for _, prefix := range f.prefixes {
		prefixes = append(prefixes, map[string]string{"prefix": prefix})
	}
	pattern := map[string]any{"dynamodb": map[string]any{"Keys": map[string]any{schema.PK: map[string]any{"S": prefixes}}}}
	if f.names != nil {
		pattern["eventName"] = f.names
	}
	content, err := json.Marshal(pattern)
	if err != nil {
		panic(err) // it is made of texts
	}
	return string(content)
}
