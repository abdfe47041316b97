package infra

import (
	"fmt"
	"os"
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

// TestTablesHaveTags checks that each replica of a table has the stack's tags, which CloudFormation may not pass on to it.
func TestTablesHaveTags(t *testing.T) {
	for id, r := range with(t, map[string]any{"tags": "team=data,cost center=42 a/b"}).of(t, "AWS::DynamoDB::GlobalTable") {
		for _, replica := range r.Properties.objects("Replicas") {
			if got := fmt.Sprint(replica["Tags"]); got != "[map[Key:cost center Value:42 a/b] map[Key:team Value:data]]" {
				t.Errorf("%s: tags %s", id, got)
			}
		}
	}
}

// TestTablesAreProtectedAfterCreation checks that a parameter decides about deletion protection, and that its default is
// false, so that the rollback of a first deployment can delete the tables. `make deploy` sets it afterwards.
func TestTablesAreProtectedAfterCreation(t *testing.T) {
	for name, tm := range map[string]*template{"whole": deployed(t), "attached": with(t, attached)} {
		if p := tm.Parameters["DeletionProtection"]; p.text("Default") != "false" || p.text("AllowedValues") != "[true false]" {
			t.Errorf("%s: parameter %v, want the default false", name, p)
		}
		if got := text(tm.Conditions["Protected"]); got != `{"Fn::Equals":[{"Ref":"DeletionProtection"},"true"]}` {
			t.Errorf("%s: condition %s", name, got)
		}
		for id, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
			if got := text(replica(r.Properties)["DeletionProtectionEnabled"]); got != `{"Fn::If":["Protected",true,false]}` {
				t.Errorf("%s: %s has the protection %s", name, id, got)
			}
		}
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(makefile), "\ndeploy:")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	first, then := strings.Index(recipe, "deploy --require-approval $(APPROVAL)"), strings.Index(recipe, "--parameters DeletionProtection=true")
	if first < 0 || then < first || strings.Count(recipe, "--parameters") != 1 {
		t.Errorf("make deploy must protect the tables in a second command:\n%s", recipe)
	}
}

// TestTableSettings checks the settings of removal, recovery, encryption and of peaks on demand. No table has a warm
// throughput, which CloudFormation could not lower again.
func TestTableSettings(t *testing.T) {
	tm := with(t, map[string]any{"prefix": "other-", "removal": "destroy", "pitr": "false", "encryption": "account", "peakReads": "20000", "peakWrites": "10000"})
	for id, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
		p := r.Properties
		if r.DeletionPolicy != "Delete" || replica(p)["DeletionProtectionEnabled"] != false || p.object("SSESpecification").text("SSEType") != "KMS" ||
			replica(p).object("PointInTimeRecoverySpecification")["PointInTimeRecoveryEnabled"] != false {
			t.Errorf("%s: deletion policy %s, %v", id, r.DeletionPolicy, p)
		}
		reads, writes := "40000", "20000"
		if name := p.text("TableName"); name == "other-heat" || name == "other-shard-map" {
			reads, writes = "<nil>", "<nil>"
		}
		for n, part := range append([]object{p}, p.objects("GlobalSecondaryIndexes")...) {
			in := append([]object{replica(p)}, replica(p).objects("GlobalSecondaryIndexes")...)[n]
			if got := in.object("ReadOnDemandThroughputSettings").text("MaxReadRequestUnits"); got != reads {
				t.Errorf("%s, part %d: at most %s read units, want %s", id, n, got, reads)
			}
			if got := part.object("WriteOnDemandThroughputSettings").text("MaxWriteRequestUnits"); got != writes {
				t.Errorf("%s, part %d: at most %s write units, want %s", id, n, got, writes)
			}
		}
	}
	if strings.Contains(string(tm.text), "WarmThroughput") {
		t.Error("the template sets a warm throughput")
	}
	_, bucket := tm.named(t, "AWS::S3::Bucket", "BucketName", "<nil>")
	if bucket.DeletionPolicy != "Delete" {
		t.Errorf("the bucket's deletion policy is %s, want Delete", bucket.DeletionPolicy)
	}
}

// TestProvisioned checks that the tables of items, events and rollups have auto scaling from a tenth of the peak to twice
// the peak, and start at 70 % utilization if they were on demand. Other tables are on demand.
func TestProvisioned(t *testing.T) {
	tm := with(t, map[string]any{"billing": "provisioned", "peakReads": "500", "peakWrites": "1001"})
	for id, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
		p := r.Properties
		if name := p.text("TableName"); name == "hotshard-heat" || name == "hotshard-shard-map" {
			if p.text("BillingMode") != "PAY_PER_REQUEST" {
				t.Errorf("%s: %v, want on demand", id, p)
			}
			continue
		}
		reads := replica(p).object("ReadProvisionedThroughputSettings").object("ReadCapacityAutoScalingSettings")
		writes := p.object("WriteProvisionedThroughputSettings").object("WriteCapacityAutoScalingSettings")
		if p.text("BillingMode") != "PROVISIONED" || scaling(reads) != "50 1000 715 70" || scaling(writes) != "101 2002 1430 70" {
			t.Errorf("%s: %s, reads %v, writes %v", id, p.text("BillingMode"), reads, writes)
		}
		for n := range p.list("GlobalSecondaryIndexes") {
			reads := replica(p).objects("GlobalSecondaryIndexes")[n].object("ReadProvisionedThroughputSettings").object("ReadCapacityAutoScalingSettings")
			writes := p.objects("GlobalSecondaryIndexes")[n].object("WriteProvisionedThroughputSettings").object("WriteCapacityAutoScalingSettings")
			if scaling(reads) != "1 1000 715 70" || scaling(writes) != "1 2002 1430 70" {
				t.Errorf("%s, index %d: reads %v, writes %v", id, n, reads, writes)
			}
		}
	}
}

// scaling returns the minimum, maximum, seed and target of auto scaling.
func scaling(settings object) string {
	return strings.Join([]string{settings.text("MinCapacity"), settings.text("MaxCapacity"), settings.text("SeedCapacity"),
		settings.object("TargetTrackingScalingPolicyConfiguration").text("TargetValue")}, " ")
}
