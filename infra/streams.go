package infra

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// streamFilters has the functions that read the streams, each with the filters for a table's stream: nil for all
// records. A stream shard allows two readers.
var streamFilters = map[string]func(schema.StreamTable) []filter{
	Hotkeys:    func(schema.StreamTable) []filter { return nil },
	Aggregator: summarized,
	Reader:     func(schema.StreamTable) []filter { return nil },
}

// summarized returns filters for a table's records that fold into summaries, and for stream markers. They also match a
// board's settings, because the aggregator must know when a board keeps more entries.
func summarized(table schema.StreamTable) (list []filter) {
	anySortKey := filter{}
	for _, k := range schema.Summarized() {
		switch traits := schema.TraitsOf(k); {
		case traits.Table != table: // the kind's items are in another table
		case traits.FoldedSK != "":
			list = append(list, filter{[]string{traits.Prefix}, traits.FoldedSK})
		default:
			anySortKey.prefixes = append(anySortKey.prefixes, traits.Prefix)
		}
	}
	if table == schema.TraitsOf(schema.Board).Table {
		anySortKey.prefixes = append(anySortKey.prefixes, schema.BoardPrefix)
	}
	if anySortKey.prefixes != nil {
		list = append(list, anySortKey)
	}
	return list
}

// readers returns the names of the deployment's readers, which also run the scheduled tasks.
func readers(c *config.Config) []string {
	return slices.DeleteFunc(slices.Clone(deployedFunctions(c)), func(name string) bool {
		_, reads := streamFilters[name]
		return !reads
	})
}

// filter matches records by the prefix of their partition key, and optionally by their sort key.
type filter struct {
	prefixes []string // a record needs one of them
	sk       string   // "" for any sort key
}

// streams are the streams that the functions read.
type streams struct {
	list     []stream
	failures awss3.Bucket // for records that a function discarded
}

// stream is a table's stream.
type stream struct {
	tableKind     schema.StreamTable // "" for the attached table
	arn, tableARN *string            // ARNs of the stream and its table
}

// newStreams returns the streams of the deployment's tables, or of the attached table, and makes the failure bucket.
func newStreams(s awscdk.Stack, c *config.Config, tables map[string]awsdynamodb.TableV2) streams {
	made := streams{failures: newFailures(s, c)}
	if c.Attached() {
		table, _, _ := strings.Cut(c.SourceStreamARN, "/stream/")
		made.list = []stream{{"", jsii.String(c.SourceStreamARN), &table}}
		return made
	}
	for _, t := range schema.StreamTables() {
		table := tables[c.TableVariable(c.Names().Table(t))]
		made.list = append(made.list, stream{t, table.TableStreamArn(), table.TableArn()})
	}
	return made
}

// newFailures makes the bucket for failed records. Other destinations get no records, only their sequence numbers.
func newFailures(s awscdk.Stack, c *config.Config) awss3.Bucket {
	bucket := awss3.NewBucket(s, jsii.String("Failures"), &awss3.BucketProps{
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		EnforceSSL:        jsii.Bool(true),
		RemovalPolicy:     removal(c),
		LifecycleRules: &[]*awss3.LifecycleRule{{
			Id: jsii.String("expire"), Expiration: awscdk.Duration_Days(jsii.Number(keptDays)),
			AbortIncompleteMultipartUploadAfter: awscdk.Duration_Days(jsii.Number(1)),
		}},
	})
	bucket.Policy().ApplyRemovalPolicy(removal(c)) // so that a retained bucket still requires TLS
	return bucket
}

// keptDays is how long discarded records are kept: time to repair the cause and the summaries.
const keptDays = 30

// The bounds of a delivery and of its retries, from
// https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
const (
	batchSize   = 1000   // records: decoding and folding them takes a fraction of the batching window
	rollupBatch = 10_000 // Lambda's maximum: a delivery of events ends with its window, or with 6 MB
	retries     = 10_000
	// recordAge is less than the 24 hours of a stream: Lambda stores the records that it discards, but neither stores
	// nor counts those that expired. Retries follow each other within seconds, so only the age bounds them.
	recordAge = 20 * time.Hour
)

