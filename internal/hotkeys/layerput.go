package hotkeys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/metrics"
)

// fold merges the items of a time from the layer below, and puts the result into a layer. For [heat.ByWindow] it puts
// items for each window, else items for the whole time. It returns the number of windows that it read.
func (f *folder) fold(ctx context.Context, j *journal, layer heat.Layer, from, to time.Time) (n int, err error) {
	below := f.heat.All(ctx, from, to)
	if layer > heat.ByWindow {
		below = f.heat.Layer(ctx, layer-1, from, to)
	}
	var group heat.Window
	for window, err := range below {
		if err != nil {
			return n, fmt.Errorf("hotkeys: reading items to fold: %w", err)
		}
		n++
		if layer == heat.ByWindow {
			if err := f.putLayer(ctx, j, layer, window); err != nil {
				return n, err
			}
			continue
		}
		group.Items = append(group.Items, window.Items...)
		group.Unreadable = append(group.Unreadable, window.Unreadable...)
	}
	if layer == heat.ByWindow {
		return n, nil
	}
	group.Start = from
	return n, f.putLayer(ctx, j, layer, group)
}

// putLayer merges and puts the items of one time. It marks the result as incomplete if an item is unreadable.
func (f *folder) putLayer(ctx context.Context, j *journal, layer heat.Layer, window heat.Window) error {
	f.heat.logUnreadable(ctx, j, window.Unreadable)
	folded := layer.Fold(window.Items, window.Start)
	replaced := make([]*dynamodb.PutItemOutput, len(folded))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for i := range folded {
		it := &folded[i]
		it.Incomplete = it.Incomplete || len(window.Unreadable) > 0
		group.Go(func() (err error) {
			put := &dynamodb.PutItemInput{
				TableName: &f.heat.Table, Item: layer.Stored(it, it.End().Add(f.settings.HeatRetention)), ReturnValues: types.ReturnValueAllOld,
			}
			if !it.Incomplete { // an incomplete item may have lost records that were folded before
				put.ConditionExpression = aws.String("attribute_not_exists(pk) OR #records <= :records")
				put.ExpressionAttributeNames = map[string]string{"#records": "records"}
				put.ExpressionAttributeValues = map[string]types.AttributeValue{":records": put.Item["records"]}
			}
			replaced[i], err = f.heat.client.PutItem(ctx, put)
			if _, newer := dynamo.ConditionFailed(err); err == nil || newer {
				return nil // if newer, another run has read more records
			}
			return fmt.Errorf("hotkeys: putting the layers' item for %s: %w", it.Start.Format(time.RFC3339), err)
		})
	}
	err := group.Wait()
	for i, out := range replaced {
		if out != nil && layer == heat.ByWindow {
			f.layerMetrics(j, &folded[i], out.Attributes)
		}
	}
	return err
}

// layerMetrics adds a window's metrics of all stream shards, by table. If the window was folded before, it adds only
// the difference, so that each record is in the metrics once.
func (f *folder) layerMetrics(j *journal, it *heat.Item, replaced dynamo.Item) {
	table := it.Table
	if it.Own != "" {
		table = f.settings.names().Table(it.Own)
	}
	var before heat.Item // zero if there was none, or if it can't be parsed
	if replaced != nil {
		before, _ = heat.Parse(replaced)
	}
	if it.Records == before.Records {
		return
	}
	fastest := 0.0
	for _, row := range heat.Merge([]heat.Item{*it}) {
		fastest = max(fastest, row.WriteUnitsPerSecond)
	}
	j.data = append(j.data,
		tableMetric(table, "WriteUnits", float64(it.Units)-float64(before.Units), metrics.Count, it.Start),
		tableMetric(table, "Records", float64(it.Records)-float64(before.Records), metrics.Count, it.Start),
		tableMetric(table, "MaxKeyWriteUnitsPerSecond", fastest, metrics.CountPerSecond, it.Start))
}

// refoldLate folds the minutes again in which late items have windows. It handles the notes of late items that were
// made before notedBefore. It returns the number of windows.
func (f *folder) refoldLate(ctx context.Context, j *journal, p *heat.Progress, notedBefore time.Time) (windows int, err error) {
	minutes, upTo, err := f.listLate(ctx, j, *p, notedBefore)
	if err != nil {
		return 0, err
	}
	for _, minute := range slices.SortedFunc(maps.Keys(minutes), time.Time.Compare) {
		end := minute.Add(time.Minute)
		if end.After(p.To) {
			end = p.To
		}
		n, err := f.foldAll(ctx, j, minute, end, p.To)
		if err != nil {
			return 0, err
		}
		windows += n
	}
	p.Late = upTo
	if windows == 0 {
		return 0, nil
	}
	return windows, f.putProgress(ctx, *p)
}

// listLate returns the folded minutes with windows of late items, and the time up to which it read notes. It stops
// after maxLate minutes and all notes of one time, since the next run begins with a time.
func (f *folder) listLate(ctx context.Context, j *journal, p heat.Progress, notedBefore time.Time) (minutes map[time.Time]bool, upTo time.Time, err error) {
	minutes = make(map[time.Time]bool)
	last := time.Time{}
	for item, err := range f.heat.items(ctx, heat.LatePartition, p.Late, notedBefore) {
		if err != nil {
			return nil, upTo, fmt.Errorf("hotkeys: reading the notes of late items: %w", err)
		}
		late, err := heat.ParseLate(item)
		if err != nil {
			f.heat.logUnreadable(ctx, j, []error{err})
			continue
		}
		first := late.Start.Truncate(time.Minute)
		if len(minutes) >= maxLate && !minutes[first] && late.Noted.After(last) {
			return minutes, late.Noted, nil
		}
		last = late.Noted
		for minute := first; minute.Before(late.End); minute = minute.Add(time.Minute) {
			if !minute.Before(p.From) && minute.Before(p.To) {
				minutes[minute] = true
			}
		}
	}
	return minutes, notedBefore, nil
}
