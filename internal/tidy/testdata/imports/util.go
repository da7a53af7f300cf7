//as: util/strings.go

package util // want no place in the house
