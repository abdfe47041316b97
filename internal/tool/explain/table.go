package explain

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// describeTable adds a table and its global indexes, with their limits. nameOrARN names the table in calls. Without the
// permission to describe the table, it adds only the table's name and a note.
func (c *collection) describeTable(ctx context.Context, table, nameOrARN string) error {
	out, err := c.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &nameOrARN})
	if err != nil {
		if _, absent := errors.AsType[*types.ResourceNotFoundException](err); absent || !isDenied(err) {
			return fmt.Errorf("describing table %s: %w", table, err)
		}
		c.noteError(err, "Indexes, capacities and limits of "+table+" are unknown", "dynamodb:DescribeTable")
		c.addResource(Resource{ID: ID{Table: table, Index: c.options.Index}, Asked: nameOrARN}, nil, nil)
		return nil
	}
	t := out.Table
	onDemand := t.BillingModeSummary != nil && t.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
	r := Resource{ID: ID{Table: table}, Asked: nameOrARN, ARN: aws.ToString(t.TableArn), PartitionKey: partitionKey(t.KeySchema), OnDemand: onDemand}
	if w := t.WarmThroughput; w != nil {
		r.Reads.Warm, r.Writes.Warm = limitUnits(w.ReadUnitsPerSecond), limitUnits(w.WriteUnitsPerSecond)
	}
	c.addResource(r, t.ProvisionedThroughput, t.OnDemandThroughput)
	for _, x := range t.GlobalSecondaryIndexes {
		c.indexes = append(c.indexes, aws.ToString(x.IndexName))
		r := Resource{ID: ID{Table: table, Index: aws.ToString(x.IndexName)}, Asked: nameOrARN, ARN: aws.ToString(x.IndexArn), PartitionKey: partitionKey(x.KeySchema), OnDemand: onDemand}
		r.ProjectsAll = x.Projection != nil && x.Projection.ProjectionType == types.ProjectionTypeAll
		if w := x.WarmThroughput; w != nil {
			r.Reads.Warm, r.Writes.Warm = limitUnits(w.ReadUnitsPerSecond), limitUnits(w.WriteUnitsPerSecond)
		}
		c.addResource(r, x.ProvisionedThroughput, x.OnDemandThroughput)
	}
	return nil
}

// addResource adds a table or index, with the limits of its billing mode, if it is to be explained.
func (c *collection) addResource(resource Resource, provisioned *types.ProvisionedThroughputDescription, maximum *types.OnDemandThroughput) {
	switch {
	case !c.isWanted(resource.ID):
		return
	case provisioned != nil && !resource.OnDemand:
		resource.Reads.Provisioned, resource.Writes.Provisioned = limitUnits(provisioned.ReadCapacityUnits), limitUnits(provisioned.WriteCapacityUnits)
	case maximum != nil && resource.OnDemand:
		resource.Reads.MaxOnDemand, resource.Writes.MaxOnDemand = limitUnits(maximum.MaxReadRequestUnits), limitUnits(maximum.MaxWriteRequestUnits)
	}
	c.Resources = append(c.Resources, resource)
}

// limitUnits returns a limit; 0 for no limit, which DynamoDB writes as -1 or leaves out.
func limitUnits(n *int64) float64 { return max(0, float64(aws.ToInt64(n))) }

// partitionKey returns the name of the partition key's attribute; the first of several.
func partitionKey(elements []types.KeySchemaElement) string {
	for _, e := range elements {
		if e.KeyType == types.KeyTypeHash {
			return aws.ToString(e.AttributeName)
		}
	}
	return ""
}
