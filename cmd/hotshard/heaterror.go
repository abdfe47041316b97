package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// marked makes the errors of a credentials provider recognizable.
type marked struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider. Its errors are of type *credentialsError.
func (m marked) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := m.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		err = &credentialsError{err}
	}
	return c, err
}

// credentialsError is the error of a credentials provider.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "retrieve AWS credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// Is reports whether target is eventsource.ErrNoCredentials.
func (e *credentialsError) Is(target error) bool { return target == eventsource.ErrNoCredentials }

// explain returns an error with the cause and what to do; what names the tables that need credentials. If no provider is
// configured, the last one failed, EC2's metadata service, and the cause is omitted.
func (e *credentialsError) explain(what string) error {
	cause := ": " + strings.TrimPrefix(e.err.Error(), "failed to refresh cached credentials, ")
	if call, ok := errors.AsType[*smithy.OperationError](e.err); ok && call.Service() == imds.ServiceID {
		cause = ""
	}
	return sentence("No AWS credentials for %s%s. Set AWS_PROFILE, run aws sso login or aws configure, or use --endpoint for an engine on this machine.", what, cause)
}

// advised is an error in whole sentences: what is missing, where, and what to do.
type advised string

func (a advised) Error() string { return string(a) }

func sentence(format string, values ...any) error { return advised(fmt.Sprintf(format, values...)) }

// Codes of AWS for credentials that it does not accept.
const (
	expiredCodes = "ExpiredTokenException ExpiredToken RequestExpired"
	invalidCodes = "UnrecognizedClientException InvalidClientTokenId InvalidSignatureException IncompleteSignature MissingAuthenticationTokenException SignatureDoesNotMatch"
	deniedCodes  = "AccessDeniedException AccessDenied NotAuthorized"
)

// explain returns an error of one line for a failed read of heat: what is missing, where, and what to do. It returns
// other errors unchanged.
func (h *heatFrom) explain(ctx context.Context, c aws.Config, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, live.ErrNoStream) {
		return err
	}
	if fault, ok := errors.AsType[*credentialsError](err); ok {
		return fault.explain(h.what() + " in " + c.Region)
	}
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return advised(h.notFound(c))
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		if text := h.rejected(c, fault); text != "" {
			return advised(text)
		}
	}
	return h.unreachable(c, err)
}

// explainer returns explain for this configuration.
func (h *heatFrom) explainer(c aws.Config) func(context.Context, error) error {
	return func(ctx context.Context, err error) error { return h.explain(ctx, c, err) }
}

// what returns the name of the table or tables.
func (h *heatFrom) what() string {
	if h.Stack {
		return fmt.Sprintf("the tables %s*", h.TablesPrefix)
	}
	return fmt.Sprintf("table %q", h.Table)
}

// notFound returns the text for a missing table or deployment.
func (h *heatFrom) notFound(c aws.Config) string {
	place, check := "in "+c.Region, "--region and AWS_PROFILE"
	if h.Endpoint != "" {
		place, check = "at "+h.Endpoint, "--endpoint"
	}
	if h.Stack {
		return fmt.Sprintf("No hotshard deployment with the table prefix %q %s. Check --tables-prefix and %s.", h.TablesPrefix, place, check)
	}
	text := fmt.Sprintf("Table %q not found %s. Check --table and %s.", h.Table, place, check)
	if h.Endpoint != "" {
		text += " An engine may keep a database for each access key and Region: set AWS_ACCESS_KEY_ID and AWS_REGION to those of the table's writers."
	}
	return text
}

// deniedAction matches the action in a message such as "User: arn:... is not authorized to perform:
// dynamodb:DescribeTable on resource: arn:...".
var deniedAction = regexp.MustCompile(`not authorized to perform: (\S+)`)

// rejected returns why AWS rejects the credentials, and what to do, or "" for another error.
func (h *heatFrom) rejected(c aws.Config, fault smithy.APIError) string {
	isOneOf := func(codes string) bool { return slices.Contains(strings.Fields(codes), fault.ErrorCode()) }
	switch {
	case isOneOf(expiredCodes):
		return fmt.Sprintf("The AWS credentials for %s in %s have expired. Run aws sso login, or get new ones, and run the command again.", h.what(), c.Region)
	case isOneOf(invalidCodes):
		return fmt.Sprintf("AWS does not accept the credentials for %s in %s (%s). Check AWS_PROFILE or AWS_ACCESS_KEY_ID, and this machine's clock.", h.what(), c.Region, fault.ErrorCode())
	case isOneOf(deniedCodes):
		action := "the call"
		if found := deniedAction.FindStringSubmatch(fault.ErrorMessage()); found != nil {
			action = found[1]
		}
		return fmt.Sprintf("Access denied: your credentials may not call %s for %s in %s. Allow the read-only calls of %s.", action, h.what(), c.Region, cmp.Or(h.page, "docs/heat-from-a-laptop.md"))
	}
	return ""
}

// unreachable returns an error for an unreachable DynamoDB, or for an endpoint that is not DynamoDB. It returns other
// errors unchanged.
func (h *heatFrom) unreachable(c aws.Config, err error) error {
	place, check := "in "+c.Region, "Check --region and the network."
	if h.Endpoint != "" {
		place, check = "at "+h.Endpoint, "Check --endpoint, and that the engine runs."
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		why := eventsource.Cause(sent)
		if unresolved, ok := errors.AsType[*net.DNSError](err); ok {
			why = fmt.Sprintf("%s: no such host", unresolved.Name)
		}
		return sentence("No DynamoDB %s for %s: %s. %s", place, h.what(), why, check)
	}
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok {
		return err
	}
	fault, named := errors.AsType[smithy.APIError](err)
	if named && fault.ErrorCode() != "UnknownError" {
		return sentence("DynamoDB %s rejects the call for %s: %s (%s)", place, h.what(), cmp.Or(fault.ErrorMessage(), "without a reason"), fault.ErrorCode())
	}
	return sentence("What answers %s is not DynamoDB (HTTP status %d), so %s was not found. %s", place, answer.HTTPStatusCode(), h.what(), check)
}
