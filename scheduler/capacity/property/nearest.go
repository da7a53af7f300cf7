package property

// Nearest returns the candidate that is most similar to key, or "" if none is similar.
func Nearest(key string, candidates []string) string {
	best, least := "", len(key)/3+1
	for _, c := range candidates {
		if d := distance(key, c, least); d < least {
			best, least = c, d
		}
	}
	return best
}

// distance returns the Levenshtein distance between a and b, but at most limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}
