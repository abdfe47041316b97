package adopt_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/adopt"
	"github.com/hotshard/hotshard/pkg/shard"
	_ "github.com/hotshard/hotshard/pkg/shard/grow" // used by printed lines, which a test compiles
)

func TestMain(m *testing.M) { libtest.Main(m) }

var now = time.Date(2026, 1, 5, 22, 0, 0, 0, time.UTC)

type item = map[string]types.AttributeValue

// fill creates a user's table with items, and returns its name.
func fill(t *testing.T, client *dynamodb.Client, sort types.ScalarAttributeType, items ...item) string {
	t.Helper()
	name := libtest.Theirs(t, client, sort)
	for _, it := range items {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: it})
		require.NoError(t, err)
	}
	return name
}

// orders returns n orders of a customer, one a minute. The function sort returns their sort keys.
func orders(customer string, n int, sort func(at time.Time, id string) types.AttributeValue) (list []item) {
	for i := range n {
		id := fmt.Sprint("order-", i)
		list = append(list, item{"customer": libtest.Str(customer), "placed": sort(now.Add(time.Duration(i-n)*time.Minute), id), "order": libtest.Str(id)})
	}
	return list
}

func millis(at time.Time, id string) types.AttributeValue {
	return libtest.Str(shard.Millis.Key(at, "#", id))
}

func unix(at time.Time, _ string) types.AttributeValue { return libtest.Num(at.Unix()) }

func onlyID(_ time.Time, id string) types.AttributeValue { return libtest.Str(id) }

// described is a client that changes the description of its table.
type described struct {
	*dynamodb.Client
	spoil func(*types.TableDescription)
}

func (d described) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, o ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	out, err := d.Client.DescribeTable(ctx, in, o...)
	if err == nil {
		d.spoil(out.Table)
	}
	return out, err
}

// TestTablesThatCanNotBeAdopted checks that Examine gives one reason why a table can't be adopted, in a sentence.
func TestTablesThatCanNotBeAdopted(t *testing.T) {
	client := enginetest.Client(t)
	long := strings.Repeat("x", 2048-len("#SHARD_999")+1)
	created := orders("acme", 5, onlyID)
	plain := fill(t, client, "S", orders("acme", 5, millis)...)
	for name, c := range map[string]struct {
		table  string                        // "" for a table that can be adopted
		spoil  func(*types.TableDescription) // nil for its own description
		format shard.Format                  // "" for #SHARD_
		want   string
		fillIn bool // the lines have a Time to fill in
	}{
		"no sort key": {spoil: func(d *types.TableDescription) { d.KeySchema = d.KeySchema[:1] }, want: "no sort key"},
		"a number":    {spoil: func(d *types.TableDescription) { retype(d, "customer", "N") }, want: "has type N"},
		"binary":      {spoil: func(d *types.TableDescription) { retype(d, "customer", "B") }, want: "has type B"},
		"hotshard's own": {spoil: func(d *types.TableDescription) {
			d.TableName, d.KeySchema[0].AttributeName, d.KeySchema[1].AttributeName = aws.String("hotshard-events"), aws.String("pk"), aws.String("sk")
			d.AttributeDefinitions = []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"}}
		}, want: "one of hotshard's own"},
		"being deleted":     {spoil: func(d *types.TableDescription) { d.TableStatus = types.TableStatusDeleting }, want: "is DELETING: wait until it is ACTIVE"},
		"a global table":    {spoil: func(d *types.TableDescription) { d.Replicas = make([]types.ReplicaDescription, 1) }, want: "a global table"},
		"one of 2017":       {spoil: func(d *types.TableDescription) { d.GlobalTableVersion = aws.String("2017.11.29") }, want: "a global table"},
		"only digits":       {format: "7", want: "has only digits"},
		"suffixed keys":     {table: fill(t, client, "S", append(orders("acme", 3, millis), orders("acme#SHARD_2", 3, millis)...)...), want: `1 stored partition key, such as "acme#SHARD_2"`},
		"long names":        {table: fill(t, client, "S", orders(long, 2, millis)...), want: "would exceed 2048 bytes"},
		"without a time":    {table: fill(t, client, "S", created...), want: "The items have no time of their own", fillIn: true},
		"a binary sort key": {table: fill(t, client, "B", item{"customer": libtest.Str("acme"), "placed": &types.AttributeValueMemberB{Value: []byte("x")}, "made": libtest.Num(now.Unix())}), want: "The sort key is binary"},
	} {
		var db adopt.Client = client
		if c.spoil != nil {
			db = described{client, c.spoil}
		}
		r, err := adopt.Examine(t.Context(), db, adopt.Options{Table: cmp.Or(c.table, plain), Format: cmp.Or(c.format, shard.HashShard), ReadUnits: 1000, Now: now})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(r.Refusals) != 1 || !strings.Contains(r.Refusals[0], c.want) || !strings.Contains(r.Refusals[0], ".") || c.fillIn != strings.Contains(r.Lines, unfinishedLayout) || !c.fillIn && r.Lines != "" {
			t.Errorf("%s: refusals %q and lines %q, want only %q", name, r.Refusals, r.Lines, c.want)
		}
	}
}

