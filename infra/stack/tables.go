package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/schema"
)

// makeTables makes the tables of internal/schema. A deployment that is attached to a
// table has that of heat only.
func (d *deployment) makeTables() {
	names := d.config.Names()
	variables := map[string]string{names.Items: grants.Items, names.Rollups: grants.Rollups, names.ShardMap: grants.ShardMap, names.Heat: grants.Heat}
	for _, t := range schema.Tables(names) {
		if variable := variables[t.Name]; !d.config.Attached() || variable == grants.Heat {
			d.tables[variable] = d.makeTable(t)
		}
	}
}

func (d *deployment) makeTable(t schema.Table) awsdynamodb.TableV2 {
	c, recoverable := d.config, d.config.PITR && !t.Expendable
	props := &awsdynamodb.TablePropsV2{
		TableName:          jsii.String(t.Name),
		PartitionKey:       text(t.PartitionKey),
		Encryption:         awsdynamodb.TableEncryptionV2_DynamoOwnedKey(),
		DeletionProtection: jsii.Bool(c.DeletionProtection),
		RemovalPolicy:      d.removal(),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(recoverable),
		},
	}
	if recoverable {
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
	if t.Stream { // the items table, which takes the load
		props.DynamoStream = awsdynamodb.StreamViewType_NEW_AND_OLD_IMAGES
		props.Billing = awsdynamodb.Billing_OnDemand(&awsdynamodb.MaxThroughputProps{
			MaxReadRequestUnits: units(c.MaxReadUnits), MaxWriteRequestUnits: units(c.MaxWriteUnits),
		})
		props.WarmThroughput = d.warm()
	}
	var indexes []*awsdynamodb.GlobalSecondaryIndexPropsV2
	for _, i := range t.Indexes {
		indexes = append(indexes, d.index(i))
	}
	props.GlobalSecondaryIndexes = &indexes
	return awsdynamodb.NewTableV2(d.stack, id("table", t.Name[len(c.Prefix):]), props)
}

func (d *deployment) index(i schema.Index) *awsdynamodb.GlobalSecondaryIndexPropsV2 {
	return &awsdynamodb.GlobalSecondaryIndexPropsV2{
		IndexName: jsii.String(i.Name), PartitionKey: text(i.PartitionKey), SortKey: text(i.SortKey),
		ProjectionType:      awsdynamodb.ProjectionType_ALL,
		MaxReadRequestUnits: units(d.config.MaxReadUnits), MaxWriteRequestUnits: units(d.config.MaxWriteUnits),
		WarmThroughput: d.warm(),
	}
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

func (d *deployment) warm() *awsdynamodb.WarmThroughput {
	if d.config.WarmReadUnits == 0 && d.config.WarmWriteUnits == 0 {
		return nil
	}
	return &awsdynamodb.WarmThroughput{
		ReadUnitsPerSecond: units(d.config.WarmReadUnits), WriteUnitsPerSecond: units(d.config.WarmWriteUnits),
	}
}

func (d *deployment) removal() awscdk.RemovalPolicy {
	if d.config.Removal == "destroy" {
		return awscdk.RemovalPolicy_DESTROY
	}
	return awscdk.RemovalPolicy_RETAIN
}
