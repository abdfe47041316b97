//go:build extra

package infra

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// synthCommand builds the program that the CDK's command line runs. The program needs the built functions.
func synthCommand(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "synth")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/synth").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestExtraValidation runs the CDK's validation on stacks that `make synth` does not have: an attached one, one with
// tokens and removal, and one with provisioned capacity.
func TestExtraValidation(t *testing.T) {
	command := synthCommand(t)
	for name, context := range map[string]map[string]any{
		"attached": attachedWith("sourceKeyArn", "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"),
		"jwt": {"auth": "jwt", "jwtIssuer": "https://issuer.example.com", "jwtAudience": []any{"one", "two"}, "jwtScopes": "read,write", "jwtAdminScopes": "ops",
			"removal": "destroy", "corsOrigins": "https://app.example.com"},
		"provisioned": {"billing": "provisioned", "peakReads": 1, "peakWrites": 20_000, "tags": "team=data"},
	} {
		content, err := json.Marshal(context)
		if err != nil {
			t.Fatal(err)
		}
		out := t.TempDir()
		cmd := exec.CommandContext(t.Context(), command)
		cmd.Env = append(os.Environ(), "CDK_VALIDATION=true", "CDK_OUTDIR="+out, "CDK_CONTEXT_JSON="+string(content))
		if printed, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, printed)
		}
		if _, err := os.Stat(filepath.Join(out, "validation-report.json")); err != nil { // which a validator writes
			t.Errorf("%s was not validated: %v", name, err)
		}
	}
}

// TestExtraPrecedence checks with the CDK's command line that -c overrides cdk.json, which overrides cdk.context.json.
func TestExtraPrecedence(t *testing.T) {
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for name, content := range map[string]any{
		"cdk.json":         map[string]any{"app": "cd '" + dir + "' && exec '" + synthCommand(t) + "'", "context": map[string]any{"peakReads": 7, "apiRate": 7}},
		"cdk.context.json": map[string]any{"peakReads": 14, "apiRate": 14, "peakWrites": 500_000, "email": "ops@example.com"},
	} {
		bytes, err := json.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), bytes, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "cdk"), "synth", "--quiet", "-o", out, "-c", "apiRate=21")
	cmd.Dir = work
	if printed, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	tm := readTemplate(t, filepath.Join(out, "hotshard.template.json"))
	_, stage := tm.named(t, "AWS::ApiGatewayV2::Stage", "StageName", "$default")
	_, items := tm.named(t, "AWS::DynamoDB::GlobalTable", "TableName", "hotshard-items")
	_, mail := tm.named(t, "AWS::SNS::Subscription", "Protocol", "email")
	rate := stage.Properties.object("DefaultRouteSettings").number("ThrottlingRateLimit")
	if reads := replica(items.Properties).object("ReadOnDemandThroughputSettings").number("MaxReadRequestUnits"); rate != 21 || reads != 14 {
		t.Errorf("rate %v, want -c's 21; %v read units, want twice cdk.json's 7", rate, reads)
	}
	if units := items.Properties.object("WriteOnDemandThroughputSettings").number("MaxWriteRequestUnits"); units != 1_000_000 || mail.Properties.text("Endpoint") != "ops@example.com" {
		t.Errorf("%v units, mail to %s; want those of cdk.context.json", units, mail.Properties.text("Endpoint"))
	}
}

// TestExtraLint runs cfn-lint on the whole template and on an attached one.
func TestExtraLint(t *testing.T) {
	if _, err := exec.LookPath("cfn-lint"); err != nil {
		t.Skip("not checked: cfn-lint was not found (pip install cfn-lint)") // make check-extra says so, too
	}
	for name, tm := range map[string]*template{"whole": deployed(t), "attached": with(t, attached)} {
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, linted(t, tm), 0o600); err != nil {
			t.Fatal(err)
		}
		// W3005: the CDK adds dependencies that references already have.
		out, err := exec.CommandContext(t.Context(), "cfn-lint", "--ignore-checks", "W3005", "--", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// linted returns a template without the warm-up of alarms, which the CDK has from CloudFormation's schema and cfn-lint
// 1.51 does not know yet.
func linted(t *testing.T, tm *template) []byte {
	t.Helper()
	var content struct {
		Resources map[string]object
	}
	whole := map[string]any{}
	err := errors.Join(json.Unmarshal(tm.text, &whole), json.Unmarshal(tm.text, &content))
	for _, r := range content.Resources {
		delete(r.object("Properties"), "WarmUpConfiguration")
	}
	whole["Resources"] = content.Resources
	text, failed := json.Marshal(whole)
	if err = errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	return text
}
