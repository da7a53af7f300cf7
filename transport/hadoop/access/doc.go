// Package access answers who may do what by Hadoop's own keys: the lists of
// administrators, who may act for whom (hadoop.proxyuser.*), and the groups of
// users. Everything is read from the files of this replica and can be replaced
// while the ports are open.
package access
