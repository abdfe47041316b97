package config

// canaries are CodeDeploy's predefined deployment configurations, from
// https://docs.aws.amazon.com/codedeploy/latest/userguide/deployment-configurations.html
var canaries = map[string]string{
	"off":                "",
	"10percent5minutes":  "CodeDeployDefault.LambdaCanary10Percent5Minutes",
	"10percent10minutes": "CodeDeployDefault.LambdaCanary10Percent10Minutes",
	"10percent15minutes": "CodeDeployDefault.LambdaCanary10Percent15Minutes",
	"10percent30minutes": "CodeDeployDefault.LambdaCanary10Percent30Minutes",
	"linear1minute":      "CodeDeployDefault.LambdaLinear10PercentEvery1Minute",
	"linear2minutes":     "CodeDeployDefault.LambdaLinear10PercentEvery2Minutes",
	"linear3minutes":     "CodeDeployDefault.LambdaLinear10PercentEvery3Minutes",
	"linear10minutes":    "CodeDeployDefault.LambdaLinear10PercentEvery10Minutes",
}

// Rollout returns CodeDeploy's name of Canary, or "" for none.
func (c *Config) Rollout() string { return canaries[c.Canary] }
