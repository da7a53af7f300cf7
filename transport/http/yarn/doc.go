// Package yarnweb is what Hadoop's clients and AMs call over HTTP that is more than
// reading: the proxy to the pages of ApplicationMasters, and submission, killing
// and moving of applications under /ws/v1/cluster. The reads of /ws/v1 are
// package httpserver's, which hands these paths on.
package yarnweb
