package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/system"
)

// tables says which tables a command works on, past the API.
type tables struct {
	Endpoint string `env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine, such as hotshard local prints. Default: DynamoDB in the AWS Region and with the credentials of the environment."`
	Prefix   string `default:"hotshard-" help:"Of the tables' names."`
}

// Validate finds faults of the command line.
func (d *tables) Validate() error {
	if d.Endpoint == "" {
		return nil
	}
	return system.CheckEndpoint(d.Endpoint)
}

// scanning says how fast whole tables are read.
type scanning struct {
	ReadUnits int `default:"1000" help:"Read units a second that scans of tables take at most, up to 1000000. A partition has 3,000."`
}

// Validate finds faults of the command line.
func (s *scanning) Validate() error {
	if s.ReadUnits < 1 || s.ReadUnits > 1_000_000 {
		return fmt.Errorf("--read-units %d: want 1 to 1000000", s.ReadUnits)
	}
	return nil
}

// callAttempts are for a table whose capacity others use, too.
const callAttempts = 10

// client reaches the deployment's tables. It slows down when it is throttled.
func (d *tables) client(ctx context.Context) (*dynamodb.Client, error) {
	if d.Endpoint != "" {
		if err := system.CheckEngine(ctx, d.Endpoint); err != nil {
			return nil, err
		}
		return local.DynamoDB(d.Endpoint, "", func(o *dynamodb.Options) {
			o.RetryMode, o.RetryMaxAttempts = aws.RetryModeAdaptive, callAttempts
		}), nil
	}
	c, err := environment(ctx, "no AWS Region is set: set AWS_REGION, or --endpoint for hotshard local",
		config.WithRetryMode(aws.RetryModeAdaptive), config.WithRetryMaxAttempts(callAttempts))
	if err != nil {
		return nil, err
	}
	return dynamodb.NewFromConfig(c), nil
}

// environment is the AWS configuration of the environment. Without a Region it is an error that
// says so in these words.
func environment(ctx context.Context, noRegion string, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return c, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return c, errors.New(noRegion)
	}
	return c, nil
}

// explain says what it means that there are no such tables.
func (d *tables) explain(err error) error {
	if absent, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return fmt.Errorf("no tables of hotshard with the prefix %q: %s", d.Prefix, absent.ErrorMessage())
	}
	return err
}
