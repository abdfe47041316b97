package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"github.com/hotshard/hotshard/infra/grants"
)

// makeRollouts has CodeDeploy move the API's calls to a new version bit by bit, and back when
// an alarm on errors goes off. The stream's functions change at once: a window's state goes
// from one invocation to the next, and a delivery that fails comes again.
func (d *deployment) makeRollouts() {
	if d.config.Rollout() == "" {
		return
	}
	application := awscodedeploy.NewLambdaApplication(d.stack, jsii.String("Rollouts"), &awscodedeploy.LambdaApplicationProps{ApplicationName: d.name("functions")})
	how := awscodedeploy.LambdaDeploymentConfig_FromLambdaDeploymentConfigName(d.stack, jsii.String("Rollout"), jsii.String(d.config.Rollout()))
	for _, f := range []string{grants.Ingest, grants.Query} {
		awscodedeploy.NewLambdaDeploymentGroup(d.stack, id(f, "rollout"), &awscodedeploy.LambdaDeploymentGroupProps{
			Application: application, DeploymentGroupName: d.name(f), Alias: d.live[f], DeploymentConfig: how,
			Alarms:       d.alarmRefs(f+"-errors", "api-errors"),
			AutoRollback: &awscodedeploy.AutoRollbackConfig{FailedDeployment: jsii.Bool(true), StoppedDeployment: jsii.Bool(true), DeploymentInAlarm: jsii.Bool(true)},
		})
	}
}

// alarmRefs are alarms by their names, which must be there.
func (d *deployment) alarmRefs(names ...string) *[]interfacesawscloudwatch.IAlarmRef {
	var list []interfacesawscloudwatch.IAlarmRef
	for _, name := range names {
		list = append(list, d.stack.Node().FindChild(id(name, "alarm")).(awscloudwatch.Alarm))
	}
	return &list
}
