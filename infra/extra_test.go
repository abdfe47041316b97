//go:build extra

package infra

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/hotshard/hotshard/internal/base/metrics"
)

// notChecked prints that a check did not run because its program is missing.
func notChecked(program, how string) {
	fmt.Fprintf(os.Stderr, "\n*** NOT CHECKED: %s was not found (%s) ***\n\n", program, how)
}

// TestExtraLint runs cfn-lint on the whole template and on an attached one.
func TestExtraLint(t *testing.T) {
	if _, err := exec.LookPath("cfn-lint"); err != nil {
		notChecked("cfn-lint", "pip install cfn-lint")
		return
	}
	for name, tm := range map[string]*template{"whole": deployed(t), "attached": with(t, attached)} {
		file := filepath.Join(t.TempDir(), name+".json")
		if err := os.WriteFile(file, tm.text, 0o600); err != nil {
			t.Fatal(err)
		}
		// W3005: the CDK adds dependencies that references already have.
		out, err := exec.CommandContext(t.Context(), "cfn-lint", "--ignore-checks", "W3005", "--", file).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// recorder records the metrics that are sent.
type recorder struct {
	inputs []*cloudwatch.PutMetricDataInput
}

func (r *recorder) PutMetricData(_ context.Context, in *cloudwatch.PutMetricDataInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.PutMetricDataOutput, error) {
	r.inputs = append(r.inputs, in)
	return &cloudwatch.PutMetricDataOutput{}, nil
}

// TestExtraMetrics puts the metrics of hotkeys, and each alarm of the template, into moto's CloudWatch. It uses boto3,
// since moto does not support the Go SDK's protocol.
func TestExtraMetrics(t *testing.T) {
	if exec.CommandContext(t.Context(), "python3", "-c", "import boto3, moto").Run() != nil {
		notChecked("moto", "pip install 'moto[cloudwatch]' boto3")
		return
	}
	sent := &recorder{}
	err := metrics.NewCloudWatch(sent).Put(t.Context(), []metrics.Datum{{
		Name: "KeyWriteUnitsPerSecond", Value: 812, Unit: metrics.CountPerSecond, Time: time.Now(),
		Dimensions: []metrics.Dimension{{Name: "TableName", Value: "hotshard-items"}, {Name: "Key", Value: "C#café/1"}},
	}})
	if err != nil || len(sent.inputs) != 1 {
		t.Fatal(err)
	}
	want := alarms(t, deployed(t))
	given := map[string]any{"metrics": anyOf(sent.inputs[0]), "alarms": []any{}}
	for _, name := range sorted(want) {
		given["alarms"] = append(given["alarms"].([]any), map[string]any(want[name]))
	}
	var got struct{ Metrics, Alarms []object }
	python(t, plain(given), &got)
	if len(got.Metrics) != 1 || got.Metrics[0].text("MetricName") != "KeyWriteUnitsPerSecond" || len(got.Metrics[0].list("Dimensions")) != 2 {
		t.Errorf("metrics %v, want one with two dimensions", got.Metrics)
	}
	if len(got.Alarms) != len(want) {
		t.Errorf("%d alarms, want %d", len(got.Alarms), len(want))
	}
	for _, a := range got.Alarms {
		w := want[a.text("AlarmName")]
		if a.number("Threshold") != w.number("Threshold") || a.text("AlarmDescription") != w.text("AlarmDescription") || len(a.list("Metrics")) != len(w.list("Metrics")) {
			t.Errorf("%s is stored as %v, want %v", a.text("AlarmName"), a, w)
		}
	}
}

// python runs testdata/put_in_moto.py with a JSON input, and decodes its output.
func python(t *testing.T, in, out any) {
	t.Helper()
	content, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "python3", filepath.Join("testdata", "put_in_moto.py"))
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(content), &stderr
	printed, err := cmd.Output()
	if err != nil {
		t.Fatalf("moto: %v\n%s", err, &stderr)
	}
	if err := json.Unmarshal(printed, out); err != nil {
		t.Fatalf("moto: %v: %s", err, printed)
	}
}

// plain returns a value with texts for references, and without nulls.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if _, ref := v["Ref"]; ref || v["Fn::GetAtt"] != nil || v["Fn::Join"] != nil {
			return text(v)
		}
		made := map[string]any{}
		for name, one := range v {
			if one != nil {
				made[name] = plain(one)
			}
		}
		return made
	case []any:
		var made []any
		for _, one := range v {
			made = append(made, plain(one))
		}
		return made
	}
	return value
}
