//as: yarn/later_test.go

package yarn

// TODO in a test is the test's own affair.
