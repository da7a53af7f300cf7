// Command rmd is a YARN ResourceManager replicated by Raft, and its command-line client.
package main

import (
	"os"

	"rmd/cmd/rmd/internal/command"
)

func main() { os.Exit(command.Main()) }