// readerMapping is an event source mapping of one stream to one function.
type readerMapping struct {
	name      string // the function's name, with -events for the events table
	construct awslambda.CfnEventSourceMapping
}

// newMappings makes the event source mappings of the streams' readers, by function.
func newMappings(s awscdk.Stack, c *config.Config, sources streams, functions map[string]function) map[string][]readerMapping {
	made := map[string][]readerMapping{}
	for _, name := range readers(c) {
		for _, stream := range sources.list {
			made[name] = append(made[name], newMapping(s, c, stream, sources.failures, functions[name]))
		}
	}
	return made
}

// windows are how a mapping groups records.
type windows struct {
	batch              int // maximum number of records
	batching, tumbling time.Duration
}

// windowsOf returns the windows of a mapping. Only the aggregator's events wait for RollupWindow: a counter's or a
// board's summary is read as often as it is written, and the detector must be prompt.
func windowsOf(c *config.Config, function string, table schema.StreamTable) windows {
	switch {
	case function != Aggregator:
		return windows{batchSize, c.BatchingWindow(), max(c.Hotkeys.Window, c.Hotkeys.Hold)}
	case table == schema.EventsTable:
		return windows{rollupBatch, c.RollupWindow, plan.FoldsTumblingWindow}
	}
	return windows{batchSize, c.BatchingWindow(), plan.FoldsTumblingWindow}
}

// newMapping makes the event source mapping of one stream to one function. Discarded records go to failures.
func newMapping(s awscdk.Stack, c *config.Config, from stream, failures awss3.Bucket, to function) readerMapping {
	age, start := recordAge, "TRIM_HORIZON"
	if to.name == Hotkeys {
		age = hotkeys.RecordAge
	}
	if c.Attached() {
		start = "LATEST" // an existing table's older records are too old
	}
	grouping := windowsOf(c, to.name, from.tableKind)
	props := &awslambda.CfnEventSourceMappingProps{
		FunctionName:                   to.live.FunctionArn(),
		EventSourceArn:                 from.arn,
		StartingPosition:               &start,
		BatchSize:                      jsii.Number(grouping.batch),
		MaximumBatchingWindowInSeconds: jsii.Number(grouping.batching.Seconds()),
		TumblingWindowInSeconds:        jsii.Number(grouping.tumbling.Seconds()),
		ParallelizationFactor:          jsii.Number(1), // tumbling windows require 1
		BisectBatchOnFunctionError:     true,
		FunctionResponseTypes:          jsii.Strings("ReportBatchItemFailures"),
		MaximumRetryAttempts:           jsii.Number(retries),
		MaximumRecordAgeInSeconds:      jsii.Number(age.Seconds()),
		DestinationConfig: awslambda.CfnEventSourceMapping_DestinationConfigProperty{
			OnFailure: awslambda.CfnEventSourceMapping_OnFailureProperty{Destination: failures.BucketArn()},
		},
		MetricsConfig: awslambda.CfnEventSourceMapping_MetricsConfigProperty{Metrics: jsii.Strings("EventCount")},
	}
	if filters := streamFilters[to.name](from.tableKind); filters != nil {
		var patterns []any
		for _, f := range filters {
			patterns = append(patterns, awslambda.CfnEventSourceMapping_FilterProperty{Pattern: jsii.String(f.pattern())})
		}
		props.FilterCriteria = awslambda.CfnEventSourceMapping_FilterCriteriaProperty{Filters: patterns}
	}
	name := to.name
	if from.tableKind == schema.EventsTable {
		name += "-" + from.tableKind
	}
	return readerMapping{name, awslambda.NewCfnEventSourceMapping(s, id(name, "mapping"), props)}
}

// pattern returns the filter as Lambda takes it, in JSON.
func (f filter) pattern() string {
	var prefixes []any
	for _, prefix := range f.prefixes {
		prefixes = append(prefixes, map[string]string{"prefix": prefix})
	}
	keys := map[string]any{schema.PK: map[string]any{"S": prefixes}}
	if f.sk != "" {
		keys[schema.SK] = map[string]any{"S": []string{f.sk}}
	}
	content, err := json.Marshal(map[string]any{"dynamodb": map[string]any{"Keys": keys}})
	if err != nil {
		panic(err) // strings can always be marshaled
	}
	return string(content)
}
