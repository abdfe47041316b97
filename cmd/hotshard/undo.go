package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/ownkeys"
	"github.com/hotshard/hotshard/internal/fold/scan"
	"github.com/hotshard/hotshard/internal/tool/adopt"
	"github.com/hotshard/hotshard/internal/tool/terminal"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// undoing has the flags of hotshard adopt --undo.
type undoing struct {
	Undo       string `placeholder:"NAME" help:"Move a name's items back to its plain key, while programs read and write. It takes six minutes plus the moves. Run it again after an interruption."`
	Map        string `placeholder:"TABLE" help:"With --undo: the shard map of the table's programs."`
	Namespace  string `placeholder:"TEXT" help:"With --undo: the prefix of the programs' table.Namespace."`
	By         string `placeholder:"NAME" help:"With --undo: the attribute By of the programs' layout. Default: the sort key, and none with --layout buckets."`
	Bucket     string `placeholder:"day" help:"With --undo and --layout buckets: day, hour or minute. The table is scanned up to three times, at --read-units."`
	Empty      bool   `help:"With --undo: undo a name although no item is on its write shards above 0."`
	WriteUnits int    `default:"100" help:"With --undo: upper bound on the moves' WCU/s. An item costs four write units for each KB."`
}

func (c *AdoptCmd) checkUndo() error {
	switch {
	case c.Undo == "" && (c.Map != "" || c.Namespace != "" || c.By != "" || c.Bucket != "" || c.Empty):
		return errors.New("--map, --namespace, --by, --bucket and --empty need --undo")
	case c.Undo == "":
		return nil
	case c.Map == "":
		return errors.New("--undo needs --map")
	case c.Layout == "":
		return errors.New("--undo needs --layout calculated, buckets or random")
	case (c.Layout == "buckets") != (c.Bucket != ""):
		return errors.New("--layout buckets needs --bucket day, hour or minute, and no other layout has it")
	case c.WriteUnits < 1:
		return fmt.Errorf("--write-units %d: want at least 1", c.WriteUnits)
	}
	return nil
}

// undoTable returns the adopted table, with the layout's time ignored: items are moved whatever their times.
func (c *AdoptCmd) undoTable(ctx context.Context, client *dynamodb.Client, shards *shardmap.Map) (*table.Table, error) {
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &c.Table})
	if err != nil {
		return nil, c.explain(err)
	}
	t := &table.Table{
		Client: client, Name: c.Table, Format: shard.Format(c.Format), PlainFirst: true,
		Shards: table.Namespace{Prefix: c.Namespace, Counts: shards}, Layout: table.RandomSuffix{},
	}
	t.PartitionKey, t.SortKey = adopt.KeysOf(out.Table.KeySchema)
	switch c.Layout {
	case "buckets":
		t.Layout = table.TimeBuckets{Bucket: shard.Bucket(c.Bucket), By: c.By}
	case "calculated":
		t.Layout = table.CalculatedSuffix{By: c.By, Time: func(table.Item) (time.Time, error) { return time.Time{}, nil }}
	}
	return t, t.Check()
}

// checkWriteShards returns an error if no write shard of the name above 0 has an item. Then --format, --layout or --bucket
// may be wrong, and an undo would hide the items: readers forget the write shards.
func (c *AdoptCmd) checkWriteShards(ctx context.Context, client *dynamodb.Client, t *table.Table) error {
	e, err := t.Shards.Lookup(ctx, c.Undo, time.Now())
	if _, absent := errors.AsType[*types.ResourceNotFoundException](err); absent {
		return sentence("There is no shard map %q. Check --map.", c.Map)
	}
	reset := e.Forgotten && len(e.History) == 0 // an earlier run moved the items
	if err != nil || c.Empty || reset || e.Most() == 1 {
		return err
	}
	keys := ownkeys.Keys{Format: t.Format, Bucket: shard.Bucket(c.Bucket)}
	var found bool
	example := keys.Join(c.Undo, "", 1)
	if c.Bucket != "" {
		example = keys.Join(c.Undo, keys.Bucket.Label(time.Now(), 0), 1)
		found, err = c.bucketHasItem(ctx, client, t, keys)
	} else {
		found, err = c.writeShardHasItem(ctx, client, t, e.Most())
	}
	if err != nil || found {
		return err
	}
	return sentence("No item has a partition key such as %q. Check --format, --layout and --bucket: if one is wrong, an undo hides the items. If the items are gone, add --empty.", example)
}

