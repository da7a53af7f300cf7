package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// serverProgram returns the path and the version of the rmd to test: the program of --bin,
// otherwise the one next to this program, otherwise the one in PATH.
func serverProgram(ctx context.Context, named string) (path, version string, err error) {
	if named != "" {
		path, err = executable(named, "--bin")
	} else {
		path, err = findServer()
	}
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version", "--quiet").Output()
	if err != nil {
		return "", "", filef("name an rmd with --bin", "cannot read the version of %s: %v", path, err)
	}
	return path, strings.TrimSpace(string(out)), nil
}

func findServer() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if path, err := executable(filepath.Join(filepath.Dir(self), "rmd"), ""); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("rmd")
	if err != nil {
		return "", filef("name one with --bin", "no rmd in the directory of %s or in PATH", self)
	}
	return filepath.Abs(path)
}

// executable returns the absolute path of the program that a flag names.
func executable(named, flag string) (string, error) {
	path, err := filepath.Abs(named)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && (info.IsDir() || info.Mode()&0o111 == 0) {
		err = fmt.Errorf("%s is not a program", path)
	}
	if err != nil {
		return "", filef("name a program with "+flag, "%v", err)
	}
	return path, nil
}
