// Package apptoken has the tokens that applications carry for other services, such as the HDFS
// tokens of secured jobs. The ResourceManager renews them, replaces them, and cancels them after
// their last application. The Ledger is part of the replicated state: it holds every token with its
// next renewal, its end, its failures and its applications. Package state applies events to it and
// nobody else writes it. It knows no clock and calls nobody.
package apptoken
