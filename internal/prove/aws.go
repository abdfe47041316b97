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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/apicall"
	"github.com/hotshard/hotshard/internal/awscall"
)

// AWS is an account and Region. The system is deployed as make deploy does it, from a checkout of
// hotshard, and removed by CloudFormation.
type AWS struct {
	Config  aws.Config      // with a Region and credentials
	Calls   *awscall.Client // with the same
	Metrics metricsAPI      // of CloudWatch
	Sign    apicall.Sign    // calls of the API
	// Checkout is the folder of hotshard's Makefile, for a run; a removal needs none.
	Checkout string
	// Settings are more of the deployment's, each key=value.
	Settings []string
	Output   io.Writer // what the deployment prints
	Waiting  Waiting
}

// Waiting says how long AWS is waited for; the zero value is what suits it.
type Waiting struct {
	Pause   time.Duration // between two looks at what is being removed; 0 is 5 s
	Metrics time.Duration // until CloudWatch has all metrics of what was used; 0 is 4 minutes
	End     time.Duration // for a deployment that is told to end, until it is killed; 0 is 20 s
}

func (w Waiting) withDefaults() Waiting {
	if w.Pause == 0 {
		w.Pause = 5 * time.Second
	}
	if w.Metrics == 0 {
		w.Metrics = 4 * time.Minute
	}
	if w.End == 0 {
		w.End = 20 * time.Second
	}
	return w
}

// About says where the account is.
func (a AWS) About() string {
	return "AWS, Region " + a.Config.Region + ": a deployment of its own by make deploy"
}

// settingForm is that of settings which the shell leaves alone.
var settingForm = regexp.MustCompile(`^([a-zA-Z]+)=[a-zA-Z0-9.:/_,@-]*$`)

// own are the settings that a run has whatever is given: what it makes, it can remove.
func own(prefix string) []string {
	return []string{"prefix=" + prefix, "removal=destroy", "deletionProtection=false", "terminationProtection=false", "pitr=false"}
}

// DeploySettings are a run's settings of the deployment, each key=value, with more that are given.
func DeploySettings(prefix string, given []string) ([]string, error) {
	fixed := own(prefix)
	for _, setting := range given {
		match := settingForm.FindStringSubmatch(setting)
		if match == nil {
			return nil, fmt.Errorf("setting %q: want key=value, of letters, digits and any of .:/_,@-", setting)
		}
		for _, one := range append(fixed, "sourceTable=", "sourceStreamArn=", "auth=") {
			if strings.HasPrefix(one, match[1]+"=") {
				return nil, fmt.Errorf("setting %s: a run has its own", match[1])
			}
		}
	}
	return append(fixed, given...), nil
}

func (a AWS) note(ctx context.Context, r *Record) (func() error, error) {
	if _, err := DeploySettings(r.Prefix(), a.Settings); err != nil {
		return nil, err
	}
	if err := a.checkCheckout(); err != nil {
		return nil, err
	}
	account, err := a.account(ctx)
	r.Region, r.Account = a.Config.Region, account
	return func() error { return nil }, err
}

// checkCheckout wants a folder from which nothing else is deployed: settings that are saved there
// would be this deployment's, too.
func (a AWS) checkCheckout() error {
	if _, err := os.Stat(filepath.Join(a.Checkout, "infra", "cdk.json")); err != nil {
		return fmt.Errorf("the system is deployed from a checkout of hotshard, and %q is none: %w", a.Checkout, err)
	}
	saved := filepath.Join(a.Checkout, "infra", "cdk.context.json")
	if _, err := os.Stat(saved); err == nil {
		return fmt.Errorf("%s has settings of another deployment, which this one would have, too: run prove in a clone of its own", saved)
	}
	return nil
}

// Checkout is the folder of hotshard's Makefile that this process works in, or below; or else ".".
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

// account is that of the credentials.
func (a AWS) account(ctx context.Context) (string, error) {
	var answer struct {
		Account string `xml:"GetCallerIdentityResult>Account"`
	}
	err := a.Calls.Query(ctx, "sts:GetCallerIdentity", "2011-06-15", nil, &answer)
	if err == nil && answer.Account == "" {
		err = errors.New("sts:GetCallerIdentity: the answer names no account")
	}
	return answer.Account, err
}

// start deploys for the first stage; the others have the same deployment.
func (a AWS) start(ctx context.Context, r Record, s stage, held *note) (*running, error) {
	url, err := a.deploy(ctx, r, held)
	if err != nil {
		return nil, err
	}
	return &running{
		api: url, sign: a.Sign, db: dynamodb.NewFromConfig(a.Config),
		billed: func(ctx context.Context) (Units, error) {
			if s != conflicts {
				return Units{}, nil // it is asked for once, at the end
			}
			return a.billed(ctx, r)
		},
		stop: func() error { return nil },
	}, nil
}

// outputsFile is where the deployment's outputs are written, by a run's record.
func outputsFile(r Record) string { return filepath.Join(os.TempDir(), r.Stack()+"-outputs.json") }

// deploy has the stack made, unless it is there, and returns the API's URL. The child has the
// note's lock: nobody cleans up while it is at work, also when this process was killed.
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
	child.WaitDelay = a.Waiting.withDefaults().End
	kill := group(child)
	err = child.Run()
	kill()
	if err != nil {
		return "", fmt.Errorf("make deploy: %w", errors.Join(err, ctx.Err()))
	}
	return apiURL(outputs, r)
}

// apiURL reads a deployment's outputs.
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

// cleaner removes a run's stack and tables, with credentials of the same account.
func (a AWS) cleaner(ctx context.Context, r Record) (*cleaner, error) {
	account, err := a.account(ctx)
	if err != nil {
		return nil, err
	}
	if account != r.Account || a.Config.Region != r.Region {
		return nil, fmt.Errorf("run %s is in account %s, Region %s; these credentials are of account %s, Region %s", r.ID, r.Account, r.Region, account, a.Config.Region)
	}
	_ = os.Remove(outputsFile(r)) // mostly there is none
	pause := a.Waiting.withDefaults().Pause
	return &cleaner{
		record: r, stack: stacks{a.Calls}, pause: pause, tries: int(cleanTime / pause),
		tables: dynamodb.NewFromConfig(a.Config),
	}, nil
}
