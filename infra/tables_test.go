package infra

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/schema"
)

func TestTablesAreThoseOfTheSchema(t *testing.T) {
	tm := deployed(t)
	want := schema.Tables(schema.NamesFor("hotshard-"))
	if got := tm.of(t, "AWS::DynamoDB::GlobalTable"); len(got) != len(want) {
		t.Errorf("%d tables, want %d", len(got), len(want))
	}
	for _, table := range want {
		_, r := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", table.Name)
		p := r.Properties
		if got := keys(p); got != table.PartitionKey+" "+table.SortKey {
			t.Errorf("%s has keys %q", table.Name, got)
		}
		if p.text("BillingMode") != "PAY_PER_REQUEST" || p.object("SSESpecification")["SSEEnabled"] != false {
			t.Errorf("%s: %v", table.Name, p)
		}
		if got := p.object("TimeToLiveSpecification").text("AttributeName"); table.TTL != "" && got != table.TTL {
			t.Errorf("%s: TTL %s", table.Name, got)
		}
		if got := p.object("StreamSpecification").text("StreamViewType"); table.Stream != (got == "NEW_AND_OLD_IMAGES") {
			t.Errorf("%s: stream %s", table.Name, got)
		}
		for n, index := range table.Indexes {
			got := object(p.list("GlobalSecondaryIndexes")[n].(map[string]any))
			if got.text("IndexName") != index.Name || keys(got) != index.PartitionKey+" "+index.SortKey || got.object("Projection").text("ProjectionType") != "ALL" {
				t.Errorf("%s: index %v", table.Name, got)
			}
		}
		if len(p.list("GlobalSecondaryIndexes")) != len(table.Indexes) {
			t.Errorf("%s: indexes %v", table.Name, p.list("GlobalSecondaryIndexes"))
		}
	}
}

// keys are the names of a table's or index's keys.
func keys(p object) string {
	var names [2]string
	for _, key := range p.list("KeySchema") {
		k := object(key.(map[string]any))
		names[slices.Index([]string{"HASH", "RANGE"}, k.text("KeyType"))] = k.text("AttributeName")
	}
	return strings.Join(names[:], " ")
}

func replica(p object) object { return p.list("Replicas")[0].(map[string]any) }

func TestTablesAreKept(t *testing.T) {
	for name, r := range deployed(t).of(t, "AWS::DynamoDB::GlobalTable") {
		pitr := replica(r.Properties).object("PointInTimeRecoverySpecification")
		recoverable, days := r.Properties.text("TableName") != "hotshard-heat", 35.0 // what was counted can be lost
		if !recoverable {
			days = 0
		}
		if r.DeletionPolicy != "Retain" || replica(r.Properties)["DeletionProtectionEnabled"] != true ||
			pitr["PointInTimeRecoveryEnabled"] != recoverable || pitr.number("RecoveryPeriodInDays") != days {
			t.Errorf("%s: %s %v", name, r.DeletionPolicy, r.Properties)
		}
	}
}

func TestTablesAsTold(t *testing.T) {
	tm := with(t, map[string]any{
		"prefix": "other-", "removal": "destroy", "deletionProtection": "false", "pitr": "false", "encryption": "account",
		"maxReadUnits": "40000", "maxWriteUnits": "20000", "warmReadUnits": "30000", "warmWriteUnits": "10000",
	})
	for name, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
		p := r.Properties
		if r.DeletionPolicy != "Delete" || replica(p)["DeletionProtectionEnabled"] != false || p.object("SSESpecification").text("SSEType") != "KMS" ||
			replica(p).object("PointInTimeRecoverySpecification")["PointInTimeRecoveryEnabled"] != false {
			t.Errorf("%s: %s %v", name, r.DeletionPolicy, p)
		}
	}
	_, r := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", "other-items")
	for _, part := range []object{r.Properties, r.Properties.list("GlobalSecondaryIndexes")[0].(map[string]any)} {
		if w := part.object("WarmThroughput"); w.number("ReadUnitsPerSecond") != 30000 || w.number("WriteUnitsPerSecond") != 10000 {
			t.Errorf("warm throughput %v", w)
		}
		if w := part.object("WriteOnDemandThroughputSettings"); w.number("MaxWriteRequestUnits") != 20000 {
			t.Errorf("most write units %v", w)
		}
	}
	if read := replica(r.Properties).object("ReadOnDemandThroughputSettings"); read.number("MaxReadRequestUnits") != 40000 {
		t.Errorf("most read units %v", read)
	}
	_, bucket := tm.named(t, "AWS::S3::Bucket", "BucketName", "<nil>")
	if bucket.DeletionPolicy != "Delete" {
		t.Errorf("the bucket's deletion policy is %s", bucket.DeletionPolicy)
	}
}
