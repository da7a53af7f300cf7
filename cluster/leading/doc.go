// Package leading knows which replica leads, and tells those that wait for it.
package leading
