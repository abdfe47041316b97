package infra

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestTablesMatchSchema checks each table's keys, TTL, stream and indexes.
func TestTablesMatchSchema(t *testing.T) {
	tm := deployed(t)
	want := schema.Tables(schema.NamesFor("hotshard-"))
	if got := tm.of(t, "AWS::DynamoDB::GlobalTable"); len(got) != len(want) {
		t.Errorf("%d tables, want %d", len(got), len(want))
	}
	for _, table := range want {
		_, r := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", table.Name)
		p := r.Properties
		if got := keys(p); got != table.PartitionKey+" "+table.SortKey {
			t.Errorf("%s has the keys %q, want %s %s", table.Name, got, table.PartitionKey, table.SortKey)
		}
		if p.text("BillingMode") != "PAY_PER_REQUEST" || p.object("SSESpecification")["SSEEnabled"] != false {
			t.Errorf("%s: %v, want on demand and DynamoDB's own key", table.Name, p)
		}
		if got := p.object("TimeToLiveSpecification").text("AttributeName"); table.TTL != "" && got != table.TTL {
			t.Errorf("%s: TTL %s, want %s", table.Name, got, table.TTL)
		}
		if got := p.object("StreamSpecification").text("StreamViewType"); table.Stream != (got == "NEW_AND_OLD_IMAGES") {
			t.Errorf("%s: stream %s, want one: %t", table.Name, got, table.Stream)
		}
		for n, index := range table.Indexes {
			got := p.objects("GlobalSecondaryIndexes")[n]
			projection, want, include := got.object("Projection"), "ALL", "<nil>"
			if index.Include != nil {
				want, include = "INCLUDE", fmt.Sprint(index.Include)
			}
			if got.text("IndexName") != index.Name || keys(got) != index.PartitionKey+" "+index.SortKey || projection.text("ProjectionType") != want ||
				fmt.Sprint(projection["NonKeyAttributes"]) != include {
				t.Errorf("%s: index %v, want %+v", table.Name, got, index)
			}
		}
		if len(p.list("GlobalSecondaryIndexes")) != len(table.Indexes) {
			t.Errorf("%s: indexes %v, want %d", table.Name, p.list("GlobalSecondaryIndexes"), len(table.Indexes))
		}
	}
}

// keys returns the key attributes of a table or an index.
func keys(p object) string {
	var names [2]string
	for _, k := range p.objects("KeySchema") {
		names[slices.Index([]string{"HASH", "RANGE"}, k.text("KeyType"))] = k.text("AttributeName")
	}
	return strings.Join(names[:], " ")
}

func replica(p object) object { return p.objects("Replicas")[0] }

// TestTablesAreRetained checks that tables are retained and protected, and have recovery unless they are expendable.
func TestTablesAreRetained(t *testing.T) {
	tm := deployed(t)
	for _, table := range schema.Tables(schema.NamesFor("hotshard-")) {
		_, r := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", table.Name)
		pitr := replica(r.Properties).object("PointInTimeRecoverySpecification")
		if r.DeletionPolicy != "Retain" || replica(r.Properties)["DeletionProtectionEnabled"] != true || replica(r.Properties)["ContributorInsightsSpecification"] != nil {
			t.Errorf("%s: deletion policy %s, %v", table.Name, r.DeletionPolicy, r.Properties)
		}
		if kept := pitr["PointInTimeRecoveryEnabled"] == true && pitr.number("RecoveryPeriodInDays") == 35; kept == table.Expendable {
			t.Errorf("%s: recovery %v, want 35 days: %t", table.Name, pitr, !table.Expendable)
		}
	}
}

// TestOutputsNameTables checks that each table has an output with a description.
func TestOutputsNameTables(t *testing.T) {
	text := string(deployed(t).text)
	for _, table := range schema.Tables(schema.NamesFor("")) {
		name := strings.ReplaceAll(strings.ReplaceAll(table.Name, "shard-map", "ShardMap"), "-", "")
		name = strings.ToUpper(name[:1]) + name[1:] + "Table"
		if !regexp.MustCompile(`"` + name + `": \{\s+"Description": "\w`).MatchString(text) {
			t.Errorf("there is no output %s with a description", name)
		}
	}
}

