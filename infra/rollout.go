package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/config"
)

// newRollouts moves the API's calls to a new version gradually through CodeDeploy, and back when an alarm on errors
// goes off. The stream's functions change at once: a window's state passes between invocations, and Lambda retries
// failed deliveries.
func newRollouts(s awscdk.Stack, c *config.Config, functions map[string]function, alarms []alarm) {
	if c.Rollout() == "" {
		return
	}
	application := awscodedeploy.NewLambdaApplication(s, jsii.String("Rollouts"), &awscodedeploy.LambdaApplicationProps{ApplicationName: jsii.String(c.Prefix + "functions")})
	how := awscodedeploy.LambdaDeploymentConfig_FromLambdaDeploymentConfigName(s, jsii.String("Rollout"), jsii.String(c.Rollout()))
	for _, f := range []string{Ingest, Query} {
		var onErrors []interfacesawscloudwatch.IAlarmRef
		for _, a := range alarms {
			if a.name == f+"-errors" || a.name == "api-errors" {
				onErrors = append(onErrors, a.made)
			}
		}
		awscodedeploy.NewLambdaDeploymentGroup(s, id(f, "rollout"), &awscodedeploy.LambdaDeploymentGroupProps{
			Application: application, DeploymentGroupName: jsii.String(c.Prefix + f), Alias: functions[f].live, DeploymentConfig: how,
			Alarms:       &onErrors,
			AutoRollback: &awscodedeploy.AutoRollbackConfig{FailedDeployment: jsii.Bool(true), StoppedDeployment: jsii.Bool(true), DeploymentInAlarm: jsii.Bool(true)},
		})
	}
}
