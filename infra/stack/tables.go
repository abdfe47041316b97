package stack

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/schema"
)

// makeTables makes the tables that the deployment has.
func (d *deployment) makeTables() {
	for _, t := range d.schema() {
		d.tables[d.config.TableVariable(t.Name)] = d.makeTable(t)
	}
}

// schema are the tables of internal/schema. A deployment that is attached to a table has
// those that hotkeys is granted, but for the shard map: it changes no counts.
func (d *deployment) schema() (list []schema.Table) {
	for _, t := range schema.Tables(d.config.Names()) {
		variable := d.config.TableVariable(t.Name)
		counted := variable != grants.ShardMap && slices.ContainsFunc(grants.Of(grants.Hotkeys), func(g grants.Grant) bool { return g.Table == variable })
		if !d.config.Attached() || counted {
			list = append(list, t)
		}
	}
	return list
}

func (d *deployment) makeTable(t schema.Table) awsdynamodb.TableV2 {
	c := d.config
	props := &awsdynamodb.TablePropsV2{
		TableName:          jsii.String(t.Name),
		PartitionKey:       text(t.PartitionKey),
		Encryption:         awsdynamodb.TableEncryptionV2_DynamoOwnedKey(),
		DeletionProtection: jsii.Bool(c.DeletionProtection),
		RemovalPolicy:      d.removal(),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(c.PITR && !t.Expendable),
		},
	}
	if c.ContributorInsights {
		props.ContributorInsightsSpecification = &awsdynamodb.ContributorInsightsSpecification{
			Enabled: jsii.Bool(true), Mode: awsdynamodb.ContributorInsightsMode_THROTTLED_KEYS,
		}
	}
	if c.PITR && !t.Expendable {
		props.PointInTimeRecoverySpecification.RecoveryPeriodInDays = number(c.PITRDays)
	}
	if c.Encryption == "account" {
		props.Encryption = awsdynamodb.TableEncryptionV2_AwsManagedKey()
	}
	if t.SortKey != "" {
		props.SortKey = text(t.SortKey)
	}
	if t.TTL != "" {
		props.TimeToLiveAttribute = jsii.String(t.TTL)
	}
	if t.Stream {
		props.DynamoStream = awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES
	}
	reads, writes := c.Units(t.Name)
	props.Billing, props.WarmThroughput = d.billing(t.Name), warm(reads, writes)
	var indexes []*awsdynamodb.GlobalSecondaryIndexPropsV2
	for _, i := range t.Indexes {
		indexes = append(indexes, d.index(t.Name, i))
	}
	props.GlobalSecondaryIndexes = &indexes
	return awsdynamodb.NewTableV2(d.stack, id("table", t.Name[len(c.Prefix):]), props)
}

// index is as its table: what is written to it is bounded, and paid for, by itself.
func (d *deployment) index(table string, i schema.Index) *awsdynamodb.GlobalSecondaryIndexPropsV2 {
	reads, writes := d.config.Units(table)
	props := &awsdynamodb.GlobalSecondaryIndexPropsV2{
		IndexName: jsii.String(i.Name), PartitionKey: text(i.PartitionKey), SortKey: text(i.SortKey),
		ProjectionType: awsdynamodb.ProjectionType_ALL, WarmThroughput: warm(reads, writes),
	}
	if i.Include != nil {
		props.ProjectionType, props.NonKeyAttributes = awsdynamodb.ProjectionType_INCLUDE, jsii.Strings(i.Include...)
	}
	if d.config.Provisioned(table) {
		props.ReadCapacity, props.WriteCapacity = scaled(reads), scaled(writes)
	} else {
		props.MaxReadRequestUnits, props.MaxWriteRequestUnits = units(reads.Max), units(writes.Max)
	}
	return props
}

func (d *deployment) billing(table string) awsdynamodb.Billing {
	reads, writes := d.config.Units(table)
	if d.config.Provisioned(table) {
		return awsdynamodb.Billing_Provisioned(&awsdynamodb.ThroughputProps{ReadCapacity: scaled(reads), WriteCapacity: scaled(writes)})
	}
	return awsdynamodb.Billing_OnDemand(&awsdynamodb.MaxThroughputProps{
		MaxReadRequestUnits: units(reads.Max), MaxWriteRequestUnits: units(writes.Max),
	})
}

// utilization is how many percent of provisioned capacity are to be used.
const utilization = 70

// scaled is capacity that follows the load. A table that changes its billing starts with the
// seed, which CloudFormation wants for that.
func scaled(u config.Units) awsdynamodb.Capacity {
	return awsdynamodb.Capacity_Autoscaled(&awsdynamodb.AutoscaledCapacityOptions{
		MinCapacity: number(u.Min), MaxCapacity: number(u.Max), SeedCapacity: number(u.Min), TargetUtilizationPercent: jsii.Number(utilization),
	})
}

func text(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
}

// units is nil for 0, which is no setting.
func units(n int) *float64 {
	if n == 0 {
		return nil
	}
	return number(n)
}

func warm(reads, writes config.Units) *awsdynamodb.WarmThroughput {
	if reads.Warm == 0 && writes.Warm == 0 {
		return nil
	}
	return &awsdynamodb.WarmThroughput{ReadUnitsPerSecond: units(reads.Warm), WriteUnitsPerSecond: units(writes.Warm)}
}

func (d *deployment) removal() awscdk.RemovalPolicy {
	if d.config.Removal == "destroy" {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}
