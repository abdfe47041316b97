package system

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestServersCheckTheHost checks that a web site whose name resolves to this machine reaches neither the API nor the
// limiter's proxy, and that a page of another site can't write.
func TestServersCheckTheHost(t *testing.T) {
	s, stop := startWith(t, func(o *Options) { o.Limits = Limits{Partitions: 4, PartitionWCU: 10} })
	defer stop()
	for _, url := range []string{s.URL(), s.LimitedEndpoint()} {
		for host, rejected := range map[string]bool{"evil.example": true, "": false} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
			require.NoError(t, err)
			request.Host = host
			answer, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			answer.Body.Close()
			if (answer.StatusCode == http.StatusMisdirectedRequest) != rejected {
				t.Errorf("%s with the host %q: %s, want 421: %t", url, host, answer.Status, rejected)
			}
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/v1/counters", strings.NewReader(`{"increments":[{"counter":"c","delta":1}]}`))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("an increment by a page of another site: %s, want 403", answer.Status)
	}
}
