// Package hadoop implements the protocol of Hadoop's ports by hand: frames, headers and messages of
// numbers and bytes. It shares no code with the product, and can send what no client of Hadoop
// would.
//
//	hrpc 9 0 AUTH │ length, header, context │ length, header, method header, request …
//
// A Conn makes one call at a time. The package repeats no call and chooses no server.
package hadoop
