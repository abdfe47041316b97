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

// api has the flags of commands that call the API.
type api struct {
	Target string `copied:"target" default:"http://127.0.0.1:8080" help:"Base URL of the API."`
	JSON   bool   `name:"json" help:"Print the answer as JSON."`
	auth
}

// Validate returns an error if the flags are invalid.
func (a *api) Validate() error { return load.Options{Target: a.Target}.Validate() }

// callTime is the timeout of one call of the API.
const callTime = 30 * time.Second

// callAPI makes a call and decodes the response. An error has the detail of the problem.
func (a api) callAPI(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	sign, err := a.signer(ctx, a.Target)
	if err != nil {
		return err
	}
	client := &load.APIClient{Base: strings.TrimSuffix(a.Target, "/"), Sign: sign, HTTP: http.DefaultClient}
	err = client.Call(ctx, method, path, "", body, into)
	if fault, ok := errors.AsType[*load.CallError](err); ok && fault.Status == 0 && !fault.Unsent {
		return fmt.Errorf("no answer of a hotshard API at %s (check --target; hotshard local starts an API on this machine): %w", a.Target, err)
	}
	return err
}

// print prints a response: as JSON with --json, and otherwise as a table.
func (a api) print(out io.Writer, answer any, table func() *textTable) error {
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

// auth has the flag for the authorization of calls.
type auth struct {
	Auth string `copied:"auth" enum:"auto,iam,none" default:"auto" help:"iam signs calls with the AWS credentials of the environment, as a deployed API requires; none sends them unsigned; auto means none for a target on this machine and iam for any other."`
}

// signer returns a signer of calls to a target, or nil if the target needs none.
func (a auth) signer(ctx context.Context, target string) (load.Sign, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("--target %q: %w", target, err)
	}
	if a.Auth == authNone || a.Auth == authAuto && httpapi.IsLoopback(to.Hostname()) {
		return nil, nil
	}
	region := "" // from the environment
	if inHost := regionOf.FindStringSubmatch(to.Hostname()); inHost != nil {
		region = inHost[1]
	}
	c, err := environment(ctx, "calls are signed for an AWS Region, and none is set: set AWS_REGION, or use --auth none", config.WithRegion(region))
	if err != nil {
		return nil, err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no AWS credentials to sign the call with; set them, or use --auth none: %w", err)
	}
	return load.SignAs(c.Credentials, "execute-api", c.Region), nil
}

// regionOf matches the Region in API Gateway's host names.
var regionOf = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)
