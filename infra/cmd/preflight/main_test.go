package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// environment sets a test's AWS configuration, without the machine's.
func environment(t *testing.T, endpoint, region string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_REGION": region, "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret",
		"AWS_SESSION_TOKEN": "", "AWS_ENDPOINT_URL": endpoint, "AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
	} {
		t.Setenv(name, value)
	}
}

// TestRun runs the command on an account where only the identity may be read. All other checks are then warnings.
// Without the identity, it stops at the first check.
func TestRun(t *testing.T) {
	accepted := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if accepted && strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/sts/") {
			fmt.Fprint(w, `<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"__type":"AccessDeniedException","message":"no"}`)
	}))
	t.Cleanup(server.Close)
	environment(t, server.URL, "eu-west-1")
	args := []string{"-folder", t.TempDir(), "-c", "email=ops@example.com"}
	var out strings.Builder
	if err := run(t.Context(), args, &out); err != nil || strings.Count(out.String(), "\n") < 8 || !strings.Contains(out.String(), "ok   credentials: account 123456789012") {
		t.Errorf("with credentials: %v:\n%s", err, &out)
	}
	accepted = false
	out.Reset()
	if err := run(t.Context(), args, &out); err == nil || !strings.HasPrefix(out.String(), "FAIL credentials") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("without credentials: %v:\n%s", err, &out)
	}
	for want, args := range map[string][]string{
		"there is no such setting":                   {"-c", "nonsense=1"},
		"settings are given as -c key=value":         {"prefix=x-"},
		"-c prefix: want key=value":                  {"-context", "prefix"},
		"hotshard can't be deployed like this:\napi": {"-c", "apiRate=0"},
	} {
		if err := run(t.Context(), append([]string{"-folder", t.TempDir()}, args...), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	environment(t, server.URL, "")
	if err := run(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), "no AWS Region is set") {
		t.Errorf("without a Region: %v", err)
	}
}
