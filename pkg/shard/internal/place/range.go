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
	Limit      int                  // about how many items the caller reads; 0 is all
	MaxQueries int                  // maximum of partitions to read; 0 is no maximum
	Consistent bool
	KeepCopies bool                      // yield an item that is on two write shards twice
	Drop       func(it dynamo.Item) bool // reports whether to skip an item; may be nil
}

// Stored is an item and where it was read.
type Stored struct {
	Item dynamo.Item // as callers see it
	At   Position
	PK   string
	Sort types.AttributeValue // as stored
}

// ReadRange, which package table sets, yields a name's items of a range of t, a *table.Table, in order. After a whole
// iteration without an error, rest returns the position at which the unread rest begins, or nil if all was read.
var ReadRange func(ctx context.Context, t any, name string, want Range, now time.Time) (items iter.Seq2[Stored, error], rest func() *Position)
