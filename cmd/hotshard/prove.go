package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/tool/apicall"
	"github.com/hotshard/hotshard/internal/tool/prove"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// ProveCmd is hotshard prove.
type ProveCmd struct {
	Local    bool     `help:"Run on this machine, with Lambda's model and DynamoDB Local. Default: deploy this checkout of hotshard to the AWS account and Region of the environment."`
	Endpoint string   `env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"With --local: DynamoDB-compatible engine to use instead of starting one."`
	Ceiling  float64  `default:"5" help:"Upper bound on the cost in USD, by assumed prices. A run that could cost more does not start, and a run ends before it costs more."`
	Quick    bool     `help:"Run each experiment for some seconds, to test that everything works. The figures mean little."`
	Set      []string `sep:"none" placeholder:"KEY=VALUE" help:"On AWS: a setting of the deployment, such as hotkeysConcurrency=0. May be repeated."`
	Cleanup  bool     `help:"Only remove the resources of earlier runs. Every run does this first."`
	Out      string   `placeholder:"FILE" help:"Path of the report without its extension: FILE.json and FILE.md. Default: hotshard-prove."`
	Yes      bool     `help:"Don't ask for confirmation."`
}

// Validate returns an error if the flags are invalid.
func (c *ProveCmd) Validate() error {
	switch {
	case c.Ceiling <= 0 || c.Ceiling > 1000:
		return fmt.Errorf("--ceiling %g: want more than 0, up to 1000", c.Ceiling)
	case c.Local && len(c.Set) > 0:
		return errors.New("--set and --local can't be used together: --set is for a deployment on AWS")
	case c.Local && c.Endpoint != "":
		return system.CheckEndpoint(c.Endpoint)
	}
	return nil
}

// plan returns the plan of the run.
func (c *ProveCmd) plan() prove.Plan {
	plan := prove.AWSPlan()
	if c.Local {
		plan = prove.LocalPlan()
	}
	if c.Quick {
		plan = plan.Quick()
	}
	return plan
}

// Run removes what earlier runs left, runs the experiments, and writes the report.
func (c *ProveCmd) Run(ctx context.Context, std streams) error {
	folder, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("finding the folder of the runs' notes: %w", err)
	}
	folder = filepath.Join(folder, "hotshard", "prove")
	where := func(r prove.Record) (prove.Site, error) {
		if r.Endpoint != "" {
			return prove.Local{Endpoint: r.Endpoint}, nil
		}
		return account(ctx, std)
	}
	if err := prove.Clean(ctx, folder, where, std.err); err != nil {
		return fmt.Errorf("removing the resources of earlier runs, by the notes in %s: %w", folder, err)
	}
	if c.Cleanup {
		fmt.Fprintln(std.out, "nothing of earlier runs is left")
		return nil
	}
	site, err := c.site(ctx, std)
	if err != nil {
		return err
	}
	o := prove.Options{Site: site, Plan: c.plan(), Ceiling: c.Ceiling, Folder: folder, Notices: std.err}
	if err := c.confirm(ctx, o, os.Stdin, std); err != nil {
		return err
	}
	report, err := prove.Run(ctx, o)
	if report == nil {
		return err
	}
	if left, ok := errors.AsType[*prove.LeftError](err); ok && ctx.Err() != nil {
		fmt.Fprintln(std.err, "hotshard:", left) // the printed error is the interruption
	}
	return errors.Join(err, c.write(report, std.out))
}

// site returns the site of the run.
func (c *ProveCmd) site(ctx context.Context, std streams) (prove.Site, error) {
	if c.Local {
		return prove.Local{Endpoint: c.Endpoint, PartitionWCU: int(c.plan().PartitionWCU), Notices: std.err}, nil
	}
	aws, err := account(ctx, std)
	if err != nil {
		return nil, err
	}
	aws.Settings, aws.Checkout = c.Set, prove.Checkout()
	return aws, nil
}

// account returns the environment's account and Region.
func account(ctx context.Context, std streams) (prove.AWS, error) {
	// Thousands of calls a second need many open connections.
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 512 })
	c, err := environment(ctx, "no AWS Region is set: set AWS_REGION, or --local for this machine", config.WithHTTPClient(transport))
	if err != nil {
		return prove.AWS{}, err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		if fault, ok := errors.AsType[*credentialsError](err); ok {
			return prove.AWS{}, sentence("No AWS credentials%s. %s", fault.cause(), fault.remedy("--local"))
		}
		return prove.AWS{}, fmt.Errorf("reading the AWS credentials: %w", err)
	}
	return prove.AWS{
		Config: c, Calls: awscall.New(c), Metrics: cloudwatch.NewFromConfig(c), Output: std.err, Sign: apicall.SignAs(c.Credentials, c.Region), Waiting: prove.AWSWaiting,
	}, nil
}

// confirm describes the run, and asks for confirmation on a terminal. Without a terminal it returns an error unless
// --yes is given.
func (c *ProveCmd) confirm(ctx context.Context, o prove.Options, in *os.File, std streams) error {
	o.Describe(std.err)
	if c.Yes {
		return nil
	}
	if !terminal.Is(in) {
		return errors.New("nothing was started: without a terminal, confirm with --yes")
	}
	return askToBegin(ctx, in, std.err)
}

// askToBegin waits for an answer, or until ctx ends. It returns an error unless the answer is yes.
func askToBegin(ctx context.Context, in io.Reader, out io.Writer) error {
	answer, err := terminal.Ask(ctx, in, out, "Begin? y/N: ")
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("nothing was started: %w", err)
	}
	if err == nil && !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		err = errors.New("nothing was started")
	}
	return err
}

// write writes the report's two files.
func (c *ProveCmd) write(report *prove.Report, out io.Writer) error {
	name := c.Out
	if name == "" {
		name = "hotshard-prove"
	}
	content, err := json.MarshalIndent(report, "", " ")
	if err == nil {
		err = os.WriteFile(name+".json", append(content, '\n'), 0o644)
	}
	if err == nil {
		err = os.WriteFile(name+".md", []byte(report.Markdown()), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err = fmt.Fprintf(out, "the report is in %s.md and %[1]s.json\n", name)
	return err
}
