package infra

import (
	"os"
	"strings"
	"testing"
)

func replica(p object) object { return p.objects("Replicas")[0] }

// TestTablesAreProtectedAfterCreation checks that a parameter decides about deletion protection, and that its default is
// false, so that the rollback of a first deployment can delete the tables. `make deploy` sets it afterwards.
func TestTablesAreProtectedAfterCreation(t *testing.T) {
	for name, tm := range map[string]*template{"whole": deployed(t), "attached": with(t, attached)} {
		if p := tm.Parameters["DeletionProtection"]; p.text("Default") != "false" || p.text("AllowedValues") != "[true false]" {
			t.Errorf("%s: parameter %v, want the default false", name, p)
		}
		if got := text(tm.Conditions["Protected"]); got != `{"Fn::Equals":[{"Ref":"DeletionProtection"},"true"]}` {
			t.Errorf("%s: condition %s", name, got)
		}
		for id, r := range tm.of(t, "AWS::DynamoDB::GlobalTable") {
			if got := text(replica(r.Properties)["DeletionProtectionEnabled"]); got != `{"Fn::If":["Protected",true,false]}` {
				t.Errorf("%s: %s has the protection %s", name, id, got)
			}
		}
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(makefile), "\ndeploy:")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	first, then := strings.Index(recipe, "deploy --require-approval $(APPROVAL)"), strings.Index(recipe, "--parameters DeletionProtection=true")
	if first < 0 || then < first || strings.Count(recipe, "--parameters") != 1 {
		t.Errorf("make deploy must protect the tables in a second command:\n%s", recipe)
	}
}
