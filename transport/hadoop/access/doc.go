// Package access implements Hadoop's own access rules: administrators, proxy users
// (hadoop.proxyuser.*) and the groups of users. It reads everything from the files of this replica,
// and can reload them while the ports are open.
package access
