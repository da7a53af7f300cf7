// Package yarnweb serves what Hadoop's clients, tools and ApplicationMasters call over HTTP, in
// Hadoop's formats:
//
//	API      the reads of /ws/v1/cluster, /scheduler-conf, /jmx, /conf, /logLevel, /isActive
//	Service  the writes of /ws/v1/cluster/apps, and /proxy, by which users reach the pages
//	         of ApplicationMasters
//
// The folder is yarn; the package has another name, because it uses package yarn.
package yarnweb
