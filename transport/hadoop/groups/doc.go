// Package groups looks up the groups of users as Hadoop's providers do: in the operating system, in
// LDAP, or in several of them. It does not cache answers; package access does.
package groups
