// Package contrib has what an installation needs besides the program. The program embeds the unit
// file, so that "rmd init --replicas" and the packages install the same one.
package contrib

import _ "embed"

// Unit is the systemd unit of a replica.
//
//go:embed rmd.service
var Unit []byte
