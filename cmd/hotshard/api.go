package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/hotshard/hotshard/internal/apicall"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/load"
	"github.com/hotshard/hotshard/internal/terminal"
)

// api is where the shard map is asked for, and how answers are printed.
type api struct {
	Target string `default:"http://127.0.0.1:8080" help:"Base URL of the API."`
	JSON   bool   `name:"json" help:"Print the answer as JSON."`
	auth
}

// Validate finds faults of the command line.
func (a *api) Validate() error { return load.Options{Target: a.Target}.Validate() }

// callTime bounds one call of the API.
const callTime = 30 * time.Second

// call makes a call and reads the answer; a problem's detail is the error.
func (a api) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	sign, err := a.signer(ctx, a.Target)
	if err != nil {
		return err
	}
	client := &apicall.Client{Base: strings.TrimSuffix(a.Target, "/"), Sign: sign, HTTP: http.DefaultClient}
	request, err := client.Request(ctx, method, path, "", body)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	switch {
	case answer.Code == 0:
		return fmt.Errorf("no hotshard API at %s (start one with hotshard local): %w", a.Target, err)
	case answer.Code != http.StatusOK:
		return refusal(answer)
	case err == nil:
		err = json.Unmarshal(answer.Body, into)
	}
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", a.Target, err)
	}
	return nil
}

func refusal(answer apicall.Answer) error {
	p, ok := answer.Problem()
	if !ok {
		return fmt.Errorf("the API answered %s", answer.Status)
	}
	for _, e := range p.Errors {
		p.Detail += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	return fmt.Errorf("the API answered %s: %s", answer.Status, p.Detail)
}

func (a api) print(out io.Writer, answer any, table func() *terminal.Table) error {
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

// auth says how calls of the API prove who makes them.
type auth struct {
	Auth string `enum:"auto,iam,none" default:"auto" help:"iam signs calls with the AWS credentials of the environment, as a deployed API wants them; none does not. auto: iam, but for a target on this machine."`
}

// signer returns what signs calls of a target; nil for a target that needs none.
func (a auth) signer(ctx context.Context, target string) (apicall.Sign, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("--target %q: %w", target, err)
	}
	if a.Auth == authNone || a.Auth == authAuto && httpapi.IsLoopback(to.Hostname()) {
		return nil, nil
	}
	region := "" // the environment's
	if inHost := regionOf.FindStringSubmatch(to.Hostname()); inHost != nil {
		region = inHost[1]
	}
	c, err := environment(ctx, "no AWS Region is set, to sign calls for: set AWS_REGION, or --auth none", config.WithRegion(region))
	if err != nil {
		return nil, err
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no AWS credentials to sign calls with (--auth none sends them without): %w", err)
	}
	return apicall.SignAs(c.Credentials, c.Region), nil
}

// regionOf finds the Region in the name that API Gateway gives an API.
var regionOf = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)
