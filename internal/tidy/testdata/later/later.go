//as: yarn/later.go

package yarn

// TODO sort them // want do it
func sorted() {} // FIXME: // want do it

// A todo list, TODOs and XXXL are words like others.
var xxx = "XXX" // want do it
