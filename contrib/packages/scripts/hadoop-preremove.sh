#!/bin/sh
# dpkg passes "remove", rpm passes 0.
set -e
case $1 in
remove | 0)
	link=/etc/hadoop/conf/shellprofile.d/rmd.sh
	[ "$(readlink $link)" != /usr/share/rmd-hadoop/rmd.sh ] || rm $link
	;;
esac
