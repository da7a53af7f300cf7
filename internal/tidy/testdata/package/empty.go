//as: leader/doc.go

// Leader.
package leader // want no package comment
