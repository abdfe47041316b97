package dynamolocal

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

func TestLicenceIsPrintedBeforeDownload(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("HOTSHARD_CACHE", t.TempDir())
	writeScript(t, filepath.Join(bin, "npm"), "#!/bin/sh\necho offline >&2\nexit 1\n")
	var notice bytes.Buffer
	_, err := FetchEngine(t.Context(), &notice)
	if err == nil || !strings.Contains(err.Error(), "offline") {
		t.Errorf("error = %v, want npm's output", err)
	}
	if got := notice.String(); !strings.Contains(got, "forbids redistribution") || strings.Count(got, "\n") != 1 {
		t.Errorf("notice = %q, want a line about the licence", got)
	}
}
