package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
)

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

// sign adds a signature to a request with this body.
type sign func(ctx context.Context, r *http.Request, body []byte) error

// signer returns what signs calls of a target; nil for a target that needs none.
func (a auth) signer(ctx context.Context, target string) (sign, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("--target %q: %w", target, err)
	}
	if a.Auth == authNone || a.Auth == authAuto && onThisMachine(to.Hostname()) {
		return nil, nil
	}
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration, to sign calls: %w", err)
	}
	if inHost := regionOf.FindStringSubmatch(to.Hostname()); inHost != nil {
		c.Region = inHost[1]
	}
	if c.Region == "" {
		return nil, errors.New("no AWS Region is set, to sign calls for: set AWS_REGION, or --auth none")
	}
	if _, err := c.Credentials.Retrieve(ctx); err != nil {
		return nil, fmt.Errorf("no AWS credentials to sign calls with (--auth none sends them without): %w", err)
	}
	return signAs(c.Credentials, c.Region, time.Now), nil
}

// regionOf finds the Region in the name that API Gateway gives an API.
var regionOf = regexp.MustCompile(`\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$`)

// onThisMachine tells whether a host is this one by its name or address.
func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// signAs signs by Signature Version 4 for API Gateway. The credentials are asked for
// with each call, since they may expire.
func signAs(from aws.CredentialsProvider, region string, now func() time.Time) sign {
	signer := v4.NewSigner()
	return func(ctx context.Context, r *http.Request, body []byte) error {
		credentials, err := from.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("retrieving AWS credentials: %w", err)
		}
		digest := sha256.Sum256(body)
		if err := signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(digest[:]), "execute-api", region, now()); err != nil {
			return fmt.Errorf("signing a call: %w", err)
		}
		return nil
	}
}
