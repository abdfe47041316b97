package infra

import (
	"strings"
	"testing"
)

// TestCanary checks that calls move to new versions of the API's functions gradually, and back on errors.
func TestCanary(t *testing.T) {
	for canary, want := range map[string]string{
		"10percent5minutes": "CodeDeployDefault.LambdaCanary10Percent5Minutes", "linear10minutes": "CodeDeployDefault.LambdaLinear10PercentEvery10Minutes",
	} {
		tm := with(t, map[string]any{"canary": canary})
		for _, function := range Functions {
			if function == Reader { // a deployment has either this or the other two
				continue
			}
			update := tm.Resources[live(t, tm, function)].UpdatePolicy.object("CodeDeployLambdaAliasUpdate")
			if function != Ingest && function != Query {
				if update != nil {
					t.Errorf("%s: update policy %v, want none", function, update)
				}
				continue
			}
			p := tm.at(update.text("DeploymentGroupName"))
			group := text(map[string]any(p))
			if p.text("DeploymentGroupName") != "hotshard-"+function || p.text("DeploymentConfigName") != want || !strings.Contains(group, "DEPLOYMENT_STOP_ON_ALARM") {
				t.Errorf("%s: deployment group %v, want %s that stops on alarms", function, p, want)
			}
			var names []string
			for _, a := range p.object("AlarmConfiguration").objects("Alarms") {
				names = append(names, tm.at(a.text("Name")).text("AlarmName"))
			}
			if got := strings.Join(names, " "); got != "hotshard-"+function+"-errors hotshard-api-errors" || p.object("AlarmConfiguration")["Enabled"] != true {
				t.Errorf("%s rolls back on %s", function, got)
			}
		}
	}
}

// TestVersionsAreKept checks that an update keeps the previous versions of each function, so that the runbook's command
// can move the alias back.
func TestVersionsAreKept(t *testing.T) {
	versions := deployed(t).of(t, "AWS::Lambda::Version")
	if len(versions) != len(Functions)-1 { // without the reader
		t.Errorf("%d versions, want one of each function", len(versions))
	}
	for id, v := range versions {
		if v.DeletionPolicy != "RetainExceptOnCreate" || v.UpdateReplacePolicy != "Retain" {
			t.Errorf("%s: policies %s and %s", id, v.DeletionPolicy, v.UpdateReplacePolicy)
		}
	}
}
