package heat

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// WindowReader reads the heat table. It is a [Source]. Consistent selects consistent reads.
type WindowReader struct {
	Client     client.Querier
	Table      string
	Consistent bool
}

// The series from which a span of time is read.
var (
	unfolded = []Series{Prompt, Late}
	prompt   = []Series{Prompt}
	minutes  = []Series{Minutes, Late}
	blocks   = []Series{Blocks}
)

// WithoutHeld iterates over the items of all stream shards with windows that start at from or later and before to, in
// order of time, without stored items that begin before from: see [MaxHold]. It holds only some pages of an hour in
// memory, and ends after an error, as all reads do.
func (r WindowReader) WithoutHeld(ctx context.Context, from, to time.Time) iter.Seq2[Window, error] {
	return r.read(ctx, windowSpan{unfolded, from, to}, Progress{Held: NeverHeld})
}

// Prompt is [WindowReader.WithoutHeld] with the held windows and without the items of [Late]. p is the result of
// [WindowReader.Progress].
func (r WindowReader) Prompt(ctx context.Context, p Progress, from, to time.Time) iter.Seq2[Window, error] {
	return r.read(ctx, windowSpan{prompt, from, to}, p)
}

// Folded iterates over the folded minutes that start at from or later and before to, with their late items added. p is the
// result of [WindowReader.Progress].
func (r WindowReader) Folded(ctx context.Context, p Progress, from, to time.Time) iter.Seq2[Window, error] {
	return r.read(ctx, windowSpan{minutes, from, to}, p)
}

// Windows implements [Source]. It reads blocks if the step allows it, then minutes and late items since the last block, then
// items of stream shards since the last minute, normally for two minutes. For a minute or block that is missing, the window
// has an unreadable item.
func (r WindowReader) Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[Window, error] {
	return func(yield func(Window, error) bool) {
		progress, err := r.Progress(ctx)
		if err != nil {
			yield(Window{}, err)
			return
		}
		for _, s := range cover(from, to, step, progress) {
			for window, err := range r.read(ctx, s, progress) {
				if !yield(window, err) || err != nil {
					return
				}
			}
		}
	}
}

// windowSpan is a time range to read from some series.
type windowSpan struct {
	series   []Series
	from, to time.Time
}

// cover divides a time range into spans to read, in order. It uses blocks only for a step of at least a block.
func cover(from, to time.Time, step time.Duration, p Progress) (spans []windowSpan) {
	clamp := func(t time.Time) time.Time { return MinTime(MaxTime(t, from), to) }
	block := Blocks.Length()
	minutesFrom := clamp(p.From)
	minutesTo := MaxTime(minutesFrom, clamp(p.To))
	blocksFrom := minutesFrom.Add(block - 1).Truncate(block)
	blocksTo := MinTime(p.Blocks, minutesTo).Truncate(block)
	if step < block || !blocksFrom.Before(blocksTo) { // no block: read minutes up to minutesTo
		blocksFrom, blocksTo = minutesTo, minutesTo
	}
	all := []windowSpan{
		{unfolded, from, minutesFrom}, {minutes, minutesFrom, blocksFrom}, {blocks, blocksFrom, blocksTo}, {minutes, blocksTo, minutesTo}, {unfolded, minutesTo, to},
	}
	return slices.DeleteFunc(all, func(s windowSpan) bool { return !s.from.Before(s.to) })
}

// Progress returns how far heat is folded. It is zero if nothing is folded, or if another release wrote it.
func (r WindowReader) Progress(ctx context.Context) (p Progress, err error) {
	for item, err := range dynamo.Items(ctx, r.Client, r.Query(ProgressPartition, schema.SoleSK, schema.SoleSK)) {
		if err != nil {
			return p, fmt.Errorf("heat: reading the item %q of table %s: %w", ProgressPartition, r.Table, err)
		}
		if p, err = ParseProgress(item); errors.Is(err, ErrVersion) {
			return Progress{}, nil
		}
		return p, err
	}
	return p, nil
}

// Query returns the query for the items of one partition, with sort keys from low to high.
func (r WindowReader) Query(pk, low, high string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              &r.Table,
		ConsistentRead:         &r.Consistent,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: dynamo.Item{
			":pk": dynamo.String(pk), ":low": dynamo.String(low), ":high": dynamo.String(high),
		},
	}
}

// read iterates over the windows of a span, in order of time. It reads the partitions of each hour or day concurrently.
func (r WindowReader) read(ctx context.Context, s windowSpan, p Progress) iter.Seq2[Window, error] {
	return func(yield func(Window, error) bool) {
		for s.from.Before(s.to) {
			_, end := s.series[0].Partitions(s.from)
			bucket := windowSpan{s.series, s.from, MinTime(s.to, end)}
			if !r.readBucket(ctx, bucket, p, yield) {
				return
			}
			s.from = bucket.to
		}
	}
}

// readBucket yields the windows of a span within one hour, or one day for blocks, merged by time. It holds about a page of
// each partition in memory. It returns false after an error, or if yield returned false.
func (r WindowReader) readBucket(ctx context.Context, s windowSpan, p Progress, yield func(Window, error) bool) bool {
	var feeds []*feed
	for _, series := range s.series {
		first, length := p.HeldSince(s.from), series.Length() // an item with several windows has the sort key of the first
		if length > 0 {
			first = AlignDown(s.from, length)
		}
		low, high := SortBound(first), SortBound(s.to)
		partitions, _ := series.Partitions(s.from)
		for _, pk := range partitions {
			pages := dynamodb.NewQueryPaginator(r.Client, r.Query(pk, low, high))
			nextPage := func() (*dynamodb.QueryOutput, error) { return pages.NextPage(ctx) }
			feeds = append(feeds, &feed{pk: pk, nextPage: nextPage, from: s.from, to: s.to, itemLength: length, nextItem: first})
		}
	}
	for {
		window, err := nextWindow(feeds)
		if err == nil && window.Start.IsZero() {
			return true
		}
		late := func(it Item) bool { return it.Base == 0 }
		if feeds[0].itemLength > 0 && slices.ContainsFunc(window.Items, late) {
			window.Items = FoldAll(window.Items, window.Start, 0) // adds the late items to the minutes' windows
		}
		if !yield(window, err) || err != nil {
			return false
		}
	}
}
