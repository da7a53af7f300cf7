// Package yarnweb serves the HTTP addresses that Hadoop's clients, tools and ApplicationMasters
// call, in Hadoop's formats:
//
//	API      the reads of /ws/v1/cluster, /scheduler-conf, /jmx, /conf, /logLevel, /isActive
//	Service  the writes of /ws/v1/cluster/apps and of labels, and /proxy, through which users
//	         reach the pages of ApplicationMasters
//
// The folders below stand alone:
//
//	submission  the document that submits an application
//	list        lists as clients write them in JSON
//
// The folder is yarn; the package has another name, because it uses package yarn.
package yarnweb
