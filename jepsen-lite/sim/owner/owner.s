// Empty: it lets the compiler accept a function without a body.
