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

var javaVersion = regexp.MustCompile(`version "(\d+)(?:\.(\d+))?`)

// javaTime bounds `java -version`, which takes 0.1 s. A wrapper of a version manager may hang.
const javaTime = 20 * time.Second

// findJava returns the path of a java that can run the engine. Its errors say what to install.
func findJava(ctx context.Context) (string, error) {
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("java was not found: install Java %d or newer (a JRE is enough), which runs DynamoDB Local", minJava)
	}
	out, err := javaVersionOutput(ctx, path, javaTime)
	if err != nil {
		return "", fmt.Errorf("run %s -version: %w: install Java %d or newer", path, err, minJava)
	}
	major, err := parseJavaVersion(out)
	if err != nil {
		return "", fmt.Errorf("%s -version: %w: install Java %d or newer", path, err, minJava)
	}
	if major < minJava {
		return "", fmt.Errorf("%s is Java %d: install Java %d or newer, which DynamoDB Local needs", path, major, minJava)
	}
	return path, nil
}

// javaVersionOutput returns what `java -version` prints. It kills a java that takes longer than timeout.
func javaVersionOutput(ctx context.Context, java string, timeout time.Duration) (string, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	cmd := exec.CommandContext(bounded, java, "-version")
	cmd.WaitDelay = time.Second // a child process may hold the pipe open
	out, err := cmd.CombinedOutput()
	if err != nil && bounded.Err() != nil {
		err = context.Cause(bounded)
	}
	return string(out), err
}

// parseJavaVersion returns the major version in the output of `java -version`. Up to Java 8 it
// is the second number ("1.8.0_392").
func parseJavaVersion(out string) (int, error) {
	m := javaVersion.FindStringSubmatch(out)
	if m == nil {
		return 0, errors.New("its version could not be read")
	}
	major := m[1]
	if major == "1" && m[2] != "" {
		major = m[2]
	}
	return strconv.Atoi(major)
}
