package hotkey

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/heat/count"
)

// FindSource returns the table of the settings. Hotshard's own is known; any other
// is described by DynamoDB, once, so that an index made later is counted from the
// next start on. A table without a stream is an error.
func FindSource(ctx context.Context, client Describer, s Settings) (count.Source, error) {
	if s.Source != Existing {
		return count.OwnSource(s.ItemsTable), nil
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.SourceTable})
	if err != nil {
		return count.Source{}, fmt.Errorf("hotkey: describing table %s: %w", s.SourceTable, err)
	}
	source, err := count.Describe(out.Table)
	if err != nil {
		return count.Source{}, fmt.Errorf("hotkey: table %s: %w", s.SourceTable, err)
	}
	source.Table = s.SourceTable // as it was named, which may be by its ARN
	return source, nil
}
