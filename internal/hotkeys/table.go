package hotkeys

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/windows"
)

// table is the heat table.
type table struct {
	windows.Reader // with consistent reads
	client         HeatTable
	logged         lastTexts // by an unreadable item's error
}

func openTable(client HeatTable, s Settings) *table {
	return &table{Reader: windows.Reader{Client: client, Table: s.HeatTable, Consistent: true}, client: client}
}

// putItem stores an item, and replaces one with the same key.
func (t *table) putItem(ctx context.Context, item dynamo.Item) error {
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Table, Item: item})
	return err
}

// items returns a partition's items from a time range.
func (t *table) items(ctx context.Context, pk string, from, to time.Time) iter.Seq2[dynamo.Item, error] {
	return dynamo.Items(ctx, t.client, t.Query(pk, from, to))
}

// logUnreadable logs each unreadable item once.
func (t *table) logUnreadable(ctx context.Context, j *journal, faults []error) {
	for _, err := range faults {
		if t.logged.changed(err.Error(), "said") {
			j.ErrorContext(ctx, "heat item not readable, so its time proves nothing", "error", err)
		}
	}
}

// itemsByLength returns a window's items of one [heat.Item.Table], by the length of their windows. Another table may
// have the same keys.
func itemsByLength(table string, w heat.Window) map[time.Duration][]heat.Item {
	lengths := make(map[time.Duration][]heat.Item)
	for _, item := range w.Items {
		if item.Table == table {
			length := cmp.Or(item.Base, item.Window)
			lengths[length] = append(lengths[length], item)
		}
	}
	return lengths
}
