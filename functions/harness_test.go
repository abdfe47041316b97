package functions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// deployment has the four functions, with tables of their own.
type deployment struct {
	db        *dynamodb.Client
	tables    schema.Names
	functions map[string]*runtimeapi.Function
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{db: enginetest.Client(t), functions: map[string]*runtimeapi.Function{}}
	d.tables = enginetest.Tables(t, d.db)
	cloudWatch := httptest.NewServer(http.NotFoundHandler()) // hotkeys continues without it
	t.Cleanup(cloudWatch.Close)
	keys, err := d.db.Options().Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	env := append(runtimeapi.Env(enginetest.Endpoint(t), keys.AccessKeyID, cloudWatch.URL, d.tables),
		"AWS_REGION="+dynamolocal.Region, "HOME="+t.TempDir(),
		"HOTSHARD_PARTITION_WCU=1", "HOTSHARD_THRESHOLD=0.5")
	for _, name := range names {
		f, err := runtimeapi.Start(t.Context(), runtimeapi.Options{Binary: binary(t, name), Env: env, Log: t.Output()})
		require.NoError(t, err)
		d.functions[name] = f
		t.Cleanup(func() {
			if err := f.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	return d
}

func payload(t *testing.T, event string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "events", event+".json"))
	require.NoError(t, err)
	return content
}

// check invokes a function. It compares the response with the wanted JSON, which may omit members, or the function
// error's message with a text.
func (d *deployment) check(t *testing.T, function string, payload []byte, want, fault string) {
	t.Helper()
	response, err := d.functions[function].Invoke(t.Context(), payload)
	if fault != "" {
		f, ok := errors.AsType[*runtimeapi.FunctionError](err)
		if !ok || !strings.Contains(f.Message, fault) {
			t.Errorf("response %s, error %v; want an error with %q", response, err, fault)
		}
		return
	}
	require.NoError(t, err)
	var got, wanted any
	if err := errors.Join(json.Unmarshal(response, &got), json.Unmarshal([]byte(want), &wanted)); err != nil {
		t.Fatalf("response %s, want %s: %v", response, want, err)
	}
	if err := differ("response", unfold(got), wanted); err != nil {
		t.Errorf("%v, in %s", err, response)
	}
}

// unfold decodes the JSON body of an API Gateway response.
func unfold(response any) any {
	fields, _ := response.(map[string]any)
	text, isText := fields["body"].(string)
	var body any
	if isText && json.Unmarshal([]byte(text), &body) == nil {
		fields["body"] = body
	}
	return response
}

// differ returns an error at the first difference. Objects in got may have more members; lists must have equal lengths.
func differ(at string, got, want any) error {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is %v, want an object", at, got)
		}
		for name, value := range want {
			field, there := fields[name]
			if !there {
				return fmt.Errorf("%s has no %s", at, name)
			}
			if err := differ(at+"."+name, field, value); err != nil {
				return err
			}
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Errorf("%s is %v, want a list of %d", at, got, len(want))
		}
		for i := range want {
			if err := differ(fmt.Sprintf("%s[%d]", at, i), list[i], want[i]); err != nil {
				return err
			}
		}
	default:
		if got != want {
			return fmt.Errorf("%s is %v, want %v", at, got, want)
		}
	}
	return nil
}
