#!/bin/sh
# The first installation alone links the profile: who removed the link went back to the Java ResourceManager, and an
# upgrade must not change that. dpkg passes "configure" and the version before, if there was one; rpm passes 1, later 2.
set -e
[ "$1$2" = configure ] || [ "$1" = 1 ] || exit 0
conf=/etc/hadoop/conf profile=/usr/share/rmd-hadoop/rmd.sh
if [ -d $conf ]; then
	mkdir -p $conf/shellprofile.d
	ln -sf $profile $conf/shellprofile.d/rmd.sh
	echo "rmd-hadoop: yarn --daemon start resourcemanager starts rmd;" \
		"remove $conf/shellprofile.d/rmd.sh to start the Java ResourceManager"
else
	echo "rmd-hadoop: there is no $conf; link $profile into shellprofile.d of Hadoop's configuration"
fi
