package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
)

// faultEvery: of so many batches one is delivered twice and one again, later.
const faultEvery = 20

// anyBatch is how many records are handed at a time to a way to which it makes no
// difference.
const anyBatch = 500

// cost is what a way took for a load.
type cost struct {
	records     int
	units       float64
	failedUnits float64 // of them, for failed conditions
	calls       int     // updates and transactions
	failed      int     // of them, by their condition
	distinct    int     // summary items, in each batch anew
	off         int64   // by how much the total of all summaries is too high
}

// job is one way at work on one load.
type job struct {
	load
	way
	*meter
	table     string
	container folder
}

// measure folds a load's records in one way, on tables of its own.
func measure(ctx context.Context, endpoint string, l load, y way) (c cost, err error) {
	limits, err := limiter.New(limiter.Options{Partitions: 64, PartitionWCU: 100_000, TopKeys: 1, Base: local.Transport()})
	if err != nil {
		return c, err
	}
	m := &meter{limits: limits, Client: local.DynamoDB(endpoint, "f"+rand.Text(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} })}
	names := schema.NamesFor("cost-")
	if err := local.CreateTables(ctx, m.Client, names); err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, drop(m.Client, names)) }()
	limits.Reset()
	r := &job{load: l, way: y, meter: m, table: names.Rollups}
	if c, err = r.fold(ctx, l.draw()); err != nil {
		return c, fmt.Errorf("%s: %w", y.name, err)
	}
	total, err := r.total(ctx)
	c.off = total - int64(c.records)
	return c, err
}

func drop(db *dynamodb.Client, names schema.Names) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, t := range local.Tables(names) {
		_, failed := db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &t.Name})
		err = errors.Join(err, failed)
	}
	return err
}

// fold delivers all batches.
func (r *job) fold(ctx context.Context, list []record) (c cost, err error) {
	if err := r.start(); err != nil {
		return c, err
	}
	size, repeats := cmp.Or(r.batch, anyBatch), 0.0
	for i := 0; i*size < len(list); i++ {
		batch := list[i*size : min((i+1)*size, len(list))]
		c.distinct += r.distinct(batch)
		if err := r.container.fold(ctx, batch); err != nil {
			return c, err
		}
		if r.faults {
			more, err := r.again(ctx, i, batch)
			if err != nil {
				return c, err
			}
			repeats += more
		}
	}
	c.records, c.units, c.calls, c.failed = len(list), r.units(), r.calls, r.failed
	if c.failed > 0 {
		c.failedUnits = repeats
		if r.applied > 0 {
			c.failedUnits = c.units - r.applied
		}
	}
	return c, nil
}

func (r *job) start() (err error) {
	r.container, err = r.begin(r.load, r.meter, r.table)
	return err
}

// again delivers a batch again if it is its turn: to the same container, or to a
// new one that goes on from there. It returns the write units that this took.
func (r *job) again(ctx context.Context, i int, batch []record) (units float64, err error) {
	switch i % faultEvery {
	case faultEvery/2 - 1:
	case faultEvery - 1:
		if err := r.start(); err != nil {
			return 0, err
		}
	default:
		return 0, nil
	}
	before := r.units()
	err = r.container.fold(ctx, batch)
	return r.units() - before, err
}

// total adds up all summaries.
func (r *job) total(ctx context.Context) (total int64, err error) {
	pages := dynamodb.NewScanPaginator(r.Client, &dynamodb.ScanInput{TableName: &r.table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, fmt.Errorf("reading the summaries: %w", err)
		}
		for _, item := range page.Items {
			n, err := value(item)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

// value is what a summary, of a counter or of events, comes to.
func value(item map[string]types.AttributeValue) (sum int64, err error) {
	for name, v := range item {
		if !schema.IsValueAttr(name) && name != schema.RollupEvents {
			continue
		}
		number, ok := v.(*types.AttributeValueMemberN)
		if !ok {
			return 0, fmt.Errorf("a summary's %s is not a number", name)
		}
		n, err := strconv.ParseInt(number.Value, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("a summary's %s: %w", name, err)
		}
		sum += n
	}
	return sum, nil
}
