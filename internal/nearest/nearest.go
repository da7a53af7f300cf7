// Package nearest finds the known name that is most similar to a mistyped one.
package nearest

import "strings"

// Name returns the name that word most likely means, or "" if no name is similar: one edit for each
// four letters makes a similar name. Names that begin with word are similar.
func Name(word string, names []string) string {
	best, bestCost := "", 1+(len(word)+3)/4
	word = strings.ToLower(word)
	for _, n := range names {
		if n == "" || len(n) == 1 {
			continue
		}
		cost := distance(word, strings.ToLower(n))
		if len(word) >= 2 && strings.HasPrefix(strings.ToLower(n), word) {
			cost = min(cost, 1)
		}
		if cost < bestCost {
			best, bestCost = n, cost
		}
	}
	return best
}

// distance returns the number of edits between two words. A swap of two adjacent characters is one
// edit.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, prev := make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(y)]
}
