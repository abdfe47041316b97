package infra

import (
	"maps"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// newTables makes the deployment's tables, by the environment variable with their name.
func newTables(s awscdk.Stack, c *config.Config) map[string]awsdynamodb.TableV2 {
	newProtection(s)
	made := map[string]awsdynamodb.TableV2{}
	for _, t := range tablesOf(c) {
		made[c.TableVariable(t.Name)] = newTable(s, c, t)
	}
	return made
}

// tablesOf returns the deployment's tables. An attached deployment has only those that hotkeys needs, without the shard
// map, since it changes no shard counts.
func tablesOf(c *config.Config) []schema.Table {
	all := schema.Tables(c.Names())
	if !c.Attached() {
		return all
	}
	return slices.DeleteFunc(all, func(t schema.Table) bool {
		variable := c.TableVariable(t.Name)
		return variable == ShardMap || !slices.ContainsFunc(grantsOf[Hotkeys], func(g Grant) bool { return g.Table == variable })
	})
}

func newTable(s awscdk.Stack, c *config.Config, t schema.Table) awsdynamodb.TableV2 {
	reads, writes := c.Units(t.Name)
	props := &awsdynamodb.TablePropsV2{
		TableName:          jsii.String(t.Name),
		PartitionKey:       keyAttribute(t.PartitionKey),
		SortKey:            keyAttribute(t.SortKey),
		Encryption:         awsdynamodb.TableEncryptionV2_DynamoOwnedKey(),
		DeletionProtection: jsii.Bool(false), // see protect
		RemovalPolicy:      removal(c),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(c.PITR && !t.Expendable),
		},
		Billing: billing(reads, writes),
	}
	if c.PITR && !t.Expendable {
		props.PointInTimeRecoverySpecification.RecoveryPeriodInDays = jsii.Number(recoveryDays)
	}
	if c.Encryption == "account" {
		props.Encryption = awsdynamodb.TableEncryptionV2_AwsManagedKey()
	}
	if t.TTL != "" {
		props.TimeToLiveAttribute = jsii.String(t.TTL)
	}
	if t.Stream {
		props.DynamoStream = awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES
	}
	var indexes []*awsdynamodb.GlobalSecondaryIndexPropsV2
	for _, i := range t.Indexes {
		indexes = append(indexes, index(c, i))
	}
	props.GlobalSecondaryIndexes = &indexes
	var tags []*awscdk.CfnTag // CloudFormation may not give a replica the stack's tags
	for _, key := range slices.Sorted(maps.Keys(tagsOf(c))) {
		tags = append(tags, &awscdk.CfnTag{Key: &key, Value: tagsOf(c)[key]})
	}
	props.Tags = &tags
	made := awsdynamodb.NewTableV2(s, id("table", t.Name[len(c.Prefix):]), props)
	if c.Removal != "destroy" {
		protect(made)
	}
	return made
}

// recoveryDays is the longest recovery period, which costs as much as a shorter one.
const recoveryDays = 35

// protected is the condition under which tables have deletion protection, and protection the parameter that turns it
// on. `make deploy` sets the parameter after a deployment has succeeded; CloudFormation keeps it in later deployments.
// If a table were created with protection, it could not be deleted when the creation of the stack is rolled back.
const (
	protected  = "Protected"
	protection = "DeletionProtection"
)

func newProtection(s awscdk.Stack) {
	awscdk.NewCfnParameter(s, jsii.String(protection), &awscdk.CfnParameterProps{
		Description: jsii.String("Deletion protection of the tables, which make deploy turns on after a successful deployment"),
		Type:        jsii.String("String"), Default: jsii.String("false"), AllowedValues: jsii.Strings("true", "false"),
	})
	awscdk.NewCfnCondition(s, jsii.String(protected), &awscdk.CfnConditionProps{
		Expression: awscdk.Fn_ConditionEquals(awscdk.Fn_Ref(jsii.String(protection)), jsii.String("true")),
	})
}

// protect gives a table deletion protection while the parameter protection is true.
func protect(table awsdynamodb.TableV2) {
	table.Node().DefaultChild().(awsdynamodb.CfnGlobalTable).AddPropertyOverride(
		jsii.String("Replicas.0.DeletionProtectionEnabled"), map[string]any{"Fn::If": []any{protected, true, false}})
}

// index returns an index of a table. Its throughput is bounded and billed separately from the table's.
func index(c *config.Config, i schema.Index) *awsdynamodb.GlobalSecondaryIndexPropsV2 {
	reads, writes := c.IndexUnits()
	props := &awsdynamodb.GlobalSecondaryIndexPropsV2{
		IndexName: jsii.String(i.Name), PartitionKey: keyAttribute(i.PartitionKey), SortKey: keyAttribute(i.SortKey),
		ProjectionType: awsdynamodb.ProjectionType_ALL,
	}
	if i.Include != nil {
		props.ProjectionType, props.NonKeyAttributes = awsdynamodb.ProjectionType_INCLUDE, jsii.Strings(i.Include...)
	}
	if provisioned(writes) {
		props.ReadCapacity, props.WriteCapacity = scaled(reads), scaled(writes)
	} else {
		props.MaxReadRequestUnits, props.MaxWriteRequestUnits = nilIfZero(reads.Max), nilIfZero(writes.Max)
	}
	return props
}

func billing(reads, writes config.Units) awsdynamodb.Billing {
	if provisioned(writes) {
		return awsdynamodb.Billing_Provisioned(&awsdynamodb.ThroughputProps{ReadCapacity: scaled(reads), WriteCapacity: scaled(writes)})
	}
	return awsdynamodb.Billing_OnDemand(&awsdynamodb.MaxThroughputProps{
		MaxReadRequestUnits: nilIfZero(reads.Max), MaxWriteRequestUnits: nilIfZero(writes.Max),
	})
}

// provisioned reports whether billing is provisioned, by a table's or index's units: only such billing has a minimum.
func provisioned(u config.Units) bool { return u.Min > 0 }

// utilization is the target utilization of provisioned capacity, in percent.
const utilization = 70

// scaled returns auto-scaled capacity. CloudFormation uses the seed when a table's billing changes.
func scaled(u config.Units) awsdynamodb.Capacity {
	return awsdynamodb.Capacity_Autoscaled(&awsdynamodb.AutoscaledCapacityOptions{
		MinCapacity: jsii.Number(u.Min), MaxCapacity: jsii.Number(u.Max), SeedCapacity: jsii.Number(u.Seed), TargetUtilizationPercent: jsii.Number(utilization),
	})
}

// keyAttribute returns a key's attribute, or nil for "".
func keyAttribute(name string) *awsdynamodb.Attribute {
	if name == "" {
		return nil
	}
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
}

// nilIfZero returns a number for the CDK, or nil for 0.
func nilIfZero(n int) *float64 {
	if n == 0 {
		return nil
	}
	return jsii.Number(n)
}

// removal returns what happens to tables and the bucket of discarded records when they leave the stack. A rollback of
// the deployment that created them always deletes them, so that the next deployment can create them again.
func removal(c *config.Config) awscdk.RemovalPolicy {
	if c.Removal == "destroy" {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE
}
