package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// apiFlags has the flags of commands that call the API.
type apiFlags struct {
	Target string `copied:"target" default:"http://127.0.0.1:8080" help:"Base URL of the API."`
	JSON   bool   `name:"json" help:"Print the answer as JSON."`
	authFlags
}

// Validate returns an error if the flags are invalid.
func (a *apiFlags) Validate() error { return load.Options{Target: a.Target}.Validate() }

// callTimeout is the timeout of one call of the API.
const callTimeout = 30 * time.Second

// callAPI calls the API, and decodes the response into a value. body may be nil. The error of an error response has the
// API's explanation. A call takes at most callTimeout.
func (a apiFlags) callAPI(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	sign, err := a.signer(ctx, a.Target)
	if err != nil {
		return err
	}
	client := &load.APIClient{Base: strings.TrimSuffix(a.Target, "/"), Sign: sign, HTTP: http.DefaultClient}
	err = client.Call(ctx, method, path, "", body, into)
	if fault, ok := errors.AsType[*load.CallError](err); ok && fault.Status == 0 && !fault.Unsent {
		return fmt.Errorf("no hotshard API answers at %s: check --target, or start one on this machine with hotshard local: %w", a.Target, err)
	}
	return err
}

// printAnswer prints a response: as JSON with --json, and otherwise as a table.
func (a apiFlags) printAnswer(out io.Writer, answer any, table func() *textTable) error {
	if a.JSON {
		return printJSON(out, answer)
	}
	_, err := fmt.Fprintln(out, table().Render())
	return err
}

// Values of --auth.
const (
	authAuto = "auto"
	authIAM  = "iam"
	authNone = "none"
)

// authFlags has the flag for the authorization of calls.
type authFlags struct {
	Auth string `copied:"auth" enum:"auto,iam,none" default:"auto" help:"iam signs calls with the AWS credentials of the environment, as a deployed API requires; none sends them unsigned; auto means none for a target on this machine and iam for any other."`
}

// signer returns a signer of calls to a target; nil with --auth none and, with auto, for a target on this machine.
func (a authFlags) signer(ctx context.Context, target string) (load.Sign, error) {
	targetURL, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("--target %q: %w", target, err)
	}
	host := targetURL.Hostname()
	if a.Auth == authNone || (a.Auth == authAuto && httpapi.IsLoopback(host)) {
		return nil, nil
	}
	region := "" // from the environment
	if match := regionInHost.FindStringSubmatch(host); match != nil {
		region = match[1]
	}
	cfg, err := loadAWSConfig(ctx, "calls are signed for an AWS Region, and none is set: set AWS_REGION, or use --auth none", config.WithRegion(region))
	if err != nil {
		return nil, err
	}
	_, err = cfg.Credentials.Retrieve(ctx)
	if fault, ok := errors.AsType[*credentialsError](err); ok {
		return nil, fault.explain("calls of "+target, "--auth none")
	}
	return load.SignAs(cfg.Credentials, "execute-api", cfg.Region), nil
}

// regionInHost matches API Gateway's host names. Its group is the Region.
var regionInHost = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)
