package infra

import (
	"encoding/json"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
	"github.com/hotshard/hotshard/internal/httpapi"
)

// api is the HTTP API.
type api struct {
	http  awsapigatewayv2.HttpApi
	stage awsapigatewayv2.HttpStage
}

// newAPI makes an HTTP API with one authorized route for each call. API Gateway responds to other requests with 404.
func newAPI(s awscdk.Stack, c *config.Config, functions map[string]function) *api {
	made := &api{http: awsapigatewayv2.NewHttpApi(s, jsii.String("Api"), &awsapigatewayv2.HttpApiProps{
		ApiName: jsii.String(c.Prefix + "api"), Description: jsii.String("hotshard"), CreateDefaultStage: jsii.Bool(false), CorsPreflight: cors(c.CORSOrigins),
	})}
	guards := newGuards(&c.Stack)
	integrations := map[string]awsapigatewayv2integrations.HttpLambdaIntegration{}
	for _, r := range routes() {
		if integrations[r.function] == nil {
			integrations[r.function] = awsapigatewayv2integrations.NewHttpLambdaIntegration(id(r.function), awslambda.IFunction(functions[r.function].live), nil)
		}
		made.http.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
			Path: jsii.String(r.path), Methods: &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod(r.method)},
			Integration: integrations[r.function], Authorizer: guards[r.who].authorizer, AuthorizationScopes: guards[r.who].scopes,
		})
	}
	made.stage = newStage(s, c, made.http)
	return made
}

// cors returns the settings with which pages of these origins may call the API, or nil without origins. API Gateway
// responds to preflight requests; the calls themselves need authorization.
func cors(origins []string) *awsapigatewayv2.CorsPreflightOptions {
	if len(origins) == 0 {
		return nil
	}
	return &awsapigatewayv2.CorsPreflightOptions{
		AllowOrigins: jsii.Strings(origins...),
		AllowMethods: &[]awsapigatewayv2.CorsHttpMethod{
			awsapigatewayv2.CorsHttpMethod_GET, awsapigatewayv2.CorsHttpMethod_POST, awsapigatewayv2.CorsHttpMethod_PUT, awsapigatewayv2.CorsHttpMethod_DELETE,
		},
		AllowHeaders:  jsii.Strings("authorization", "content-type", "idempotency-key", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"),
		ExposeHeaders: jsii.Strings("retry-after", "x-request-id"),
		MaxAge:        awscdk.Duration_Hours(jsii.Number(1)),
	}
}

// guard is the authorization of a call: a signature, or a token. If scopes are set, the token must have one of them.
type guard struct {
	authorizer awsapigatewayv2.IHttpRouteAuthorizer
	scopes     *[]*string
}

// newGuards returns the guards of callers and operators. Without JWTAdminScopes operators sign their calls, even if
// callers use tokens.
func newGuards(c *config.Stack) map[httpapi.Audience]guard {
	signed := guard{authorizer: awsapigatewayv2authorizers.NewHttpIamAuthorizer()}
	if c.Auth != "jwt" {
		return map[httpapi.Audience]guard{httpapi.ForCallers: signed, httpapi.ForOperators: signed}
	}
	tokens := awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Jwt"), jsii.String(c.JWTIssuer),
		&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings(c.JWTAudience...)})
	withToken := func(scopes []string) guard {
		if len(scopes) == 0 {
			return guard{authorizer: tokens}
		}
		return guard{tokens, jsii.Strings(scopes...)}
	}
	operators := signed
	if len(c.JWTAdminScopes) > 0 {
		operators = withToken(c.JWTAdminScopes)
	}
	return map[httpapi.Audience]guard{httpapi.ForCallers: withToken(c.JWTScopes), httpapi.ForOperators: operators}
}

// vended is the prefix of log groups that AWS services write to. Log groups without the prefix each add to an account
// policy that is limited to 5,120 characters:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/AWS-logs-and-resource-policy.html
const vended = "/aws/vendedlogs/apigateway/"

// newStage makes the API's stage with its throttling limits and an access log, the only record of who called.
func newStage(s awscdk.Stack, c *config.Config, http awsapigatewayv2.HttpApi) awsapigatewayv2.HttpStage {
	stage := awsapigatewayv2.NewHttpStage(s, jsii.String("Stage"), &awsapigatewayv2.HttpStageProps{
		HttpApi: http, StageName: jsii.String("$default"), AutoDeploy: jsii.Bool(true),
		Throttle: &awsapigatewayv2.ThrottleSettings{RateLimit: jsii.Number(c.APIRate), BurstLimit: jsii.Number(c.APIRate / 2)},
	})
	arn := s.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("logs"), Resource: jsii.String("log-group"), ResourceName: newLogs(s, jsii.String("ApiLogs"), vended+c.Prefix+"api").LogGroupName(),
		ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
	stage.Node().DefaultChild().(awsapigatewayv2.CfnStage).SetAccessLogSettings(
		awsapigatewayv2.CfnStage_AccessLogSettingsProperty{DestinationArn: arn, Format: jsii.String(accessLog(c.Auth == "jwt"))})
	return stage
}

// accessLog returns the format of an access log's line: who called, the route and the result. It omits query strings,
// which contain the names of counters, entities and other keys. A function's log has the line's request as
// api_request_id, and its functionRequest as request_id. With jwt the line also has the token's subject.
func accessLog(jwt bool) string {
	variables := map[string]string{
		"time": "requestTime", "request": "requestId", "ip": "identity.sourceIp", "caller": "identity.userArn",
		"route": "routeKey", "status": "status", "bytes": "responseLength", "latency": "responseLatency",
		"functionRequest": "integration.requestId", "functionLatency": "integrationLatency", "functionStatus": "integration.integrationStatus",
		"error": "error.message", "errorType": "error.responseType", "authorizerError": "authorizer.error", "integrationError": "integrationErrorMessage",
	}
	if jwt { // an operator's call may be signed instead: then it has a caller
		variables["subject"] = "authorizer.claims.sub"
	}
	fields := map[string]string{}
	for name, variable := range variables {
		fields[name] = "$context." + variable
	}
	line, err := json.Marshal(fields) // sorted by name
	if err != nil {
		panic(err) // strings can always be marshaled
	}
	return string(line)
}
