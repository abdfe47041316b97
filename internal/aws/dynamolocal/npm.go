package dynamolocal

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Package describes an npm package and its content.
type Package struct {
	Spec      string // name@version, as `npm pack` takes it
	Integrity string // base64 SHA-512 of the tarball
	Name      string // name of the folder in the cache, with the content's version
	Proof     string // a file of the content; if it exists in a folder, the content is complete there

	// Unpack writes the tarball's content to the folder dest, which does not exist.
	Unpack func(tarball, dest string) error
}

// CacheDir returns the cache folder: $HOTSHARD_CACHE if it is set; else .cache beside the go.mod of the working
// directory or of a folder above it; else hotshard in the user's cache folder.
func CacheDir() (string, error) {
	if dir := os.Getenv("HOTSHARD_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w: set HOTSHARD_CACHE to a folder", err)
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
		return "", fmt.Errorf("find the cache folder: %w: set HOTSHARD_CACHE to a folder", err)
	}
	return filepath.Join(user, "hotshard"), nil
}

// Fetch returns the package's folder below cacheDir. If the folder is missing, it calls announce with the folder, and
// npm downloads the package from its configured registry. Concurrent calls may download it twice. A failed or
// interrupted fetch leaves no folder.
func (p Package) Fetch(ctx context.Context, cacheDir string, announce func(dir string)) (string, error) {
	dir := filepath.Join(cacheDir, p.Name)
	if p.isUnpackedIn(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", fmt.Errorf("npm was not found, so %s can't be fetched: install Node 22 or newer with npm", p.Name)
	}
	announce(dir)
	if err := p.download(ctx, npm, cacheDir, dir); err != nil {
		return "", fmt.Errorf("fetch %s (npm package %s): %w", p.Name, p.Spec, err)
	}
	return dir, nil
}

func (p Package) isUnpackedIn(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, p.Proof))
	return err == nil
}

// download makes dir with the package's content. dir is never incomplete, even if several processes download.
func (p Package) download(ctx context.Context, npm, cacheDir, dir string) error {
	tmp, err := os.MkdirTemp(cacheDir, ".fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	tarball, err := pack(ctx, npm, tmp, p.Spec)
	if err != nil {
		return err
	}
	if err := verifySHA512(tarball, p.Integrity); err != nil {
		return err
	}
	unpacked := filepath.Join(tmp, "unpacked")
	if err := p.Unpack(tarball, unpacked); err != nil {
		return err
	}
	if !p.isUnpackedIn(unpacked) {
		return fmt.Errorf("the tarball has no file %s", p.Proof)
	}
	if err := os.Rename(unpacked, dir); err != nil && !p.isUnpackedIn(dir) {
		return err
	}
	return nil
}

// pack downloads a package's tarball into dir and returns its path.
func pack(ctx context.Context, npm, dir, spec string) (string, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", "--loglevel=error", "--pack-destination=.", spec)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		// %v, since a caller would take npm's exit status, if wrapped, for that of its own command.
		return "", fmt.Errorf("npm pack: %v: %s", err, bytes.TrimSpace(stderr.Bytes()))
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
		return fmt.Errorf("the SHA-512 of the tarball is %s instead of %s, so it was deleted: check npm's registry setting", got, want)
	}
	return nil
}
