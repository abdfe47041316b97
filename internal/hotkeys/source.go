package hotkeys

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/base/kind"
)

// FindSource returns the table that the settings name, or the items table for hotshard's own tables. An existing table
// is described only here, so a new index is counted after a restart. FindSource returns an error if the table has no
// stream.
func FindSource(ctx context.Context, client Describer, s Settings) (count.Source, error) {
	if s.SourceTable == "" {
		return count.OwnSource(s.names(), kind.Items), nil
	}
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.SourceTable})
	if err != nil {
		return count.Source{}, fmt.Errorf("hotkeys: describing table %s: %w", s.SourceTable, err)
	}
	source, err := count.Describe(out.Table)
	if err != nil {
		return count.Source{}, fmt.Errorf("hotkeys: table %s: %w", s.SourceTable, err)
	}
	return source, nil
}