func retype(d *types.TableDescription, attr string, kind types.ScalarAttributeType) {
	for i, a := range d.AttributeDefinitions {
		if *a.AttributeName == attr {
			d.AttributeDefinitions[i].AttributeType = kind
		}
	}
}

// TestProposedLinesCompile checks the proposed layout for each kind of item, and that the proposed lines compile.
func TestProposedLinesCompile(t *testing.T) {
	client := enginetest.Client(t)
	programs := map[string]string{"to fill in": examine(t, client, fill(t, client, "S"), now).Lines}
	for name, c := range map[string]struct {
		sort  types.ScalarAttributeType
		items []item
		want  string
	}{
		"buckets":     {"S", orders("acme#2026-01-05", 5, millis), `Layout: table.CalculatedSuffix{Time: table.AttributeTime("placed", table.ISO)},`},
		"time and id": {"S", orders("acme", 5, millis), `Layout: table.CalculatedSuffix{Time: table.AttributeTime("placed", table.ISO)},`},
		"unix":        {"N", orders("acme", 5, unix), `Layout: table.CalculatedSuffix{Time: table.AttributeTime("placed", table.Unix)},`},
	} {
		r, err := adopt.Examine(t.Context(), client, adopt.Options{Table: fill(t, client, c.sort, c.items...), Format: shard.HashShard, ReadUnits: 1000, Now: now})
		if err != nil || len(r.Refusals) > 0 || r.Items != int64(len(c.items)) {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		if !strings.Contains(r.Lines, c.want) {
			t.Errorf("%s: the lines are\n%s\nwant %s", name, r.Lines, c.want)
		}
		programs[name] = r.Lines
	}
	compile(t, programs)
}

// compile compiles a package that has each text in a function of its own.
func compile(t *testing.T, texts map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`package lines

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

var _, _, _ = time.Hour, shard.Millis, errors.New
`)
	n := 0
	for what, text := range texts {
		n++
		fmt.Fprintf(&b, "\n// %s\nfunc f%d(ctx context.Context, client *dynamodb.Client, item table.Item, name string, now time.Time) error {\n%s\t_, _ = item, err\n}\nreturn err\n}\n", what, n, text)
	}
	file := filepath.Join(t.TempDir(), "lines.go")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	verb := "build"
	if require.FullRun() {
		verb = "vet" // takes longer, since it analyses all dependencies
	}
	if out, err := exec.CommandContext(t.Context(), "go", verb, file).CombinedOutput(); err != nil {
		t.Errorf("%v: %s\n%s", err, out, b.String())
	}
}

// TestNotes checks the notes about indexes, a stream, provisioned capacity and TTL.
func TestNotes(t *testing.T) {
	client := enginetest.Client(t)
	name := fill(t, client, "S", orders("acme", 3, millis)...)
	_, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &name, TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: aws.String("gone"), Enabled: aws.Bool(true),
	}})
	require.NoError(t, err)
	keys := func(partition, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &partition, KeyType: "HASH"}, {AttributeName: &sort, KeyType: "RANGE"}}
	}
	db := described{client, func(d *types.TableDescription) {
		d.GlobalSecondaryIndexes = []types.GlobalSecondaryIndexDescription{
			{IndexName: aws.String("by_state"), KeySchema: keys("state", "placed")}, {IndexName: aws.String("by_total"), KeySchema: keys("customer", "total")},
		}
		d.LocalSecondaryIndexes = []types.LocalSecondaryIndexDescription{{IndexName: aws.String("local"), KeySchema: keys("customer", "total")}}
		d.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true)}
		d.ProvisionedThroughput = &types.ProvisionedThroughputDescription{WriteCapacityUnits: aws.Int64(4000)}
	}}
	r, err := adopt.Examine(t.Context(), db, adopt.Options{Table: name, Format: shard.HashShard, ReadUnits: 1000, Now: now})
	if err != nil || len(r.Refusals) > 0 {
		t.Fatalf("report %+v, %v; want no refusals", r, err)
	}
	all := strings.Join(r.Notes, "\n")
	for _, want := range []string{
		"Index by_state (by state, placed) returns stored partition keys such as acme#SHARD_3", "Index by_total has the partition key customer", "Local index local", "The stream's records",
		"4000 WCU/s", "TTL by gone",
	} {
		if strings.Count(all, want) != 1 {
			t.Errorf("the notes lack %q or repeat it:\n%s", want, all)
		}
	}
}

// TestManySuffixedKeys checks that each stored key with a suffix counts once, and that at most five are listed.
func TestManySuffixedKeys(t *testing.T) {
	client := enginetest.Client(t)
	var items []item
	for i := range 9 {
		items = append(items, orders(fmt.Sprint("acme#SHARD_", i), 3, millis)...)
	}
	r, err := adopt.Examine(t.Context(), client, adopt.Options{Table: fill(t, client, "S", items...), Format: shard.HashShard, ReadUnits: 1000, Now: now})
	if err != nil || r.InTheWay.Keys != 8 || len(r.InTheWay.First) != 5 {
		t.Errorf("suffixed keys %+v, %v; want 8 keys and 5 examples", r.InTheWay, err)
	}
}
