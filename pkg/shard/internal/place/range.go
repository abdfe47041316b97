package place

import (
	"context"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Range selects items of a name.
type Range struct {
	Low, High  types.AttributeValue // both included
	Desc       bool                 // from high to low sort keys
	Limit      int                  // about how many items are read; 0 is all
	MaxQueries int                  // maximum of partitions to read; 0 is no maximum
	Consistent bool
	Twice      bool                      // an item on two write shards is yielded twice
	Drop       func(it dynamo.Item) bool // reports whether to skip an item; may be nil
}

// Stored is an item and where it was read.
type Stored struct {
	Item dynamo.Item // as callers see it
	At   Position
	PK   string
	Sort types.AttributeValue // as stored
}

// ReadRange yields the items of a *table.Table in a range, in order. rest returns where the next range begins, or nil if
// this one was read to its end. Package table sets it.
var ReadRange func(ctx context.Context, t any, name string, of Range, now time.Time) (items iter.Seq2[Stored, error], rest func() *Position)
