// Package groups finds the groups of users as Hadoop's providers do: in the operating system, in
// LDAP, or in several of them. It keeps no answers; package access does.
package groups
