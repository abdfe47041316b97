package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/hotshard/hotshard/internal/test/require"
)

const (
	testKey    = "AKIDEXAMPLE"
	testSecret = "not a secret"
	testToken  = "of a session"
)

// credentials sets the environment's credentials, and unsets all others.
func credentials(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": testKey, "AWS_SECRET_ACCESS_KEY": testSecret, "AWS_SESSION_TOKEN": testToken,
		"AWS_REGION": "eu-north-1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_PROFILE": "",
		"AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

// signature returns the Authorization that the SDK's signer gives a request with this body and these signed headers.
func signature(t *testing.T, r *http.Request, body []byte, region, signed string) string {
	t.Helper()
	again := httptest.NewRequestWithContext(t.Context(), r.Method, "http://"+r.Host+r.URL.RequestURI(), bytes.NewReader(body))
	for name := range strings.SplitSeq(signed, ";") {
		again.Header[http.CanonicalHeaderKey(name)] = r.Header[http.CanonicalHeaderKey(name)]
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	require.NoError(t, err)
	keys := aws.Credentials{AccessKeyID: testKey, SecretAccessKey: testSecret, SessionToken: testToken}
	require.NoError(t, v4.NewSigner().SignHTTP(t.Context(), keys, again, fmt.Sprintf("%x", sha256.Sum256(body)), "execute-api", region, at))
	return again.Header.Get("Authorization")
}

// guarded starts an API with this response that accepts only signed calls, and rejects others with 403.
func guarded(t *testing.T, response string) (target string, rejected *int64) {
	return behindSignatures(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, response) }))
}

// behindSignatures starts a server that passes signed calls to an API, and rejects others with 403.
func behindSignatures(t *testing.T, api http.Handler) (target string, rejected *int64) {
	rejected = new(int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got := r.Header.Get("Authorization")
		_, signed, _ := strings.Cut(got, "SignedHeaders=")
		signed, _, _ = strings.Cut(signed, ",")
		switch {
		case signed == "":
		case got != signature(t, r, body, "eu-north-1", signed):
			t.Errorf("%s %s: signature %s, want %s", r.Method, r.URL, got, signature(t, r, body, "eu-north-1", signed))
		case !strings.Contains(signed, "host;") || !strings.Contains(signed, "x-amz-security-token"):
			t.Errorf("the signed headers are %s, want the host and the session token too", signed)
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			api.ServeHTTP(w, r)
			return
		}
		atomic.AddInt64(rejected, 1)
		http.Error(w, `{"detail":"Forbidden"}`, http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	return server.URL, rejected
}

// TestLoadVerifiesDeployment runs the check of docs/deploy.md: a load against an API that accepts only signed calls, and
// the comparison of what was accepted with what is stored.
func TestLoadVerifiesDeployment(t *testing.T) {
	require.Engine(t)
	credentials(t)
	at, err := url.Parse(deploy(t).url)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	target, rejected := behindSignatures(t, proxy)
	args := strings.Fields("load --workload zipf --seed 1 --count 200 --keys 20 --concurrency 4 --verify --auth iam --target " + target)
	code, out, text := hotshard(t, args...)
	if code != exitOK || atomic.LoadInt64(rejected) != 0 {
		t.Errorf("exit %d, %d calls rejected: %s", code, *rejected, text)
	}
	wantText(t, out, "counters by summary and write shards, 200 events of")
	if !regexp.MustCompile(`(?m)^ *differences +0 *$`).MatchString(out) {
		t.Errorf("want no differences:\n%s", out)
	}
}

// TestCallsAreSigned checks that all commands which call the API sign with --auth iam, and report a 403 otherwise.
func TestCallsAreSigned(t *testing.T) {
	credentials(t)
	for _, c := range []struct{ args, response string }{
		{"shards list", shardMap},
		{"shards get --type counter --name /a+b#1=ü*~&", pinnedKey},
		{"shards set --type counter --name x --shards 20", pinnedKey},
		{"load --workload uniform --count 1", `{"results":[{"status":"accepted"}]}`},
	} {
		target, rejected := guarded(t, c.response)
		args := append(strings.Fields(c.args), "--target", target)
		code, _, err := hotshard(t, append(args, "--auth", "iam")...)
		if code != exitOK || *rejected != 0 {
			t.Errorf("%s: exit %d, %d rejected: %s", c.args, code, *rejected, err)
		}
		if code, _, err = hotshard(t, args...); code != exitBad || *rejected == 0 || !strings.Contains(err, "403") {
			t.Errorf("%s without a signature: exit %d, %d rejected: %s", c.args, code, *rejected, err)
		}
	}
}

// TestWhoSigns checks that the target decides, unless --auth is given.
func TestWhoSigns(t *testing.T) {
	credentials(t)
	for _, c := range []struct {
		auth, target string
		signs        bool
	}{
		{authAuto, "http://127.0.0.1:8080", false},
		{authAuto, "http://localhost:8080", false},
		{authAuto, "http://[::1]:8080", false},
		{authAuto, "https://abc.execute-api.eu-west-1.amazonaws.com", true},
		{authAuto, "http://10.0.0.1", true},
		{authNone, "https://abc.execute-api.eu-west-1.amazonaws.com", false},
		{authIAM, "http://localhost:8080", true},
	} {
		got, err := authFlags{c.auth}.signer(t.Context(), c.target)
		if err != nil || (got != nil) != c.signs {
			t.Errorf("%+v: signs %t, %v", c, got != nil, err)
		}
		if got == nil || !strings.Contains(c.target, "execute-api") {
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.target, nil)
		if err := got(t.Context(), r, nil); err != nil || !strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/execute-api/") {
			t.Errorf("%+v: %v, signature %s; want the target's Region", c, err, r.Header.Get("Authorization"))
		}
	}
	t.Setenv("AWS_REGION", "")
	if _, err := (authFlags{authAuto}).signer(t.Context(), "https://api.example.org"); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("no Region: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_REGION", "eu-north-1")
	if _, err := (authFlags{authAuto}).signer(t.Context(), "https://api.example.org"); err == nil || err.Error() != "No AWS credentials for calls of https://api.example.org. Set AWS_PROFILE, run aws sso login or aws configure, or use --auth none." {
		t.Errorf("no credentials: %v", err)
	}
}
