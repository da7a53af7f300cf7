// Package hadoop speaks the wire of Hadoop's ports by hand: frames, headers and
// messages of numbers and bytes. It shares no code with the frontend that it
// speaks to, and may say what no client of Hadoop's would.
//
//	hrpc 9 0 AUTH │ length, header, context │ length, header, method header, request …
//
// A Conn makes one call at a time. Nothing here repeats a call or chooses a server.
package hadoop
