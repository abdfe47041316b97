// Package adopt examines whether package table can shard an existing table with plain names
// (table.Table.PlainFirst). It only reads:
//
//	report, err := adopt.Examine(ctx, client, adopt.Options{Table: "orders", Format: shard.HashShard, ReadUnits: dynamo.ScanUnits})
//	fmt.Println(report.Refusals, report.Lines)
package adopt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Client has the calls of Examine, which only read.
type Client interface {
	dynamodb.DescribeTableAPIClient
	client.Scanner
	DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error)
}

// Options select the table and the format to examine.
type Options struct {
	Table     string          // its name or ARN
	Format    shard.Format    // separates a name from a write shard's number; required
	ReadUnits int             // RCU/s of the scan; 0 is dynamo.ScanUnits
	Progress  func(items int) // receives the number of items of each page; may be nil
	Now       time.Time
}

// Report has the findings of Examine.
type Report struct {
	Table        string   `json:"table"` // as in Options
	PartitionKey string   `json:"partition_key"`
	SortKey      string   `json:"sort_key"`
	SortType     string   `json:"sort_type"` // S, N or B
	Format       string   `json:"format"`
	Items        int64    `json:"items"`             // scanned
	Refusals     []string `json:"refusals"`          // why the table can't be adopted; empty if it can
	Notes        []string `json:"notes"`             // consequences for programs, indexes and streams
	InTheWay     Found    `json:"in_the_way"`        // stored partition keys that the format would take for a write shard above 0
	TooLong      Found    `json:"too_long"`          // stored partition keys that are too long for a suffix
	Layout       string   `json:"layout,omitempty"`  // sentences on the time from which Lines calculate the write shard
	Lines        string   `json:"go,omitempty"`      // Go source that shards this table
	Sampled      int      `json:"sampled,omitempty"` // items of which all attributes were read

	name       string  // the table's
	scanned    scanned // what the scan found
	layout     table.Layout
	expression string // the layout in Go
	ttl        string // the table's TTL attribute, or ""
}

// Found counts the different partition keys that were found, up to maxKeys.
type Found struct {
	Keys  int      `json:"keys"` // maxKeys means that or more
	First []string `json:"first,omitempty"`

	all map[string]bool
}

const (
	maxKeys    = 10_000 // maximum of Found.Keys
	shownKeys  = 5      // maximum length of Found.First
	sampleSize = 100    // items of which all attributes are read
)

func (f *Found) addKey(key string) {
	if f.all[key] || f.Keys == maxKeys {
		return
	}
	if f.all == nil {
		f.all = map[string]bool{}
	}
	f.all[key] = true
	f.Keys++
	if f.Keys <= shownKeys {
		f.First = append(f.First, key)
	}
}

// Examine reads a table's description and, unless that or the format rules it out, 100 whole items and the keys of all.
// A table that can't be adopted is no error: its report has Refusals. Errors are of Options.Table, DescribeTable and
// scans.
func Examine(ctx context.Context, db Client, options Options) (*Report, error) {
	name, _, _, err := dynamo.TableName(options.Table)
	if err != nil {
		return nil, err
	}
	out, err := db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &options.Table})
	if err != nil {
		return nil, err
	}
	report := &Report{Table: options.Table, name: name, Format: string(options.Format), Refusals: []string{}, Notes: []string{}}
	report.describe(out.Table)
	if err := options.Format.Valid(); err != nil {
		report.refuse("The format %q has only digits, so a write shard's key may be another name: choose a format such as #SHARD_.", report.Format)
	}
	if len(report.Refusals) > 0 { // no items would change that
		return report, nil
	}
	report.readTTL(ctx, db)
	sample, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: &options.Table, Limit: aws.Int32(sampleSize)})
	if err != nil {
		return nil, err
	}
	found := report.findTimes(sample.Items, options.Now)
	if err := report.scan(ctx, db, options, found.own); err != nil {
		return nil, err
	}
	found.addScanned(report.scanned)
	report.chooseLayout(ctx, sample.Items, found, options)
	if report.expression != "" {
		report.Lines = report.lines()
	}
	return report, nil
}

// refuse adds a refusal: why the table can't be adopted, and what to do.
func (r *Report) refuse(format string, values ...any) {
	r.Refusals = append(r.Refusals, fmt.Sprintf(format, values...))
}

func (r *Report) addNote(format string, values ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, values...))
}

