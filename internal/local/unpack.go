package local

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxUnpacked bounds what a tarball may unpack to, in bytes.
const maxUnpacked = 512 << 20

// unpackFolder writes the regular files below folder (with a trailing slash) of
// a gzipped tarball to dest.
func unpackFolder(tarball, folder, dest string) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(tarball), err)
	}
	files := tar.NewReader(io.LimitReader(gz, maxUnpacked))
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", filepath.Base(tarball), err)
		}
		name, inside := strings.CutPrefix(head.Name, folder)
		if !inside || head.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(name) {
			return fmt.Errorf("the tarball holds the unsafe path %q", head.Name)
		}
		if err := writeFile(filepath.Join(dest, name), files); err != nil {
			return fmt.Errorf("unpack %s: %w", head.Name, err)
		}
	}
}

func writeFile(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
