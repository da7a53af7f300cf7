#!/bin/sh
# An upgrade does not restart the replica: machines that are upgraded together would stop the cluster.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	if systemctl --quiet is-active rmd; then
		echo "rmd: the replica still runs the previous version; restart one replica after the other: systemctl restart rmd"
	fi
fi