// describe sets the keys, and adds the refusals and notes that follow from a table's description.
func (r *Report) describe(description *types.TableDescription) {
	attributeTypes := map[string]string{}
	for _, a := range description.AttributeDefinitions {
		attributeTypes[aws.ToString(a.AttributeName)] = string(a.AttributeType)
	}
	r.PartitionKey, r.SortKey = keysOf(description.KeySchema)
	r.SortType = attributeTypes[r.SortKey]
	if status := description.TableStatus; status != types.TableStatusActive && status != types.TableStatusUpdating { // both serve all calls
		r.refuse("The table is %s: wait until it is ACTIVE. If it does not become ACTIVE by itself, enable its KMS key, or restore it from its backup.", status)
	}
	if r.PartitionKey == schema.PK && r.SortKey == schema.SK && isHotshards(description) {
		r.refuse("The table is one of hotshard's own, whose keys have write shards already.")
	}
	if keyType := attributeTypes[r.PartitionKey]; keyType != "S" {
		r.refuse("The partition key %s has type %s: only a string (S) can have the suffix of a write shard. Copy the items to a table with a string key.", r.PartitionKey, keyType)
	}
	if r.SortKey == "" {
		r.refuse("The table has no sort key: a name has only one item, which can't be spread over write shards. If the item is a counter, use a table.Tally with PlainFirst.")
	}
	if len(description.Replicas) > 0 || aws.ToString(description.GlobalTableVersion) == "2017.11.29" { // this version's description has no replicas
		r.refuse("The table is a global table, which is not supported: the Regions' shard maps would differ. Remove its replicas first.")
	}
	for _, index := range description.GlobalSecondaryIndexes {
		partition, sort := keysOf(index.KeySchema)
		name := aws.ToString(index.IndexName)
		if r.PartitionKey == partition {
			r.addNote("Index %s has the partition key %s: a query of a grown name there misses the items of its write shards above 0, so query each, or give the index an attribute of its own with the plain name.", name, partition)
		} else {
			r.addNote("Index %s (by %s) returns stored partition keys such as %s: shard.Format.SplitPlain returns the name.", name, strings.TrimSuffix(partition+", "+sort, ", "), shard.Format(r.Format).JoinPlain("acme", 3))
		}
	}
	for _, index := range description.LocalSecondaryIndexes {
		r.addNote("Local index %s: a query of a grown name there misses the items of its write shards above 0, so query each.", aws.ToString(index.IndexName))
	}
	if stream := description.StreamSpecification; stream != nil && aws.ToBool(stream.StreamEnabled) {
		r.addNote("The stream's records have stored partition keys: shard.Format.SplitPlain returns the name.")
	}
	if throughput := description.ProvisionedThroughput; throughput != nil && aws.ToInt64(throughput.WriteCapacityUnits) > 0 {
		r.addNote("The table's provisioned %d WCU/s are shared by all write shards.", *throughput.WriteCapacityUnits)
	}
}

// isHotshards reports whether a table is probably one of hotshard's: it has the default name or an index of one of them. The
// caller checks the key attributes.
func isHotshards(description *types.TableDescription) bool {
	var indexes []string
	for _, index := range description.GlobalSecondaryIndexes {
		indexes = append(indexes, aws.ToString(index.IndexName))
	}
	for _, t := range schema.Tables(schema.NamesFor("hotshard-")) {
		hasIndex := slices.ContainsFunc(t.Indexes, func(own schema.Index) bool { return slices.Contains(indexes, own.Name) })
		if hasIndex || t.Name == aws.ToString(description.TableName) {
			return true
		}
	}
	return false
}

// readTTL sets the table's TTL attribute. If the call fails, it only adds a note: the caller may lack the permission, and
// some engines don't have the call.
func (r *Report) readTTL(ctx context.Context, db Client) {
	out, err := db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &r.Table})
	if err != nil {
		r.addNote("The table's TTL can't be read, so check that the lines don't name its TTL attribute: %v.", err)
		return
	}
	if d := out.TimeToLiveDescription; d != nil {
		r.ttl = aws.ToString(d.AttributeName)
	}
	if r.ttl != "" {
		r.addNote("TTL by %s also deletes the items of new write shards.", r.ttl)
	}
}

// keysOf returns the names of the key attributes; sort is "" if there is none.
func keysOf(elements []types.KeySchemaElement) (partition, sort string) {
	for _, e := range elements {
		if e.KeyType == types.KeyTypeHash {
			partition = aws.ToString(e.AttributeName)
		} else {
			sort = aws.ToString(e.AttributeName)
		}
	}
	return partition, sort
}

// scan reads the keys of all items, and adds those that prevent an adoption to the report. own is the items' own time, or nil.
func (r *Report) scan(ctx context.Context, db Client, options Options, own *ownTime) error {
	var mu sync.Mutex
	checkSortKey := r.sortKeyChecker(own, options.Now)
	return dynamo.NewScanner(db, cmp.Or(options.ReadUnits, dynamo.ScanUnits)).Table(ctx, options.Table, r.PartitionKey+", "+r.SortKey, func(page []map[string]types.AttributeValue) error {
		mu.Lock()
		defer mu.Unlock()
		r.Items += int64(len(page))
		for _, item := range page {
			r.checkPartitionKey(dynamo.Text(item, r.PartitionKey), options.Format)
			checkSortKey(item)
		}
		if options.Progress != nil {
			options.Progress(len(page))
		}
		return nil
	})
}

// checkPartitionKey adds a stored partition key to the report if it is in the way, or too long.
func (r *Report) checkPartitionKey(key string, format shard.Format) {
	if _, writeShard := format.SplitPlain(key); writeShard > 0 {
		r.InTheWay.addKey(key)
	}
	if len(format.JoinPlain(key, shard.MaxShards-1)) > maxKeyBytes {
		r.TooLong.addKey(key)
	}
}

// maxKeyBytes is DynamoDB's maximum length of a partition key.
const maxKeyBytes = 2048
