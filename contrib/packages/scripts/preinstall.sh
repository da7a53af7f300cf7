#!/bin/sh
# The directories of the package belong to this user. A removal keeps it, because it owns data.
set -e
getent passwd rmd >/dev/null ||
	useradd --system --user-group --home-dir /var/lib/rmd --no-create-home --shell /usr/sbin/nologin rmd
