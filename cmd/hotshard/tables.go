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

// tableFlags has the flags of commands that use the deployment's tables directly, not the API.
type tableFlags struct {
	Endpoint string `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"URL of a DynamoDB-compatible engine, such as hotshard local prints. Default: DynamoDB, with the AWS Region and credentials of the environment."`
	Prefix   string `copied:"prefix" default:"hotshard-" help:"Prefix of the tables' names."`
}

// Validate returns an error if the flags are invalid.
func (d *tableFlags) Validate() error {
	if d.Endpoint == "" {
		return nil
	}
	return system.CheckEndpoint(d.Endpoint)
}

// scanFlags has the flag that bounds the rate of scans.
type scanFlags struct {
	ReadUnits int `copied:"read-units" default:"1000" help:"Upper bound on the scans' RCU/s, up to 1000000. A partition has 3,000."`
}

// Validate returns an error if the flags are invalid.
func (s *scanFlags) Validate() error {
	if s.ReadUnits < 1 || s.ReadUnits > 1_000_000 {
		return fmt.Errorf("--read-units %d: want 1 to 1000000", s.ReadUnits)
	}
	return nil
}

// callAttempts is the maximum number of attempts of a call. It suffices for tables whose capacity other programs use, too.
const callAttempts = 10

// client returns a client for the deployment's tables, which slows down when it is throttled.
func (d *tableFlags) client(ctx context.Context) (*dynamodb.Client, error) {
	if d.Endpoint != "" {
		if err := system.CheckEngine(ctx, d.Endpoint); err != nil {
			return nil, err
		}
		return dynamolocal.DynamoDB(d.Endpoint, "", func(o *dynamodb.Options) {
			o.RetryMode, o.RetryMaxAttempts = aws.RetryModeAdaptive, callAttempts
		}), nil
	}
	cfg, err := loadAWSConfig(ctx, "no AWS Region is set: set AWS_REGION, or --endpoint for hotshard local",
		config.WithRetryMode(aws.RetryModeAdaptive), config.WithRetryMaxAttempts(callAttempts))
	if err != nil {
		return nil, err
	}
	return dynamodb.NewFromConfig(cfg), nil
}

// loadAWSConfig returns the AWS configuration of the environment. Without a Region it returns an error with noRegionText.
func loadAWSConfig(ctx context.Context, noRegionText string, options ...func(*config.LoadOptions) error) (aws.Config, error) {
	options = append(options, config.WithLogger(logging.Nop{})) // the SDK's warnings need no action
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errors.New(noRegionText)
	}
	cfg.Credentials = markedCredentials{cfg.Credentials}
	return cfg, nil
}

// explainError returns an error that says what to do about missing tables or credentials. It returns other errors unchanged.
func (d *tableFlags) explainError(err error) error {
	if fault, ok := errors.AsType[*credentialsError](err); ok {
		return fault.explain("the tables "+d.Prefix+"*", useEndpoint)
	}
	if absent, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return fmt.Errorf("no tables of hotshard with the prefix %q; check --prefix and --endpoint: %s", d.Prefix, absent.ErrorMessage())
	}
	return err
}
