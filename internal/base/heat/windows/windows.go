// Package windows reads the heat table, window by window.
//
//	reader := windows.Reader{Client: client, Table: settings.HeatTable}
//	for window, err := range reader.Windows(ctx, from, to, 10*time.Second) {
//		rows := heat.Merge(window.Items)
//	}
package windows

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
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Reader reads the heat table. It is a [heat.Source]: it reads layers for the time that is folded, and full items for
// the rest. Consistent selects consistent reads.
type Reader struct {
	Client     client.Querier
	Table      string
	Consistent bool
}

// All iterates over the full items of the windows that start at from or later and before to, in order of time. Only
// some pages of an hour are in memory. It ends after an error.
func (r Reader) All(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		p, err := r.Progress(ctx)
		if err != nil {
			yield(heat.Window{}, err)
			return
		}
		r.readFull(ctx, p, from, to)(yield)
	}
}

// readFull iterates over full items, given the progress.
func (r Reader) readFull(ctx context.Context, p heat.Progress, from, to time.Time) iter.Seq2[heat.Window, error] {
	return r.readPartitions(ctx, heat.Partitions(from, to, true), 2*heat.Salts, from, p.HeldSince(from), to)
}

// Alone is [Reader.All] without the quiet windows that are stored together (see [heat.MaxHold]).
func (r Reader) Alone(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return r.readPartitions(ctx, heat.Partitions(from, to, false), heat.Salts, from, from, to)
}

// Layer is [Reader.All] for a layer's items.
func (r Reader) Layer(ctx context.Context, layer heat.Layer, from, to time.Time) iter.Seq2[heat.Window, error] {
	return r.readPartitions(ctx, layer.Partitions(from, to), 1, from, from, to)
}

// Windows implements [heat.Source]. It reads the coarsest layers that are fine enough for step, and full items of the
// time that no layer has: normally the last minute or two.
func (r Reader) Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		progress, err := r.Progress(ctx)
		if err != nil {
			yield(heat.Window{}, err)
			return
		}
		for _, s := range cover(from, to, step, progress, heat.ByTenMinutes) {
			windows := r.readFull(ctx, progress, s.from, s.to)
			if s.layer != full {
				windows = r.Layer(ctx, s.layer, s.from, s.to)
			}
			for window, err := range windows {
				if s.layer != full {
					window.Length = s.layer.Length()
				}
				if !yield(window, err) || err != nil {
					return
				}
			}
		}
	}
}

// full stands for full items, which are finer than all layers.
const full = heat.ByWindow - 1

// span is a time range to read from one layer.
type span struct {
	layer    heat.Layer
	from, to time.Time
}

// cover divides a time range into spans to read, in order. If the layer is fine enough for step, the spans cover as
// much as possible by it, and the ends by finer layers.
func cover(from, to time.Time, step time.Duration, p heat.Progress, layer heat.Layer) []span {
	if !from.Before(to) {
		return nil
	}
	if layer == full {
		return []span{{full, from, to}}
	}
	first, last := from, to
	if first.Before(p.From) {
		first = p.From
	}
	if last.After(p.To) {
		last = p.To
	}
	if length := layer.Length(); length > 0 {
		first, last = first.Add(length-1).Truncate(length), last.Truncate(length)
	}
	if layer.Length() > step || !first.Before(last) {
		return cover(from, to, step, p, layer-1)
	}
	spans := append(cover(from, first, step, p, layer-1), span{layer, first, last})
	return append(spans, cover(last, to, step, p, layer-1)...)
}

// Progress returns the progress of the layers. It is zero if there are no layers, or if another release wrote them.
func (r Reader) Progress(ctx context.Context) (p heat.Progress, err error) {
	for item, err := range dynamo.Items(ctx, r.Client, r.query(heat.ProgressPartition, schema.SoleSK, schema.SoleSK)) {
		if err != nil {
			return p, fmt.Errorf("heat: reading the progress of the layers: %w", err)
		}
		if p, err = heat.ParseProgress(item); errors.Is(err, heat.ErrVersion) {
			return heat.Progress{}, nil
		}
		return p, err
	}
	return p, nil
}

// Query returns the query for the items of one partition.
func (r Reader) Query(pk string, from, to time.Time) *dynamodb.QueryInput {
	low, high := heat.SortBounds(from, to)
	return r.query(pk, low, high)
}

func (r Reader) query(pk, low, high string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              &r.Table,
		ConsistentRead:         &r.Consistent,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: dynamo.Item{
			":pk": dynamo.String(pk), ":low": dynamo.String(low), ":high": dynamo.String(high),
		},
	}
}

// readPartitions iterates over the windows of partitions, in order of time. Each hour or day has salts partitions, which it reads
// concurrently. Stored items with several windows are read from held on.
func (r Reader) readPartitions(ctx context.Context, partitions []string, salts int, from, held, to time.Time) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for together := range slices.Chunk(partitions, salts) {
			if !r.readTogether(ctx, together, from, held, to, yield) {
				return
			}
		}
	}
}

// readTogether yields the windows of several partitions, merged by time. It holds about a page of each in memory. It
// returns false if the iteration must end.
func (r Reader) readTogether(ctx context.Context, partitions []string, from, held, to time.Time, yield func(heat.Window, error) bool) bool {
	var feeds []*feed
	for _, pk := range partitions {
		first := from
		if heat.HeldPartition(pk) { // an item with several windows has the first one's sort key
			first = held
		}
		next, stop := iter.Pull2(dynamo.Pages(ctx, r.Client, r.Query(pk, first, to)))
		defer stop()
		feeds = append(feeds, &feed{pk: pk, next: next, from: from, to: to})
	}
	for {
		window, err := nextWindow(feeds)
		if err == nil && window.Start.IsZero() {
			return true
		}
		if !yield(window, err) || err != nil {
			return false
		}
	}
}
