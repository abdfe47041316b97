package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"golang.org/x/term"

	"github.com/hotshard/hotshard/internal/awscall"
	"github.com/hotshard/hotshard/internal/local/system"
	"github.com/hotshard/hotshard/internal/prove"
)

// ProveCmd is hotshard prove.
type ProveCmd struct {
	Local    bool     `help:"On this machine, with Lambda's model and DynamoDB Local. Default: a deployment of its own in the AWS account and Region of the environment, from this checkout of hotshard."`
	Endpoint string   `env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"With --local: DynamoDB-compatible engine to use instead of starting one."`
	Ceiling  float64  `default:"5" help:"The most that it may cost, in USD, by assumed prices. It does not start if it could cost more, and ends before it does."`
	Quick    bool     `help:"Some seconds of each experiment: shows that everything works; its figures say little."`
	Set      []string `sep:"none" placeholder:"KEY=VALUE" help:"On AWS: a setting of the deployment, such as hotkeysConcurrency=0; may be repeated."`
	Cleanup  bool     `help:"Only remove what earlier runs have left, which every run does first."`
	Out      string   `placeholder:"FILE" help:"The report, without an ending: FILE.json and FILE.md. Default: hotshard-prove."`
	Yes      bool     `help:"Don't ask."`
}

// Validate finds faults of the command line.
func (c *ProveCmd) Validate() error {
	switch {
	case c.Ceiling <= 0 || c.Ceiling > 1000:
		return fmt.Errorf("--ceiling %g: want more than 0, up to 1000", c.Ceiling)
	case c.Local && len(c.Set) > 0:
		return errors.New("--set is for a deployment on AWS")
	case c.Local && c.Endpoint != "":
		return system.CheckEndpoint(c.Endpoint)
	}
	return nil
}

// plan is what the run does.
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

// Run cleans up after earlier runs, experiments, and writes the report.
func (c *ProveCmd) Run(ctx context.Context, std streams) error {
	folder, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("finding the folder where runs are written down: %w", err)
	}
	folder = filepath.Join(folder, "hotshard", "prove")
	sites := &sites{ctx: ctx, std: std}
	if err := prove.Clean(ctx, folder, sites.of, std.err); err != nil {
		return fmt.Errorf("what earlier runs have left, by the notes in %s: %w", folder, err)
	}
	if c.Cleanup {
		fmt.Fprintln(std.out, "nothing of earlier runs is left")
		return nil
	}
	site, err := c.site(sites)
	if err != nil {
		return err
	}
	if err := c.confirm(ctx, site, os.Stdin, std); err != nil {
		return err
	}
	report, err := prove.Run(ctx, prove.Options{Site: site, Plan: c.plan(), Ceiling: c.Ceiling, Folder: folder, Notices: std.err})
	if report == nil {
		return err
	}
	if left, ok := errors.AsType[*prove.LeftError](err); ok && ctx.Err() != nil {
		fmt.Fprintln(std.err, "hotshard:", left) // the error that is printed is the interruption
	}
	return errors.Join(err, c.write(report, std.out))
}

// site is where the run is to be.
func (c *ProveCmd) site(all *sites) (prove.Site, error) {
	if c.Local {
		return prove.Local{Endpoint: c.Endpoint, PartitionWCU: int(c.plan().PartitionWCU), Notices: all.std.err}, nil
	}
	aws, err := all.aws()
	if err != nil {
		return nil, err
	}
	aws.Settings, aws.Checkout = c.Set, checkout()
	return aws, nil
}

// checkout is the folder of hotshard's Makefile that the command was called in, or below.
func checkout() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, absent := os.Stat(filepath.Join(dir, "infra", "cdk.json")); absent == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return "."
}

// sites are where runs are and were.
type sites struct {
	ctx context.Context
	std streams
}

// of is the site of a record.
func (s *sites) of(r prove.Record) (prove.Site, error) {
	if r.Endpoint != "" {
		return prove.Local{Endpoint: r.Endpoint}, nil
	}
	return s.aws()
}

// aws is the account and Region of the environment.
func (s *sites) aws() (prove.AWS, error) {
	// Enough connections stay open for thousands of calls a second.
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 512 })
	c, err := config.LoadDefaultConfig(s.ctx, config.WithHTTPClient(transport))
	if err != nil {
		return prove.AWS{}, fmt.Errorf("reading the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return prove.AWS{}, errors.New("no AWS Region is set: set AWS_REGION, or --local for this machine")
	}
	if _, err := c.Credentials.Retrieve(s.ctx); err != nil {
		return prove.AWS{}, fmt.Errorf("there are no AWS credentials (--local needs none): %w", err)
	}
	calls := &awscall.Client{Region: c.Region, Credentials: c.Credentials}
	if c.BaseEndpoint != nil {
		calls.Endpoint = func(string) string { return *c.BaseEndpoint }
	}
	return prove.AWS{
		Config: c, Calls: calls, Metrics: cloudwatch.NewFromConfig(c), Output: s.std.err,
		Sign: prove.Sign(signAs(c.Credentials, c.Region, time.Now)),
	}, nil
}

// confirm says what is going to be done, and asks on a terminal. Elsewhere --yes has to be given.
func (c *ProveCmd) confirm(ctx context.Context, site prove.Site, in *os.File, std streams) error {
	c.describe(site, std.err)
	if c.Yes {
		return nil
	}
	if !term.IsTerminal(int(in.Fd())) {
		return errors.New("nothing was begun: say --yes")
	}
	return askToBegin(ctx, in, std.err)
}

func (c *ProveCmd) describe(site prove.Site, out io.Writer) {
	plan := c.plan()
	fmt.Fprintf(out, "hotshard prove, on %s\nIt makes tables and functions whose names begin with hotshard-prove-, and removes them at its end. Up to\n", site.About())
	for _, line := range plan.Describe() {
		fmt.Fprintln(out, line)
	}
	deploying := ""
	if !c.Local {
		deploying = ", beside some ten minutes to deploy it, count what was used, and remove it"
	}
	fmt.Fprintf(out, "in %v%s.\n", plan.Lasting().Round(time.Second), deploying)
	if c.Local {
		fmt.Fprintf(out, "On AWS that would cost up to $%.2f; here it costs nothing. The ceiling is $%.2f.\n", plan.Bound(), c.Ceiling)
		return
	}
	fmt.Fprintf(out, "It costs up to $%.2f as far as can be said ahead, and ends at the ceiling of $%.2f, by assumed prices.\n", plan.Bound(), c.Ceiling)
}

// askToBegin waits for an answer, or for the end of ctx; no is what is not yes.
func askToBegin(ctx context.Context, in io.Reader, out io.Writer) error {
	fmt.Fprint(out, "Begin? y/N: ")
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // an error is no yes
		answered <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case answer := <-answered:
		if answer == "y" || answer == "yes" {
			return nil
		}
		return errors.New("nothing was begun")
	case <-ctx.Done():
		fmt.Fprintln(out)
		return ctx.Err()
	}
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
