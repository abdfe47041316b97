package dynamolocal

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

// EachFile calls visit for each regular file of a gzipped tarball, until visit returns an error.
func EachFile(tarball string, visit func(path string, content io.Reader) error) error {
	f, err := os.Open(tarball)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err == nil {
		err = eachFile(gz, visit)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(tarball), err)
	}
	return nil
}

func eachFile(archive io.Reader, visit func(path string, content io.Reader) error) error {
	files := tar.NewReader(archive)
	for {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		if err := visit(head.Name, files); err != nil {
			return fmt.Errorf("unpack %s: %w", head.Name, err)
		}
	}
}

// Folder returns an Unpack that writes the files below folder, a path in the tarball with a trailing slash.
func Folder(folder string) func(tarball, dest string) error {
	return func(tarball, dest string) error {
		return EachFile(tarball, func(path string, content io.Reader) error {
			name, inside := strings.CutPrefix(path, folder)
			if !inside {
				return nil
			}
			return WriteFile(dest, name, 0o644, content)
		})
	}
}

// Untar writes the regular files of a tar archive to the folder dest.
func Untar(archive io.Reader, dest string) error {
	return eachFile(archive, func(path string, content io.Reader) error { return WriteFile(dest, path, 0o644, content) })
}

// WriteFile creates the file dest/path, where path comes from an archive. It fails if the file exists, or if
// path leads out of dest.
func WriteFile(dest, path string, mode os.FileMode, content io.Reader) error {
	if !filepath.IsLocal(path) {
		return fmt.Errorf("the tarball has the path %q, which leads out of its folder", path)
	}
	path = filepath.Join(dest, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}
