package dynamolocal

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

const minJava = 17

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// javaTime bounds `java -version`, which takes 0.1 s. A wrapper of a version manager may hang.
const javaTime = 20 * time.Second

// findJava returns the path of a java that can run the engine.
func findJava(ctx context.Context) (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("java was not found: install Java %d or newer (a JRE is enough), which runs DynamoDB Local", minJava)
	}
	bounded, cancel := context.WithTimeout(ctx, javaTime)
	defer cancel()
	cmd := exec.CommandContext(bounded, path, "-version")
	cmd.WaitDelay = time.Second // a child process may hold the pipe open
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s -version: %w: install Java %d or newer", path, err, minJava)
	}
	major, err := parseJavaVersion(string(out))
	if err != nil {
		return "", fmt.Errorf("%s -version: %w: install Java %d or newer", path, err, minJava)
	}
	if major < minJava {
		return "", fmt.Errorf("%s is Java %d: install Java %d or newer, which DynamoDB Local needs", path, major, minJava)
	}
	return path, nil
}

// parseJavaVersion returns the major version in the output of `java -version`; 1 up to Java 8.
func parseJavaVersion(out string) (int, error) {
	m := javaVersion.FindStringSubmatch(out)
	if m == nil {
		return 0, errors.New("its version could not be read")
	}
	return strconv.Atoi(m[1])
}
