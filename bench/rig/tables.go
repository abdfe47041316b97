package rig

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Tables are the tables of one deployment, in a database of their own on the engine.
type Tables struct {
	DB    *dynamodb.Client
	Names schema.Names

	Endpoint, Access string
	dir              string // for failure files
}

// NewTables creates the tables. Close deletes them.
func NewTables(ctx context.Context, endpoint string) (t *Tables, err error) {
	access := "b" + rand.Text()
	t = &Tables{DB: dynamolocal.DynamoDB(endpoint, access), Names: schema.NamesFor(access + "-"), Endpoint: endpoint, Access: access}
	if t.dir, err = os.MkdirTemp("", "bench"); err != nil {
		return nil, fmt.Errorf("making a folder for failures: %w", err)
	}
	if err := dynamolocal.CreateTables(ctx, t.DB, t.Names); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Close deletes the tables that NewTables created. An experiment may have changed Names since.
func (t *Tables) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := os.RemoveAll(t.dir)
	for _, table := range dynamolocal.Tables(schema.NamesFor(t.Access + "-")) {
		_, failed := t.DB.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table.Name})
		err = errors.Join(err, failed)
	}
	return err
}

// Scan calls each with every item of a table.
func (t *Tables) Scan(ctx context.Context, table string, each func(dynamo.Item) error) error {
	for page, err := range dynamo.ScanPages(ctx, t.DB, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}) {
		if err != nil {
			return fmt.Errorf("reading the table %s: %w", table, err)
		}
		for _, it := range page.Items {
			if err := each(it); err != nil {
				return fmt.Errorf("reading the table %s: %w", table, err)
			}
		}
	}
	return nil
}

// FailureFile returns the path of the file to which a mapping writes discarded records.
func (t *Tables) FailureFile(mapping string) string {
	return filepath.Join(t.dir, mapping+".jsonl")
}

// Silent is a logger that discards all messages.
var Silent = slog.New(slog.DiscardHandler)

// Settings returns the settings that a function reads from its environment. More are variables, each NAME=value.
func Settings[T any](t *Tables, more ...string) (T, error) {
	variables := append(runtimeapi.Env(t.Endpoint, t.Access, t.Endpoint, t.Names), more...)
	return env.ParseAsWithOptions[T](env.Options{Environment: env.ToMap(variables)})
}
