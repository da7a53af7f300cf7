//as: yarn/bare.go

package yarn // want no package comment
