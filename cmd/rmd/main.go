// Command rmd is a YARN ResourceManager replicated by Raft, and the client of
// one.
package main

import (
	"os"

	"rmd/cmd/rmd/internal/command"
)

func main() { os.Exit(command.Main()) }
