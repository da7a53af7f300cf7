#!/bin/sh
# dpkg passes "remove", rpm passes 0; an upgrade passes something else and leaves the replica running.
set -e
case $1 in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --quiet disable --now rmd
	fi
	;;
esac
