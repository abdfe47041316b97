package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/tool/apicall"
)

// AWS runs the system in an account and Region: make deploy deploys it from a checkout of hotshard, and CloudFormation
// removes it.
type AWS struct {
	Config  aws.Config      // with a Region and credentials
	Calls   *awscall.Client // with the same Region and credentials
	Metrics cloudwatch.GetMetricDataAPIClient
	Sign    apicall.Sign // signs the API's calls
	// Checkout is the folder of hotshard's Makefile. Only a run needs it.
	Checkout string
	// Settings are additional deployment settings, each key=value.
	Settings []string
	Output   io.Writer // output of the deployment
	Waiting  Waiting
}

// Waiting has the waits for AWS.
type Waiting struct {
	Pause   time.Duration // between two checks of a removal
	Metrics time.Duration // until CloudWatch has all metrics
	End     time.Duration // until an interrupted deployment is killed
}

// AWSWaiting has the waits in production.
var AWSWaiting = Waiting{Pause: 5 * time.Second, Metrics: 4 * time.Minute, End: 20 * time.Second}

// About returns one line with the Region.
func (a AWS) About() string {
	return "AWS, Region " + a.Config.Region + ": a deployment of its own by make deploy"
}

// settingForm matches settings without characters that the shell interprets.
var settingForm = regexp.MustCompile(`^([a-zA-Z]+)=[a-zA-Z0-9.:/_,@-]*$`)

// fixedSettings returns the settings of every run. They make all of its resources removable.
func fixedSettings(prefix string) []string {
	return []string{"prefix=" + prefix, "removal=destroy", "deletionProtection=false", "terminationProtection=false", "pitr=false"}
}

// DeploySettings returns the settings of a run's deployment, each key=value: the fixed ones and the given ones.
func DeploySettings(prefix string, given []string) ([]string, error) {
	fixed := fixedSettings(prefix)
	for _, setting := range given {
		match := settingForm.FindStringSubmatch(setting)
		if match == nil {
			return nil, fmt.Errorf("setting %q: want key=value, of letters, digits and any of .:/_,@-", setting)
		}
		for _, one := range append(fixed, "sourceTable=", "sourceStreamArn=", "auth=") {
			if strings.HasPrefix(one, match[1]+"=") {
				return nil, fmt.Errorf("setting %s: prove sets it itself", match[1])
			}
		}
	}
	return append(fixed, given...), nil
}

func (a AWS) storeRecord(ctx context.Context, r *Record) (func() error, error) {
	if _, err := DeploySettings(r.Prefix(), a.Settings); err != nil {
		return nil, err
	}
	if err := a.checkCheckout(); err != nil {
		return nil, err
	}
	account, err := a.Calls.Account(ctx)
	r.Region, r.Account = a.Config.Region, account
	return func() error { return nil }, err
}

// checkCheckout returns an error if Checkout is no checkout, or has settings of another deployment.
func (a AWS) checkCheckout() error {
	if _, err := os.Stat(filepath.Join(a.Checkout, "infra", "cdk.json")); err != nil {
		return fmt.Errorf("prove deploys from a checkout of hotshard, and %q is not one: run it in a checkout: %w", a.Checkout, err)
	}
	saved := filepath.Join(a.Checkout, "infra", "cdk.context.json")
	if _, err := os.Stat(saved); err == nil {
		return fmt.Errorf("%s has settings of another deployment, which would apply to this one: run prove in a new clone", saved)
	}
	return nil
}

// Checkout returns the folder of hotshard's Makefile at or above the working directory, or else ".".
func Checkout() string {
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

// start deploys in the first stage. Later stages use the same deployment.
func (a AWS) start(ctx context.Context, r Record, s stage, held *note) (*running, error) {
	url, err := a.deploy(ctx, r, held)
	if err != nil {
		return nil, err
	}
	return &running{
		api: url, sign: a.Sign, db: dynamodb.NewFromConfig(a.Config),
		billed: func(ctx context.Context) (Units, error) {
			if s != conflicts {
				return Units{}, nil // read once, at the end
			}
			return a.billed(ctx, r)
		},
		stop: func() error { return nil },
	}, nil
}

// outputsFile returns the path of the deployment's outputs.
func outputsFile(r Record) string { return filepath.Join(os.TempDir(), r.Stack()+"-outputs.json") }

// deploy makes the stack unless it exists, and returns the API's URL. The child process inherits the note's lock, so
// that no cleanup begins while it runs, even if this process was killed.
func (a AWS) deploy(ctx context.Context, r Record, held *note) (string, error) {
	outputs := outputsFile(r)
	if url, err := apiURL(outputs, r); err == nil {
		return url, nil
	}
	settings, err := DeploySettings(r.Prefix(), a.Settings)
	if err != nil {
		return "", err
	}
	child := exec.CommandContext(ctx, "make", "deploy", "APPROVAL=never",
		"CONTEXT=-c "+strings.Join(settings, " -c "), "ARGS=--outputs-file "+outputs)
	child.Dir, child.Stdout, child.Stderr, child.ExtraFiles = a.Checkout, a.Output, a.Output, []*os.File{held.file}
	child.WaitDelay = a.Waiting.End
	kill := group(child)
	err = child.Run()
	kill()
	if err != nil {
		return "", fmt.Errorf("make deploy: %w", errors.Join(err, ctx.Err()))
	}
	return apiURL(outputs, r)
}

// apiURL reads the API's URL from a deployment's outputs.
func apiURL(path string, r Record) (string, error) {
	content, err := os.ReadFile(path)
	var outputs map[string]map[string]string
	if err == nil {
		err = json.Unmarshal(content, &outputs)
	}
	url := outputs[r.Stack()]["ApiUrl"]
	if err == nil && url == "" {
		err = errors.New("there is no ApiUrl")
	}
	if err != nil {
		return "", fmt.Errorf("the deployment's outputs: %w", err)
	}
	return strings.TrimSuffix(url, "/"), nil
}

// cleaner returns a cleaner of a run's stack and tables. It returns an error if the credentials are of another account.
func (a AWS) cleaner(ctx context.Context, r Record) (*cleaner, error) {
	account, err := a.Calls.Account(ctx)
	if err != nil {
		return nil, err
	}
	if account != r.Account || a.Config.Region != r.Region {
		return nil, fmt.Errorf("cleaning run %s needs account %s, Region %s; the credentials are of account %s, the Region is %s", r.ID, r.Account, r.Region, account, a.Config.Region)
	}
	_ = os.Remove(outputsFile(r)) // there is none if nothing was deployed
	return &cleaner{
		record: r, stack: stacks{a.Calls}, pause: a.Waiting.Pause, tries: int(cleanTime / a.Waiting.Pause),
		tables: dynamodb.NewFromConfig(a.Config),
	}, nil
}
