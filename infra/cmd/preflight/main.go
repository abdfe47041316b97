// Command preflight checks the AWS account and Region of the environment before a deployment, and prints a line for
// each check. It exits with 1 if the deployment would fail. make preflight runs it, and make deploy runs it first:
//
//	go run ./cmd/preflight -c prefix=demo- -c apiRate=20000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/infra/preflight"
	"github.com/hotshard/hotshard/internal/base/awscall"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "preflight:", err)
		os.Exit(1)
	}
}

// run runs the checks with the arguments of the command line.
func run(ctx context.Context, args []string, out io.Writer) error {
	var given []string
	setting := func(one string) error {
		given = append(given, one)
		return nil
	}
	flags := flag.NewFlagSet("preflight", flag.ContinueOnError)
	flags.Func("c", "a setting, as `key=value`; may be repeated", setting)
	flags.Func("context", "the same", setting)
	folder := flags.String("folder", ".", "`folder` of the CDK app")
	takeOver := flags.Bool("import", false, "import existing tables into the stack")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: settings are given as -c key=value", flags.Arg(0))
	}
	cdk, err := preflight.Context(*folder, given)
	if err != nil {
		return err
	}
	wanted, err := config.Parse(cdk)
	if err != nil {
		return fmt.Errorf("hotshard can't be deployed like this:\n%w", err)
	}
	client, err := calls(ctx)
	if err != nil {
		return err
	}
	findings := preflight.Check(ctx, wanted, preflight.Account{Calls: client, Bootstrap: preflight.Qualifier(cdk), Import: *takeOver})
	for _, f := range findings {
		fmt.Fprintln(out, f)
	}
	if preflight.Failed(findings) {
		return errors.New("a deployment would fail: see the lines with FAIL")
	}
	return nil
}

// calls returns a client for the environment's Region and credentials.
func calls(ctx context.Context) (*awscall.Client, error) {
	c, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return nil, errors.New("no AWS Region is set: set AWS_REGION")
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("there are no AWS credentials: log in, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", err)
	}
	return awscall.New(c), nil
}
