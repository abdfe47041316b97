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
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// markedCredentials is a credentials provider whose errors are of type *credentialsError.
type markedCredentials struct{ aws.CredentialsProvider }

// Retrieve implements aws.CredentialsProvider.
func (m markedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
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

// useEndpoint is what works without credentials for tables.
const useEndpoint = "--endpoint for an engine on this machine"

// explain returns an error with the cause and what to do. purpose needs credentials, otherwise works without.
func (e *credentialsError) explain(purpose, otherwise string) error {
	cause := ": " + strings.TrimPrefix(e.err.Error(), "failed to refresh cached credentials, ")
	if call, ok := errors.AsType[*smithy.OperationError](e.err); ok && call.Service() == imds.ServiceID {
		cause = "" // no provider is configured, so that the SDK tried the last one, EC2's metadata service
	}
	return userErrorf("No AWS credentials for %s%s. Set AWS_PROFILE, run aws sso login or aws configure, or use %s.", purpose, cause, otherwise)
}

// userError is an error in whole sentences: what is missing, where, and what to do. It wraps no other error.
type userError string

func (e userError) Error() string { return string(e) }

func userErrorf(format string, values ...any) error { return userError(fmt.Sprintf(format, values...)) }

// Codes of AWS for credentials that it does not accept.
var (
	expiredCodes = []string{"ExpiredTokenException", "ExpiredToken", "RequestExpired"}
	invalidCodes = []string{"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException", "IncompleteSignature", "MissingAuthenticationTokenException", "SignatureDoesNotMatch"}
	deniedCodes  = []string{"AccessDeniedException", "AccessDenied", "NotAuthorized"}
)

// explainError returns an error of one line for a failed read of heat: what is missing, where, and what to do. It
// returns err unchanged if err is nil or unknown, or if ctx has ended.
func (h *heatFlags) explainError(ctx context.Context, cfg aws.Config, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if errors.Is(err, live.ErrNoStream) {
		commands := display.Commands{AWS: flagsOfAWS(map[string]string{"table": h.Table, "region": h.Region, "endpoint": h.Endpoint})}
		return userErrorf("Table %q has no stream to read its writes from; to enable one, run: %s", h.Table,
			commands.AWSLine("dynamodb update-table --table-name "+display.ShellWord(h.Table)+" --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES"))
	}
	if fault, ok := errors.AsType[*credentialsError](err); ok {
		return fault.explain(h.tablesText()+" in "+cfg.Region, useEndpoint)
	}
	if _, ok := errors.AsType[*types.ResourceNotFoundException](err); ok {
		return userError(h.notFoundText(cfg))
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		if text := h.rejectedText(cfg, fault); text != "" {
			return userError(text)
		}
	}
	return h.explainUnreachable(cfg, err)
}

// tablesText names the table, or the tables of the deployment.
func (h *heatFlags) tablesText() string {
	if h.Stack {
		return fmt.Sprintf("the tables %s*", h.TablesPrefix)
	}
	return fmt.Sprintf("table %q", h.Table)
}

// notFoundText returns the text for a missing table or deployment.
func (h *heatFlags) notFoundText(cfg aws.Config) string {
	place, check := "in "+cfg.Region, "--region and AWS_PROFILE"
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

// rejectedText returns why AWS rejects the credentials, and what to do. It returns "" for another error.
func (h *heatFlags) rejectedText(cfg aws.Config, fault smithy.APIError) string {
	switch code := fault.ErrorCode(); {
	case slices.Contains(expiredCodes, code):
		return fmt.Sprintf("The AWS credentials for %s in %s have expired. Run aws sso login, or get new ones, and run the command again.", h.tablesText(), cfg.Region)
	case slices.Contains(invalidCodes, code):
		return fmt.Sprintf("AWS does not accept the credentials for %s in %s (%s). Check AWS_PROFILE or AWS_ACCESS_KEY_ID, and this machine's clock.", h.tablesText(), cfg.Region, code)
	case slices.Contains(deniedCodes, code):
		action := "the call"
		if found := deniedAction.FindStringSubmatch(fault.ErrorMessage()); found != nil {
			action = found[1]
		}
		return fmt.Sprintf("Access denied: your credentials may not call %s for %s in %s. Allow the read-only calls of %s.", action, h.tablesText(), cfg.Region, cmp.Or(h.page, "docs/heat-from-a-laptop.md"))
	}
	return ""
}

// explainUnreachable returns an error for a DynamoDB that can't be reached or rejects the call, or for a server that is not
// DynamoDB. It returns other errors unchanged.
func (h *heatFlags) explainUnreachable(cfg aws.Config, err error) error {
	place, check := "in "+cfg.Region, "Check --region and the network."
	if h.Endpoint != "" {
		place, check = "at "+h.Endpoint, "Check --endpoint, and that the engine runs."
	}
	if unanswered, ok := errors.AsType[*url.Error](err); ok {
		why := eventsource.Cause(unanswered)
		if unresolved, ok := errors.AsType[*net.DNSError](err); ok {
			why = fmt.Sprintf("%s: no such host", unresolved.Name)
		}
		return userErrorf("No DynamoDB %s for %s: %s. %s", place, h.tablesText(), why, check)
	}
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok {
		return err
	}
	if fault, ok := errors.AsType[smithy.APIError](err); ok && fault.ErrorCode() != "UnknownError" {
		return userErrorf("DynamoDB %s rejects the call for %s: %s (%s)", place, h.tablesText(), cmp.Or(fault.ErrorMessage(), "without a reason"), fault.ErrorCode())
	}
	return userErrorf("What answers %s is not DynamoDB (HTTP status %d), so %s can't be read. %s", place, answer.HTTPStatusCode(), h.tablesText(), check)
}
