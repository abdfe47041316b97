package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/system"
	"github.com/hotshard/hotshard/internal/schema"
)

const (
	baselinePrefix = "hotshard-baseline-"
	cleanTimeout   = 30 * time.Second
)

// newBare makes the tables of a baseline, under a prefix that no deployment has,
// and returns with them a function that deletes them.
func newBare(ctx context.Context, endpoint string) (*load.Bare, func() error, error) {
	if err := system.CheckEngine(ctx, endpoint); err != nil {
		return nil, nil, fmt.Errorf("baseline: %w", err)
	}
	client := local.DynamoDB(endpoint, "")
	names := schema.NamesFor(baselinePrefix + strings.ToLower(rand.Text()[:10]) + "-")
	clean := func() error { return deleteTables(context.WithoutCancel(ctx), client, names) }
	if err := local.CreateTables(ctx, client, names); err != nil {
		_ = clean() // if it fails too, then for the same reason
		return nil, nil, fmt.Errorf("baseline on %s: %w", endpoint, err)
	}
	return &load.Bare{Client: client, Table: names.Items}, clean, nil
}

// deleteTables deletes what there is of a deployment's tables.
func deleteTables(ctx context.Context, client *dynamodb.Client, names schema.Names) error {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	var faults []error
	for _, t := range local.Tables(names) {
		_, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &t.Name})
		var absent *types.ResourceNotFoundException
		if err != nil && !errors.As(err, &absent) {
			faults = append(faults, fmt.Errorf("delete table %s: %w", t.Name, err))
		}
	}
	return errors.Join(faults...)
}
