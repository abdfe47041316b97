package hotkeys

import (
	"cmp"
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// table is the heat table.
type table struct {
	heat.WindowReader // with consistent reads
	client            HeatTable
	logged            lastTexts // by an unreadable item's error
}

func openTable(client HeatTable, s Settings) *table {
	return &table{WindowReader: heat.WindowReader{Client: client, Table: s.HeatTable, Consistent: true}, client: client}
}

// putItem stores an item, and replaces one with the same key.
func (t *table) putItem(ctx context.Context, item dynamo.Item) error {
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Table, Item: item})
	return err
}

// countsRecords reports whether a stored item counts the first record of windows, and whether a stored item counts all their
// records.
func (t *table) countsRecords(ctx context.Context, windows []heat.Item) (countsFirst, countsAll bool, err error) {
	partitions, low, high := windows[0].KeysOfWindow()
	for _, pk := range partitions {
		for stored, err := range dynamo.Items(ctx, t.client, t.Query(pk, low, high)) {
			if err != nil {
				return false, false, err
			}
			first, all := heat.CountsRecords(stored, windows)
			countsFirst, countsAll = countsFirst || first, countsAll || all
		}
	}
	return countsFirst, countsAll, nil
}

// logUnreadable logs each unreadable item once.
func (t *table) logUnreadable(ctx context.Context, j *journal, faults []error) {
	for _, err := range faults {
		if t.logged.changed(err.Error(), "logged") {
			j.ErrorContext(ctx, "heat item not readable, so its time proves nothing", "error", err)
		}
	}
}

// itemsByLength returns a window's items of one table, by the length of their windows. table is "" for hotshard's tables.
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
