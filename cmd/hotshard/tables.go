package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/logging"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// tables has the flags for the deployment's tables, which a command uses without the API.
type tables struct {
	Endpoint string `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"URL of a DynamoDB-compatible engine, such as hotshard local prints. Default: DynamoDB, with the AWS Region and credentials of the environment."`
	Prefix   string `copied:"prefix" default:"hotshard-" help:"Prefix of the tables' names."`
}

// Validate returns an error if the flags are invalid.
func (d *tables) Validate() error {
	if d.Endpoint == "" {
		return nil
	}
	return system.CheckEndpoint(d.Endpoint)
}

// scanning has the flag for the rate of scans.
type scanning struct {
	ReadUnits int `copied:"read-units" default:"1000" help:"Upper bound on the scans' RCU/s, up to 1000000. A partition has 3,000."`
}

// Validate returns an error if the flags are invalid.
func (s *scanning) Validate() error {
	if s.ReadUnits < 1 || s.ReadUnits > 1_000_000 {
		return fmt.Errorf("--read-units %d: want 1 to 1000000", s.ReadUnits)
	}
	return nil
}

// callAttempts is the maximum number of attempts of a call. It suffices for tables whose capacity other programs use, too.
const callAttempts = 10

// client returns a client for the deployment's tables, which slows down when it is throttled.
func (d *tables) client(ctx context.Context) (*dynamodb.Client, error) {
	if d.Endpoint != "" {
		if err := system.CheckEngine(ctx, d.Endpoint); err != nil {
			return nil, err
		}
		return dynamolocal.DynamoDB(d.Endpoint, "", func(o *dynamodb.Options) {
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

// environment returns the AWS configuration of the environment. Without a Region it returns noRegion as an error.
func environment(ctx context.Context, noRegion string, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	options = append(options, config.WithLogger(logging.Nop{})) // the SDK's warnings need no action
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return c, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return c, errors.New(noRegion)
	}
	c.Credentials = marked{c.Credentials}
	return c, nil
}

// explain returns an error that says what to do about missing tables or credentials. It returns other errors unchanged.
func (d *tables) explain(err error) error {
	if fault, ok := errors.AsType[*credentialsError](err); ok {
		return fault.explain("the tables " + d.Prefix + "*")
	}
	if absent, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return fmt.Errorf("no tables of hotshard with the prefix %q; check --prefix and --endpoint: %s", d.Prefix, absent.ErrorMessage())
	}
	return err
}
