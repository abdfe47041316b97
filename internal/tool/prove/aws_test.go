package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/docpolicy"
)

// TestRunOnAWS makes a complete run with fakes of AWS's services. Its calls must be exactly those of the policy in
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
	arguments, err := os.ReadFile(filepath.Join(c.checkout, "arguments"))
	want := "never -c prefix=hotshard-prove-" + report.Run + "- -c removal=destroy -c deletionProtection=false -c terminationProtection=false -c pitr=false -c hotkeysConcurrency=0\n"
	if err != nil || string(arguments) != want {
		t.Errorf("make got %q, %v, want %q", arguments, err, want)
	}
	if !c.gone() {
		t.Error("the stack was not removed")
	}
	checkNotes(t, folder, 0)
	// Each metric of three tables, the run's own table and four functions has the sum 10.
	if b := report.Billed; b.WriteUnits != 10*float64(len(metricsOf(aRecord))-8)/2 || b.Invocations != 40 || b.Requests != 20 || math.Abs(b.GBSeconds-0.05) > 1e-9 {
		t.Errorf("billed usage %+v", b)
	}
	if len(report.Storms) != 2 || len(report.Keyed) != 1 || !report.Storms[0].right() {
		t.Errorf("report %+v, want two storms and one keyed experiment without lost calls", report)
	}
	allowed := []awscall.Action{}
	for _, s := range docpolicy.Read(t, "../../../docs/prove.md") {
		for _, action := range s.Action {
			if action != "sts:AssumeRole" { // which only the deployment calls
				allowed = append(allowed, awscall.Action(action))
			}
		}
	}
	slices.Sort(allowed)
	if called := c.actions.all(); !slices.Equal(called, allowed) {
		t.Errorf("the run called\n%v, but the policy allows\n%v", called, allowed)
	}
}

// TestDeploymentsThatFail checks that a failed or interrupted deployment is removed, and that its child processes end first.
func TestDeploymentsThatFail(t *testing.T) {
	t.Parallel()
	for name, deploy := range map[string]string{
		"failure":                        "@touch deployed; exit 3",
		"no outputs":                     "@touch deployed",
		"Ctrl-C":                         "@touch deployed; sleep 100",
		"Ctrl-C and a stubborn subshell": "@(trap '' TERM; touch deployed; sleep 1; touch late) & wait",
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
				t.Errorf("error %v, report %+v, stack removed: %t", err, report, c.gone())
			}
			checkNotes(t, folder, 0)
			if strings.Contains(name, "subshell") {
				time.Sleep(1500 * time.Millisecond)
			}
			if _, err := os.Stat(filepath.Join(c.checkout, "late")); err == nil {
				t.Error("a child process of the deployment continued after the removal")
			}
		})
	}
}

// firstLine receives the first line that is written.
type firstLine chan string

func (l firstLine) Write(text []byte) (int, error) {
	select {
	case l <- string(text):
	default:
	}
	return len(text), nil
}

// TestOrphans checks that no cleanup begins while a child process of a killed run is alive. Nor does one begin with
// another account's credentials.
func TestOrphans(t *testing.T) {
	t.Parallel()
	c := newCloud(t, "deploy:\n\t@touch deployed; echo started; sleep 100\n")
	site, folder, output := c.site(t), t.TempDir(), make(firstLine, 1)
	site.Output = output
	held, r := newNote(t, folder, func(r *Record) { r.Region, r.Account = "us-east-1", "123456789012" })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := site.deploy(ctx, r, held)
		ended <- err
	}()
	<-output
	if err := held.file.Close(); err != nil { // as the process's end does
		t.Fatal(err)
	}
	if _, _, err := openNote(held.path); !errors.Is(err, errBusy) {
		t.Errorf("while the child process is alive: %v, want %v", err, errBusy)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the deployment ended with %v, want context.Canceled", err)
	}
	where := func(Record) (Site, error) { return site, nil }
	c.setAccount("999999999999")
	if err := Clean(t.Context(), folder, where, io.Discard); err == nil || !strings.Contains(err.Error(), "needs account 123456789012, Region us-east-1; the credentials are of account 999999999999") {
		t.Errorf("with another account: %v", err)
	}
	c.setAccount("123456789012")
	if err := Clean(t.Context(), folder, where, io.Discard); err != nil || !c.gone() {
		t.Errorf("Clean returned %v, stack removed: %t", err, c.gone())
	}
}

// TestSettings checks that a run's own settings can't be changed, and that settings can't inject shell code. The
// checkout must be a new clone.
func TestSettings(t *testing.T) {
	for _, wrong := range []string{"prefix=x-", "removal=retain", "deletionProtection=true", "terminationProtection=true", "sourceTable=orders", "auth=jwt", "x", "x=$(touch y)", "x=a b", "x='"} {
		if _, err := DeploySettings("hotshard-prove-abcdefgh-", []string{wrong}); err == nil {
			t.Errorf("%q is accepted", wrong)
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
		t.Errorf("a checkout with cdk.context.json: %v", err)
	}
	if err := (AWS{Checkout: t.TempDir()}).checkCheckout(); err == nil || !strings.Contains(err.Error(), "from a checkout of hotshard") {
		t.Errorf("an empty folder: %v", err)
	}
}
