package stack

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

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

// filter lets records through, by how their items' partition keys begin and, if names are
// given, by what was done.
type filter struct{ prefixes, names []string }

func prefixOf(kind schema.Type) string { return schema.BaseKey{Type: kind}.String() }

// makeFailures makes the bucket for records that a function gave up. Of the
// destinations that there are only S3 keeps the records.
func (d *deployment) makeFailures() {
	d.failures = awss3.NewBucket(d.stack, jsii.String("Failures"), &awss3.BucketProps{
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		RemovalPolicy:     d.removal(),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Id: jsii.String("expire"), Expiration: awscdk.Duration_Days(number(d.config.FailureRetention)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
	})
	d.failures.Policy().ApplyRemovalPolicy(d.removal()) // a bucket that stays goes on to want TLS
}

// streamARN is that of the stream that is read.
func (d *deployment) streamARN() *string {
	if d.config.Attached() {
		return jsii.String(d.config.SourceStreamARN)
	}
	return d.tables[grants.Items].TableStreamArn()
}

// sourceARN is that of its table.
func (d *deployment) sourceARN() *string {
	if d.config.Attached() {
		table, _, _ := strings.Cut(d.config.SourceStreamARN, "/stream/")
		return &table
	}
	return d.tables[grants.Items].TableArn()
}

func (d *deployment) makeMapping(function string) {
	c := d.config
	age, start := c.RecordAge, "TRIM_HORIZON"
	if function == grants.Hotkeys {
		age = c.DetectorAge()
	}
	if c.Attached() {
		start = "LATEST" // what the stream of a table that was there holds is too old already
	}
	props := &awslambda.CfnEventSourceMappingProps{
		FunctionName:                   d.live[function].FunctionArn(),
		EventSourceArn:                 d.streamARN(),
		StartingPosition:               &start,
		BatchSize:                      number(c.BatchSize),
		MaximumBatchingWindowInSeconds: jsii.Number(c.BatchingWindow.Seconds()),
		TumblingWindowInSeconds:        jsii.Number(c.Hotkeys.Window.Seconds()),
		ParallelizationFactor:          number(c.Parallelization),
		BisectBatchOnFunctionError:     true,
		FunctionResponseTypes:          jsii.Strings("ReportBatchItemFailures"),
		MaximumRetryAttempts:           number(c.Retries),
		MaximumRecordAgeInSeconds:      jsii.Number(age.Seconds()),
		DestinationConfig: awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: d.failures.BucketArn()},
		},
		MetricsConfig: awslambda.CfnEventSourceMapping_MetricsConfigProperty{Metrics: jsii.Strings("EventCount")},
	}
	if filters := mapped[function]; filters != nil {
		var patterns []any
		for _, f := range filters {
			patterns = append(patterns, awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(f.pattern())})
		}
		props.FilterCriteria = awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: patterns}
	}
	d.mappings[function] = awslambda.NewCfnEventSourceMapping(d.stack, id(function, "mapping"), props)
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