// writeShardHasItem reports whether a write shard from 1 to most-1 has an item.
func (c *AdoptCmd) writeShardHasItem(ctx context.Context, client *dynamodb.Client, t *table.Table, most int) (bool, error) {
	var keys []string
	for n := 1; n < most; n++ {
		keys = append(keys, t.Format.JoinPlain(c.Undo, n))
	}
	err := ownkeys.CheckUnused(ctx, client, t.Name, t.PartitionKey, keys...)
	if _, found := errors.AsType[*shard.KeyError](err); found {
		return true, nil
	}
	return false, err
}

// bucketHasItem scans the table until it finds an item of the name on a write shard above 0 of a time bucket.
func (c *AdoptCmd) bucketHasItem(ctx context.Context, client *dynamodb.Client, t *table.Table, keys ownkeys.Keys) (bool, error) {
	pace := scan.NewPace(c.ReadUnits)
	for page, err := range dynamo.ScanPages(ctx, client, &dynamodb.ScanInput{
		TableName: &t.Name, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		ProjectionExpression: aws.String("#pk"), ExpressionAttributeNames: map[string]string{"#pk": t.PartitionKey},
	}) {
		if err != nil {
			return false, err
		}
		for _, it := range page.Items {
			if name, _, n, ok := keys.Split(dynamo.Text(it, t.PartitionKey)); ok && name == c.Undo && n > 0 {
				return true, nil
			}
		}
		if err := pace.Spend(ctx, page.ConsumedCapacity); err != nil {
			return false, err
		}
	}
	return false, nil
}

// undo moves the items of a name, and prints what it waits for.
func (c *AdoptCmd) undo(ctx context.Context, std streams, client *dynamodb.Client) error {
	shards := shardmap.New(client, c.Map, shardmap.Options{})
	orders, err := c.undoTable(ctx, client, shards)
	if err != nil {
		return err
	}
	if err := c.checkWriteShards(ctx, client, orders); err != nil {
		return err
	}
	progress, finish := terminal.Progress(std.err, -1, "items moved")
	defer finish()
	pace, scans, total := scan.NewPace(c.WriteUnits), scan.NewPace(c.ReadUnits), 0
	undo := migrate.Undo{
		Client: client, Scanner: client, PaceScan: scans.Spend, Table: orders, Changer: shardmap.NewChanger(client, shards, shardmap.ChangerOptions{}), By: "adopt --undo",
		Pace: func(ctx context.Context, units int) error {
			return pace.Spend(ctx, &types.ConsumedCapacity{CapacityUnits: aws.Float64(float64(units))})
		},
		Report: func(moved int) { progress(total + moved) },
	}
	for {
		done, err := undo.Step(ctx, c.Undo, time.Now())
		if total += done.Moved; err != nil {
			return err
		}
		if done.Wait.IsZero() {
			text := fmt.Sprintf("%d items moved. All items of %q have the plain key, and the shard map does not have it.", total, c.Undo)
			if total == 0 {
				text = fmt.Sprintf("0 items moved: the shard map does not have %q. Check the name and --namespace, unless an earlier run has moved its items.", c.Undo)
			}
			_, err := fmt.Fprintln(std.out, text)
			return err
		}
		if err := c.wait(ctx, std.err, done); err != nil {
			return err
		}
	}
}

// wait waits until a step's time, or until ctx ends.
func (c *AdoptCmd) wait(ctx context.Context, out io.Writer, done migrate.Undone) error {
	left := time.Until(done.Wait)
	fmt.Fprintf(out, "waiting %v until %s\n", left.Round(time.Second), done.Why)
	if !dynamo.Pause(ctx, left) {
		return context.Cause(ctx)
	}
	return nil
}
