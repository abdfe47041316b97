package httpapi

import (
	"cmp"
	"context"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

type callerKey struct{}

// Caller is who makes the call, as API Gateway has found: an ARN of IAM's, a Cognito
// identity, or the issuer and subject of a token. All sessions of a role are one caller.
// It is "" where nobody is asked who he is, as by the local server.
func Caller(ctx context.Context) string {
	caller, _ := ctx.Value(callerKey{}).(string)
	return caller
}

// WithCaller has Caller return this.
func WithCaller(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// callerOf names the caller, no two by one name.
func callerOf(a *events.APIGatewayV2HTTPRequestContextAuthorizerDescription) string {
	switch {
	case a == nil:
		return ""
	case a.IAM != nil && a.IAM.CognitoIdentity.IdentityID != "": // many share a role
		return line("cognito", a.IAM.CognitoIdentity.IdentityID)
	case a.IAM != nil:
		return line("iam", cmp.Or(withoutSession(a.IAM.UserARN), withoutName(a.IAM.CallerID), a.IAM.AccountID))
	case a.JWT != nil:
		claims := a.JWT.Claims
		if claims["sub"] != "" {
			return line("jwt", claims["iss"], "sub", claims["sub"])
		}
		return line("jwt", claims["iss"], "client", cmp.Or(claims["client_id"], claims["azp"]))
	}
	return ""
}

// line joins texts that others have chosen as one, by line breaks, which are escaped in
// the texts.
func line(parts ...string) string {
	for i, p := range parts {
		parts[i] = strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(p)
	}
	return strings.Join(parts, "\n")
}

// withoutSession cuts arn:aws:sts::123456789012:assumed-role/ROLE/SESSION before the
// session, whose name each process may choose anew. Other ARNs have none.
func withoutSession(arn string) string {
	const role = ":assumed-role/"
	at := strings.Index(arn, role)
	if at < 0 {
		return arn
	}
	name, _, _ := strings.Cut(arn[at+len(role):], "/")
	return arn[:at+len(role)] + name
}

// withoutName cuts a role's id, ROLEID:SESSION, before the session.
func withoutName(id string) string {
	role, _, _ := strings.Cut(id, ":")
	return role
}
