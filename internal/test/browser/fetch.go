package browser

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/andybalholm/brotli"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
)

const chromiumVersion = "153.0.0"

// chromium is a headless Chromium for x86-64 Linux with glibc, with the libraries and fonts
// that it needs.
var chromium = dynamolocal.Package{
	Spec:      "@sparticuz/chromium@" + chromiumVersion,
	Integrity: "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
	Name:      "chromium-" + chromiumVersion,
	Proof:     "chromium",
	Unpack:    unpack,
}

const (
	loader = "/lib64/ld-linux-x86-64.so.2" // of glibc
	// fontConfig replaces the package's configuration, which names folders of AWS Lambda. The package's fonts have no
	// arrows, so the machine's are used, too.
	fontConfig = `<?xml version="1.0"?><fontconfig><dir>/usr/share/fonts</dir><dir prefix="relative">fonts</dir></fontconfig>`
)

// fetch returns the fetched browser and downloads it if it is missing.
func fetch(ctx context.Context, notice io.Writer) (program, error) {
	if _, err := os.Stat(loader); err != nil || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return program{}, fmt.Errorf("the Chromium that can be fetched is for linux/amd64 with glibc, and this is %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache, err := dynamolocal.CacheDir()
	if err != nil {
		return program{}, err
	}
	dir, err := chromium.Fetch(ctx, cache, func(string) {
		if notice != nil {
			fmt.Fprintf(notice, "fetching Chromium %s for the tests of the console (70 MB, once)\n", chromiumVersion)
		}
	})
	if err != nil {
		return program{}, err
	}
	return program{filepath.Join(dir, "chromium"), []string{
		"LD_LIBRARY_PATH=" + filepath.Join(dir, "lib"), "FONTCONFIG_FILE=" + filepath.Join(dir, "fonts.conf"),
	}}, nil
}

// unpack writes the package's archives, which are compressed with brotli, to the folder dest.
func unpack(tarball, dest string) error {
	err := dynamolocal.EachFile(tarball, func(name string, content io.Reader) error {
		name, packed := strings.CutSuffix(path.Base(name), ".br")
		switch {
		case packed && strings.HasSuffix(name, ".tar"):
			return dynamolocal.Untar(brotli.NewReader(content), dest)
		case packed:
			return dynamolocal.WriteFile(dest, name, 0o755, brotli.NewReader(content))
		case name == "LICENSE":
			return dynamolocal.WriteFile(dest, name, 0o644, content)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dest, "fonts.conf"), []byte(fontConfig), 0o644)
}
