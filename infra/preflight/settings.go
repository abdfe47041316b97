package preflight

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Context reads the settings of a folder with a CDK app as the CDK does. Given settings, each key=value, override those
// of cdk.json, which override those of cdk.context.json.
func Context(folder string, given []string) (map[string]any, error) {
	context := map[string]any{}
	saved, err := readSettings(filepath.Join(folder, "cdk.context.json"))
	if err != nil {
		return nil, err
	}
	maps.Copy(context, saved)
	app, err := readSettings(filepath.Join(folder, "cdk.json"))
	if err != nil {
		return nil, err
	}
	if own, ok := app["context"].(map[string]any); ok {
		maps.Copy(context, own)
	}
	for _, one := range given {
		key, value, ok := strings.Cut(one, "=")
		if !ok {
			return nil, fmt.Errorf("-c %s: want key=value", one)
		}
		context[key] = value
	}
	return context, nil
}

// readSettings reads a file of settings. A missing file has none.
func readSettings(path string) (map[string]any, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var settings map[string]any
	if err == nil {
		err = json.Unmarshal(content, &settings)
	}
	if err != nil {
		return nil, fmt.Errorf("the settings in %s: %w", path, err)
	}
	return settings, nil
}

// Qualifier returns the CDK's bootstrap qualifier of a deployment with these settings, or the CDK's default.
func Qualifier(context map[string]any) string {
	other, _ := context["@aws-cdk/core:bootstrapQualifier"].(string)
	return cmp.Or(other, "hnb659fds")
}
