// Package record has the records of the replicated state and the tables that hold them: what an
// application, a node or a container is, how it is coded in snapshots, and what can be asked of it or
// changed in it alone. Package state has the tables, applies events to them and keeps them consistent.
//
// A method touches its own table, the records that it is given, and Meta. The fields that link records
// into lists are exported for package state and its checks; lists.go says which lists there are. A
// record that Get returns is for reading, because forks share pages.
//
// All fields of a record are in snapshots unless their comment says otherwise; the record's code has
// their order there. Times are Unix milliseconds of the log's clock (Meta.NowMillis).
package record
