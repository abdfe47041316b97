package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// TestRunOnAWS makes a complete run on an account, with fakes for AWS. Its calls must be exactly those of the policy in
// docs/prove.md.
func TestRunOnAWS(t *testing.T) {
	t.Parallel()
	c := newCloud(t, fmt.Sprintf(deploys, api(t)))
	folder := t.TempDir()
	site := c.site(t)
	site.Settings = []string{"hotkeysConcurrency=0"}
	plan := tiny()
	plan.Onset = []float64{0.5}
	report, err := Run(t.Context(), Options{Site: site, Plan: plan, Ceiling: 5, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	told, err := os.ReadFile(filepath.Join(c.checkout, "told"))
	want := "never -c prefix=hotshard-prove-" + report.Run + "- -c removal=destroy -c deletionProtection=false -c terminationProtection=false -c pitr=false -c hotkeysConcurrency=0\n"
	if err != nil || string(told) != want {
		t.Errorf("make got %q, %v, want %q", told, err, want)
	}
	if !c.gone() {
		t.Error("the stack is there")
	}
	if paths, err := notes(folder); err != nil || paths != nil {
		t.Errorf("notes %v, %v", paths, err)
	}
	// Three tables and the run's own, and four functions: 10 of each metric.
	if b := report.Billed; b.WriteUnits != 10*float64(len(metricsOf(aRecord))-8)/2 || b.Invocations != 40 || b.Requests != 20 || math.Abs(b.GBSeconds-0.05) > 1e-9 {
		t.Errorf("billed are %+v", b)
	}
	if len(report.Storms) != 2 || len(report.Keyed) != 1 || !report.Storms[0].right() {
		t.Errorf("%+v", report)
	}
	content, err := os.ReadFile("../../../docs/prove.md")
	if err != nil {
		t.Fatal(err)
	}
	if called, listed := c.told.all(), policy(t, string(content)); !slices.Equal(called, listed) {
		t.Errorf("called were\n%v, and the policy has\n%v", called, listed)
	}
}

// policy returns the actions of the policy in a page, without those of the deployment, which assumes roles.
func policy(t *testing.T, page string) (actions []awscall.Action) {
	t.Helper()
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindStringSubmatch(page)
	var document struct {
		Statement []struct {
			Action   []awscall.Action
			Resource any
		}
	}
	if block == nil {
		t.Fatal("docs/prove.md has no policy")
	}
	if err := json.Unmarshal([]byte(block[1]), &document); err != nil {
		t.Fatal(err)
	}
	for _, s := range document.Statement {
		for _, action := range s.Action {
			if action != "sts:AssumeRole" {
				actions = append(actions, action)
			}
		}
	}
	slices.Sort(actions)
	return actions
}

// TestDeploymentsThatFail checks that failed deployments are removed.
func TestDeploymentsThatFail(t *testing.T) {
	t.Parallel()
	for name, deploy := range map[string]string{
		"it fails":                     "@touch deployed; exit 3",
		"it has no outputs":            "@touch deployed",
		"it goes on until Ctrl-C":      "@touch deployed; sleep 100",
		"Ctrl-C, with work of its own": "@(trap '' TERM; touch deployed; sleep 1; touch late) & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t, "deploy:\n\t"+deploy+"\n")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				for strings.Contains(name, "Ctrl-C") && ctx.Err() == nil {
					if _, err := os.Stat(filepath.Join(c.checkout, "deployed")); err == nil {
						cancel()
					}
					dynamo.Pause(ctx, 5*time.Millisecond)
				}
			}()
			folder := t.TempDir()
			report, err := Run(ctx, Options{Site: c.site(t), Plan: tiny(), Ceiling: 5, Folder: folder})
			if err == nil || report == nil || report.Fault == "" || !c.gone() {
				t.Errorf("%v, %+v, the stack is gone: %t", err, report, c.gone())
			}
			if paths, err := notes(folder); err != nil || paths != nil {
				t.Errorf("notes %v, %v", paths, err)
			}
			if strings.Contains(name, "of its own") {
				time.Sleep(1500 * time.Millisecond)
			}
			if _, err := os.Stat(filepath.Join(c.checkout, "late")); err == nil {
				t.Error("what the deployment started went on after the removal")
			}
		})
	}
}

// said receives the lines that are written.
type said chan string

func (s said) Write(text []byte) (int, error) {
	select {
	case s <- string(text):
	default: // lines after the first are not read
	}
	return len(text), nil
}

// TestOrphans checks that no cleanup begins while a killed run's child process runs.
func TestOrphans(t *testing.T) {
	t.Parallel()
	c := newCloud(t, "deploy:\n\t@touch deployed; echo started; sleep 100\n")
	site, folder, output := c.site(t), t.TempDir(), make(said, 1)
	site.Output = output
	held, r := newNote(t, folder, func(r *Record) { r.Region, r.Account = "us-east-1", "123456789012" })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := site.deploy(ctx, r, held)
		ended <- err
	}()
	<-output
	if err := held.file.Close(); err != nil { // as at the process's end
		t.Fatal(err)
	}
	if _, _, err := openNote(held.path); !errors.Is(err, errBusy) {
		t.Errorf("while the child is at work: %v", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the deployment ended by %v", err)
	}
	where := func(Record) (Site, error) { return site, nil }
	c.mu.Lock()
	c.account = "999999999999"
	c.mu.Unlock()
	if err := Clean(t.Context(), folder, where, io.Discard); err == nil || !strings.Contains(err.Error(), "needs account 123456789012, Region us-east-1; the credentials are of account 999999999999") {
		t.Errorf("by another account: %v", err)
	}
	c.mu.Lock()
	c.account = "123456789012"
	c.mu.Unlock()
	if err := Clean(t.Context(), folder, where, io.Discard); err != nil || !c.gone() {
		t.Errorf("%v, the stack is gone: %t", err, c.gone())
	}
}

// TestSettings checks that a run's own settings can't be changed, and that settings can't inject shell code.
func TestSettings(t *testing.T) {
	for _, wrong := range []string{"prefix=x-", "removal=retain", "deletionProtection=true", "terminationProtection=true", "sourceTable=orders", "auth=jwt", "x", "x=$(touch y)", "x=a b", "x='"} {
		if _, err := DeploySettings("hotshard-prove-abcdefgh-", []string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	c := newCloud(t, "")
	site := AWS{Checkout: c.checkout}
	if err := site.checkCheckout(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(c.checkout, "infra", "cdk.context.json"), []byte(`{}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := site.checkCheckout(); err == nil || !strings.Contains(err.Error(), "in a new clone") {
		t.Error(err)
	}
	if err := (AWS{Checkout: t.TempDir()}).checkCheckout(); err == nil || !strings.Contains(err.Error(), "from a checkout of hotshard") {
		t.Error(err)
	}
}