// TestTableSettings checks the settings of removal, recovery, encryption, throughput and Contributor Insights.
func TestTableSettings(t *testing.T) {
	tm := with(t, map[string]any{
		"prefix": "other-", "removal": "destroy", "deletionProtection": "false", "pitr": "false", "encryption": "account",
		"maxReadUnits": "40000", "maxWriteUnits": "20000", "warmReadUnits": "30000", "warmWriteUnits": "10000", "contributorInsights": true,
		"warmIndexReadUnits": "13000", "warmIndexWriteUnits": "5000",
		"maxEventsReadUnits": "42000", "maxEventsWriteUnits": "22000", "warmEventsReadUnits": "32000", "warmEventsWriteUnits": "12000",
		"maxRollupsReadUnits": "41000", "maxRollupsWriteUnits": "21000", "warmRollupsReadUnits": "31000", "warmRollupsWriteUnits": "11000",
	})
	for name, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
		p := r.Properties
		if r.DeletionPolicy != "Delete" || replica(p)["DeletionProtectionEnabled"] != false || p.object("SSESpecification").text("SSEType") != "KMS" ||
			replica(p).object("PointInTimeRecoverySpecification")["PointInTimeRecoveryEnabled"] != false {
			t.Errorf("%s: deletion policy %s, %v", name, r.DeletionPolicy, p)
		}
		for _, of := range append(replica(p).objects("GlobalSecondaryIndexes"), replica(p)) {
			if insights := of.object("ContributorInsightsSpecification"); insights["Enabled"] != true || insights.text("Mode") != "THROTTLED_KEYS" {
				t.Errorf("%s: Contributor Insights of %v", name, of)
			}
		}
	}
	_, r := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", "other-items")
	for n, part := range append([]object{r.Properties}, r.Properties.objects("GlobalSecondaryIndexes")...) {
		reads, writes := 30000.0, 10000.0
		if n > 0 {
			reads, writes = 13000, 5000
		}
		if w := part.object("WarmThroughput"); w.number("ReadUnitsPerSecond") != reads || w.number("WriteUnitsPerSecond") != writes {
			t.Errorf("warm throughput %v, want %v and %v", w, reads, writes)
		}
		if w := part.object("WriteOnDemandThroughputSettings"); w.number("MaxWriteRequestUnits") != 20000 {
			t.Errorf("maximum write units %v, want 20000", w)
		}
	}
	if read := replica(r.Properties).object("ReadOnDemandThroughputSettings"); read.number("MaxReadRequestUnits") != 40000 {
		t.Errorf("maximum read units %v, want 40000", read)
	}
	for name, more := range map[string]float64{"other-rollups": 1000, "other-events": 2000} {
		_, r = tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", name)
		if w := r.Properties.object("WarmThroughput"); w.number("ReadUnitsPerSecond") != 30000+more || w.number("WriteUnitsPerSecond") != 10000+more ||
			r.Properties.object("WriteOnDemandThroughputSettings").number("MaxWriteRequestUnits") != 20000+more ||
			replica(r.Properties).object("ReadOnDemandThroughputSettings").number("MaxReadRequestUnits") != 40000+more {
			t.Errorf("%s: throughput of %v", name, r.Properties)
		}
	}
	_, bucket := tm.named(t, "AWS::S3::Bucket", "BucketName", "<nil>")
	if bucket.DeletionPolicy != "Delete" {
		t.Errorf("the bucket's deletion policy is %s, want Delete", bucket.DeletionPolicy)
	}
}

// TestProvisioned checks that the tables of items, events and rollups have auto scaling, and that others are on demand. An
// index, which events do not write, has a minimum of one unit unless set.
func TestProvisioned(t *testing.T) {
	tm := with(t, map[string]any{
		"billing": "provisioned", "minReadUnits": "50", "maxReadUnits": "4000", "minWriteUnits": "100", "maxWriteUnits": "20000",
		"minEventsReadUnits": "20", "maxEventsReadUnits": "2000", "minEventsWriteUnits": "40", "maxEventsWriteUnits": "8000",
		"minRollupsReadUnits": "10", "maxRollupsReadUnits": "1000", "minRollupsWriteUnits": "30", "maxRollupsWriteUnits": "6000",
	})
	for id, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
		p := r.Properties
		want := map[string][2]string{"hotshard-items": {"50 4000 50 70", "100 20000 100 70"}, "hotshard-events": {"20 2000 20 70", "40 8000 40 70"}, "hotshard-rollups": {"10 1000 10 70", "30 6000 30 70"}}[p.text("TableName")]
		if want == [2]string{} {
			if p.text("BillingMode") != "PAY_PER_REQUEST" {
				t.Errorf("%s: %v, want on demand", id, p)
			}
			continue
		}
		reads := replica(p).object("ReadProvisionedThroughputSettings").object("ReadCapacityAutoScalingSettings")
		writes := p.object("WriteProvisionedThroughputSettings").object("WriteCapacityAutoScalingSettings")
		if p.text("BillingMode") != "PROVISIONED" || scaling(reads) != want[0] || scaling(writes) != want[1] {
			t.Errorf("%s: %s, reads %v, writes %v", id, p.text("BillingMode"), reads, writes)
		}
		for n := range p.list("GlobalSecondaryIndexes") {
			reads := replica(p).objects("GlobalSecondaryIndexes")[n].object("ReadProvisionedThroughputSettings").object("ReadCapacityAutoScalingSettings")
			writes := p.objects("GlobalSecondaryIndexes")[n].object("WriteProvisionedThroughputSettings").object("WriteCapacityAutoScalingSettings")
			if scaling(reads) != "1 4000 1 70" || scaling(writes) != "1 20000 1 70" {
				t.Errorf("%s, index %d: reads %v, writes %v", id, n, reads, writes)
			}
		}
	}
}

// TestIdleIndexesAreNotWarmed checks that the warm throughput of the items table is not set for its indexes too.
func TestIdleIndexesAreNotWarmed(t *testing.T) {
	_, r := with(t, map[string]any{"warmReadUnits": "30000", "warmWriteUnits": "10000"}).named(t, "AWS::DynamoDB::GlobalTable", "TableName", "hotshard-items")
	if r.Properties.object("WarmThroughput").number("WriteUnitsPerSecond") != 10000 {
		t.Errorf("warm throughput of the table %v, want 10000 writes", r.Properties["WarmThroughput"])
	}
	for _, index := range r.Properties.objects("GlobalSecondaryIndexes") {
		if index["WarmThroughput"] != nil {
			t.Errorf("warm throughput of the index %s: %v, want none", index.text("IndexName"), index["WarmThroughput"])
		}
	}
}

// scaling returns the minimum, maximum, seed and target of auto scaling.
func scaling(settings object) string {
	return strings.Join([]string{settings.text("MinCapacity"), settings.text("MaxCapacity"), settings.text("SeedCapacity"),
		settings.object("TargetTrackingScalingPolicyConfiguration").text("TargetValue")}, " ")
}
