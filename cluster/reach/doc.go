// Package reach tries whether new connections to the other members can be opened.
package reach
