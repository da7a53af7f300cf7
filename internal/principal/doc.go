// Package principal maps Kerberos principals to short names by the rules of
// hadoop.security.auth_to_local, as Hadoop's KerberosName does. Errors have Java's texts.
package principal
