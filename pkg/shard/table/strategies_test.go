package table_test

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// strategy is a way to shard a table, which TestConformance checks.
type strategy struct {
	name    string
	sort    types.ScalarAttributeType
	stamp   shard.Stamp
	formats []shard.Format
	layout  func(b shard.Bucket, group string) table.Layout
	fixed   bool // the count never changes
}

var (
	all = []shard.Format{"", shard.HashShard, shard.Underscore}

	strategies = []strategy{
		{"random suffix, text", "S", shard.Millis, all, func(shard.Bucket, string) table.Layout { return table.RandomSuffix{} }, false},
		{"random suffix, numbers", "N", shard.UnixMillis, all, func(shard.Bucket, string) table.Layout { return table.RandomSuffix{} }, false},
		{"calculated suffix by the sort key", "S", shard.Nanos, all, func(shard.Bucket, string) table.Layout {
			return table.CalculatedSuffix{Time: table.SortTime("placed", shard.Nanos)}
		}, false},
		{"calculated suffix by an id", "N", shard.UnixSeconds, all, func(shard.Bucket, string) table.Layout {
			return table.CalculatedSuffix{By: "id", Time: table.AttributeTime("placed")}
		}, false},
		{"calculated suffix without a time", "S", shard.Millis, all, func(shard.Bucket, string) table.Layout {
			return table.CalculatedSuffix{}
		}, true},
		{"calculated suffix by an id, without a time", "S", shard.Millis, all, func(shard.Bucket, string) table.Layout {
			return table.CalculatedSuffix{By: "id"}
		}, true},
		{"hybrid buckets, fixed", "S", "", all, func(b shard.Bucket, group string) table.Layout {
			return table.HybridBuckets{Bucket: b}
		}, true},
		{"hybrid buckets, microseconds", "S", shard.Micros, all, func(b shard.Bucket, group string) table.Layout {
			return table.HybridBuckets{Bucket: b, Stamp: shard.Micros, Group: group}
		}, false},
		{"time buckets, random", "S", shard.Seconds, all, func(b shard.Bucket, _ string) table.Layout {
			return table.TimeBuckets{Bucket: b, Stamp: shard.Seconds}
		}, false},
		{"time buckets, calculated", "S", "", all, func(b shard.Bucket, _ string) table.Layout {
			return table.TimeBuckets{Bucket: b, By: "id"}
		}, false},
		{"time buckets, numbers", "N", shard.UnixSeconds, all, func(b shard.Bucket, _ string) table.Layout {
			return table.TimeBuckets{Bucket: b, Stamp: shard.UnixSeconds, By: "id"}
		}, false},
		{"hybrid buckets", "S", "", all, func(b shard.Bucket, group string) table.Layout {
			return table.HybridBuckets{Bucket: b, Group: group}
		}, false},
	}
)
