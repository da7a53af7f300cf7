// Package kdc gets tickets from a KDC with the keys of a keytab. Start reading at Login.
package kdc

import (
	"fmt"

	"github.com/jcmturner/gokrb5/v8/keytab"
)

// Keytab reads a keytab.
func Keytab(file string) (kt *keytab.Keytab, err error) {
	defer recovered(&err, "it is not a keytab")
	return keytab.Load(file)
}

// recovered turns a panic of the library, which some bad input causes, into an error.
func recovered(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: %v", what, p)
	}
}
