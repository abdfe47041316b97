package hotkey

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/heat/windows"
)

// table is the heat table.
type table struct {
	windows.Reader // consistent
	client         HeatTable
	said           once // of items that can't be read
}

func openTable(client HeatTable, s Settings) *table {
	return &table{Reader: windows.Reader{Client: client, Table: s.HeatTable, Consistent: true}, client: client}
}

// put stores an item in the place of the one with its key.
func (t *table) put(ctx context.Context, item dynamo.Item) error {
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Table, Item: item})
	return err
}

// items goes through a partition's items of a time.
func (t *table) items(ctx context.Context, pk string, from, to time.Time) iter.Seq2[dynamo.Item, error] {
	return dynamo.Items(ctx, t.client, t.Query(pk, from, to))
}

// unreadable logs, once each, that items can't be read.
func (t *table) unreadable(ctx context.Context, j *journal, faults []error) {
	for _, err := range faults {
		if t.said.first(err.Error(), "said") {
			j.ErrorContext(ctx, "heat item not readable, so its time proves nothing", "error", err)
		}
	}
}

// own are a window's items of hotshard's own table, by their lengths. Those of other tables
// are of keys that only look like hotshard's.
func own(w heat.Window) map[time.Duration][]heat.Item {
	lengths := make(map[time.Duration][]heat.Item)
	for _, item := range w.Items {
		if item.Table == "" {
			lengths[item.Window] = append(lengths[item.Window], item)
		}
	}
	return lengths
}
