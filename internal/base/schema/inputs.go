package schema

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateInput returns the input that creates an on-demand table, with its indexes and stream. It can't
// enable TTL: see ExpiryInput.
func CreateInput(t Table) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName:   &t.Name,
		BillingMode: types.BillingModePayPerRequest,
		KeySchema:   keySchema(t.PartitionKey, t.SortKey),
	}
	attributes := []string{t.PartitionKey, t.SortKey}
	for _, index := range t.Indexes {
		attributes = append(attributes, index.PartitionKey, index.SortKey)
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName:  &index.Name,
			KeySchema:  keySchema(index.PartitionKey, index.SortKey),
			Projection: projection(index),
		})
	}
	in.AttributeDefinitions = definitions(attributes)
	if t.Stream {
		in.StreamSpecification = &types.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
		}
	}
	return in
}

// ExpiryInput returns the input that enables an existing table's TTL, or nil for a table without TTL. DynamoDB rejects this
// request if TTL is already enabled.
func ExpiryInput(t Table) *dynamodb.UpdateTimeToLiveInput {
	if t.TTL == "" {
		return nil
	}
	return &dynamodb.UpdateTimeToLiveInput{
		TableName:               &t.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: aws.Bool(true)},
	}
}

func projection(index Index) *types.Projection {
	if index.Include == nil {
		return &types.Projection{ProjectionType: types.ProjectionTypeAll}
	}
	return &types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: index.Include}
}

// definitions returns the definitions of key attributes, all of type S. It skips repeated names and "".
func definitions(attributes []string) (list []types.AttributeDefinition) {
	slices.Sort(attributes)
	for _, name := range slices.Compact(attributes) {
		if name != "" {
			list = append(list, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
		}
	}
	return list
}

func keySchema(partition, sort string) []types.KeySchemaElement {
	keys := []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}}
	if sort != "" {
		keys = append(keys, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
	}
	return keys
}
