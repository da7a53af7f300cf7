// Package access decides by Hadoop's own keys: it knows the administrators, the proxy users
// (hadoop.proxyuser.*) and the groups of users. It reads everything from the files of this replica,
// and can replace it while the ports are open.
package access
