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

// serverProgram finds the rmd to test and asks it for its version: the one that --bin names, else
// the one beside this program, else the one in PATH.
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

// executable is the absolute path of a program that a flag names.
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
