package httpapi

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

type callerKey struct{}

// Nameless is the Caller of all tokens with none of the claims sub, client_id and azp. They can't be distinguished.
const Nameless = "jwt"

// Caller returns the caller's identity as API Gateway found it: an IAM ARN, a Cognito identity, or a token's issuer
// with its subject or client. All sessions of a role are one caller. It returns "" if the caller is not authenticated,
// as in the local server.
func Caller(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(string)
	return caller
}

// WithCaller returns a context for which Caller returns caller.
func WithCaller(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// callerOf returns the caller's identity. Different callers have different identities, except those with Nameless.
func callerOf(authorizer *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) string {
	switch {
	case authorizer == nil:
		return ""
	case authorizer.IAM != nil && authorizer.IAM.CognitoIdentity.IdentityID != "": // many Cognito identities share a role
		return joinLines("cognito", authorizer.IAM.CognitoIdentity.IdentityID)
	case authorizer.IAM != nil:
		return joinLines("iam", cmp.Or(roleARN(authorizer.IAM.UserARN), roleID(authorizer.IAM.CallerID), authorizer.IAM.AccountID))
	case authorizer.JWT != nil:
		claims := authorizer.JWT.Claims
		if claims["sub"] != "" {
			return joinLines("jwt", claims["iss"], "sub", claims["sub"])
		}
		if client := cmp.Or(claims["client_id"], claims["azp"]); client != "" {
			return joinLines("jwt", claims["iss"], "client", client)
		}
		return Nameless
	}
	return ""
}

// joinLines joins texts by line breaks, and escapes line breaks in the texts, so that different texts have different
// results.
func joinLines(parts ...string) string {
	for i, p := range parts {
		parts[i] = strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(p)
	}
	return strings.Join(parts, "\n")
}

// roleARN returns arn:aws:sts::123456789012:assumed-role/ROLE/SESSION without the session, whose name each process may
// choose. It returns other ARNs unchanged.
func roleARN(arn string) string {
	const prefix = ":assumed-role/"
	account, roleAndSession, assumed := strings.Cut(arn, prefix)
	if !assumed {
		return arn
	}
	role, _, _ := strings.Cut(roleAndSession, "/")
	return account + prefix + role
}

// roleID returns ROLEID:SESSION without the session.
func roleID(id string) string {
	role, _, _ := strings.Cut(id, ":")
	return role
}
