// Package renewal plans what concerns the tokens that applications carry for other services: which
// applications wait for them, when each is renewed next, which are lost, and when they are released.
// The calls to the services are made by the leader (package transport/hadoop/renewer); their results
// come back as inputs. docs/operations/tokens.md has the rules for operators.
package renewal
