// Package check verifies that the tables of a state fit together: it computes every sum that a table
// keeps from the records again, and follows every reference and every list. It changes nothing.
package check
