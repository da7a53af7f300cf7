//as: yarn/names.go

package yarn

var Names = map[string]int{}
