package infra

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/infra/grants"
)

// TestCanary checks that calls move to new versions of the API's functions gradually, and back on errors.
func TestCanary(t *testing.T) {
	for canary, want := range map[string]string{
		"10percent5minutes": "CodeDeployDefault.LambdaCanary10Percent5Minutes", "linear10minutes": "CodeDeployDefault.LambdaLinear10PercentEvery10Minutes",
	} {
		tm := with(t, map[string]any{"canary": canary})
		for _, function := range grants.Functions {
			update := tm.Resources[live(t, tm, function)].UpdatePolicy.object("CodeDeployLambdaAliasUpdate")
			if function != grants.Ingest && function != grants.Query {
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
